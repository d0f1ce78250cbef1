package preset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/workflow"
)

// TestListsLeaveOutLargeInputs: a list does not read them, and the preset itself has them.
func TestListsLeaveOutLargeInputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(b.admin, t, strings.Replace(strings.Replace(versionTwo, "2.0.0", "3.0.0", 1), "{name: seed", "{name: note, type: String, required: false}, {name: seed", 1))
	for name, size := range map[string]int{"small": 10, "large": 200 << 10} { // the large one compresses well
		_, err := b.presets.Save(b.admin, "digits.train", named(name, preset.Project, map[string]any{"note": strings.Repeat("x", size)}))
		require.NoError(t, err, "%v", apperr.FieldsOf(err))
	}
	_, err := b.presets.Save(b.admin, "digits.train", named("empty", preset.Project, nil))
	require.NoError(t, err)
	list, err := b.presets.List(b.admin, "digits.train")
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, map[string]any{}, list[0].Inputs)
	require.Nil(t, list[1].Inputs)
	require.Len(t, list[2].Inputs["note"], 10)
	for _, name := range []string{"large", list[1].ID.String()} {
		p, err := b.presets.Get(b.admin, "digits.train", name)
		require.NoError(t, err)
		require.Len(t, p.Inputs["note"], 200<<10)
	}
}

// TestEachPersonHasALimit: presets of others do not count, and requests at the same time do not pass
// the limit together.
func TestEachPersonHasALimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, jonas := b.as(t, "Mei", auth.ProjectDev, auth.LocalProject), b.as(t, "Jonas", auth.ProjectDev, auth.LocalProject)
	for i := range preset.MaxPerPerson - 1 {
		_, err := b.presets.Save(mei, "digits.train", named(fmt.Sprintf("p%d", i), preset.Private, nil))
		require.NoError(t, err)
	}
	var saved atomic.Int32
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			if _, err := b.presets.Save(mei, "digits.train", named(fmt.Sprintf("last%d", i), preset.Private, nil)); err == nil {
				saved.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, saved.Load())
	_, err := b.presets.Save(mei, "digits.train", named("more", preset.Private, nil))
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	_, err = b.presets.Save(jonas, "digits.train", named("mine", preset.Private, nil))
	require.NoError(t, err)
}

// TestOnlyItsOwnerMakesAPresetPrivate: an administrator would no longer see it.
func TestOnlyItsOwnerMakesAPresetPrivate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, lead := b.as(t, "Mei", auth.ProjectDev, auth.LocalProject), b.as(t, "Lea", auth.TeamAdmin, auth.LocalProject)
	_, err := b.presets.Save(mei, "digits.train", named("fast", preset.Project, nil))
	require.NoError(t, err)
	_, err = b.presets.Change(lead, "digits.train", "fast", named("fast", preset.Private, nil))
	require.Equal(t, apperr.Invalid, apperr.CodeOf(err))
	require.Equal(t, "sharing", apperr.FieldsOf(err)[0].Path)
	p, err := b.presets.Get(lead, "digits.train", "fast")
	require.NoError(t, err)
	require.Equal(t, preset.Project, p.Sharing)
	p, err = b.presets.Change(mei, "digits.train", "fast", named("fast", preset.Private, nil))
	require.NoError(t, err)
	require.Equal(t, preset.Private, p.Sharing)
}

// TestAChangeIsBasedOnAState: of two changes of one state, the second is refused.
func TestAChangeIsBasedOnAState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, err := b.presets.Save(b.admin, "digits.train", named("fast", preset.Project, nil))
	require.NoError(t, err)
	first, second := named("quick", preset.Project, nil), named("slow", preset.Project, map[string]any{"epochs": json.Number("2")})
	first.Based, second.Based = &p.UpdatedAt, &p.UpdatedAt
	changed, err := b.presets.Change(b.admin, "digits.train", p.ID.String(), first)
	require.NoError(t, err)
	_, err = b.presets.Change(b.admin, "digits.train", p.ID.String(), second)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	require.NoError(t, b.presets.Used(b.admin, "digits.train", p.ID.String()))
	second.Based = &changed.UpdatedAt
	changed, err = b.presets.Change(b.admin, "digits.train", p.ID.String(), second)
	require.NoError(t, err)
	require.Equal(t, "slow", changed.Name)
}

// TestChangesCheckTheLockedPreset: who may change a preset is checked again when it is locked.
func TestChangesCheckTheLockedPreset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, lead := b.as(t, "Mei", auth.ProjectDev, auth.LocalProject), b.as(t, "Lea", auth.TeamAdmin, auth.LocalProject)
	for name, act := range map[string]func(id string) error{
		"change": func(id string) error {
			_, err := b.presets.Change(lead, "digits.train", id, named("of the lead", preset.Project, nil))
			return err
		},
		"delete": func(id string) error { return b.presets.Delete(lead, "digits.train", id) },
		"default": func(id string) error {
			_, err := b.presets.SetDefault(lead, "digits.train", id, preset.Mine, true)
			return err
		},
	} {
		p, err := b.presets.Save(mei, "digits.train", named(name, preset.Project, nil))
		require.NoError(t, err)
		tx, err := b.pool.Begin(t.Context()) // makes it private while lead waits for it
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "UPDATE launch_presets SET sharing = 'private' WHERE id = $1", p.ID)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- act(p.ID.String()) }()
		require.Eventually(t, func() bool {
			var waits bool
			err := b.pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waits)
			return err == nil && waits
		}, 30*time.Second, 20*time.Millisecond)
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, apperr.NotFound, apperr.CodeOf(<-done), name)
		still, err := b.presets.Get(mei, "digits.train", p.ID.String())
		require.NoError(t, err)
		require.Equal(t, name, still.Name)
		list, err := b.presets.List(lead, "digits.train")
		require.NoError(t, err)
		require.Empty(t, list)
		require.NoError(t, b.presets.Delete(mei, "digits.train", p.ID.String()))
	}
}

// TestChangesNeedOneConnection: with a second connection inside a transaction, concurrent changes could
// each hold one connection and wait for another.
func TestChangesNeedOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, err := b.presets.Save(b.admin, "digits.train", named("fast", preset.Private, map[string]any{"lr": 0.5}))
	require.NoError(t, err)
	single := dbtest.NewSingle(t, b.pool)
	presets := preset.NewService(single, workflow.NewService(single, builtin{}, nil, time.Now), time.Now)
	ctx, cancel := context.WithTimeout(b.admin, 20*time.Second)
	defer cancel()
	changed, err := presets.Change(ctx, "digits.train", p.ID.String(), named("slow", preset.Team, map[string]any{"lr": 0.1}))
	require.NoError(t, err)
	require.Equal(t, preset.Team, changed.Sharing)
}
