package report_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/db/dbtest"
)

type bundle struct {
	*report.Service
	pool *pgxpool.Pool
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pool := dbtest.New(t)
	var mutex sync.Mutex
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { // each change is a second later
		mutex.Lock()
		defer mutex.Unlock()
		at = at.Add(time.Second)
		return at
	}
	return &bundle{report.NewService(pool, now), pool}
}

// as acts for a person with a role in the local project.
func as(t *testing.T, name, role string) context.Context {
	t.Helper()
	held := auth.Everywhere(role)
	return auth.WithSubject(t.Context(), auth.Subject{
		ID: uuid.NewSHA1(uuid.Nil, []byte(name)), Name: name, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject,
		Policy: auth.PolicyFunc(func(a auth.Action, at uuid.UUID) bool { return at == auth.LocalProject && held.May(a, at) }),
	})
}

func written(title, text string) report.Edit { return report.Edit{Title: &title, Text: &text} }

func TestEachSaveIsARevision(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, jonas := as(t, "Mei", auth.ProjectDev), as(t, "Jonas", auth.ProjectDev)
	first, err := b.Create(mei, written(" Results ", "one\r\ntwo"))
	require.NoError(t, err)
	require.Equal(t, "Results", first.Title)
	require.Equal(t, "one\ntwo", first.Text)
	require.Equal(t, 1, first.Revision)

	text := "three"
	second, err := b.Change(jonas, "results", report.Edit{Text: &text, Note: "shorter", Based: 1})
	require.NoError(t, err, "every developer of the project edits a report, by its title too")
	require.Equal(t, 2, second.Revision)
	require.Equal(t, "Jonas", second.UpdatedBy)
	require.Equal(t, "Mei", second.Owner)
	same, err := b.Change(jonas, first.ID.String(), report.Edit{Text: &text})
	require.NoError(t, err)
	require.Equal(t, 2, same.Revision, "a change that changes nothing is no revision")

	restored, err := b.Restore(mei, first.ID.String(), 1, 2)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo", restored.Text)
	list, err := b.Revisions(mei, first.ID.String(), 0, 0)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, []int{1, 0, 0}, []int{list[0].RestoredFrom, list[1].RestoredFrom, list[2].RestoredFrom})
	require.Equal(t, "shorter", list[1].Note)
	old, err := b.Revision(mei, "Results", 2)
	require.NoError(t, err)
	require.Equal(t, "three", old.Text)
	_, err = b.Revision(mei, "Results", 9)
	require.True(t, apperr.Is(err, apperr.NotFound))
	earlier, err := b.Revisions(mei, "Results", 2, 1)
	require.NoError(t, err)
	require.Equal(t, 1, earlier[0].Number)

	var actions []string
	rows, err := b.pool.Query(t.Context(), "SELECT action FROM audit_log WHERE object_kind = 'report' ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var a string
		require.NoError(t, rows.Scan(&a))
		actions = append(actions, a)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"report.create", "report.update", "report.restore"}, actions)
}

func TestALaterRevisionIsNotOverwritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei := as(t, "Mei", auth.ProjectDev)
	r, err := b.Create(mei, written("Results", "one"))
	require.NoError(t, err)
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			text := fmt.Sprintf("text %d", i)
			_, errs[i] = b.Change(mei, r.ID.String(), report.Edit{Text: &text, Based: 1})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
		require.Equal(t, "revision", apperr.FieldsOf(err)[0].Path)
		require.Equal(t, "Mei saved revision 2 in the meantime.", apperr.MessageOf(err))
	}
	require.Equal(t, 1, won)
	for i := range writers { // without a base, all are kept
		wg.Go(func() {
			text := fmt.Sprintf("again %d", i)
			_, errs[i] = b.Change(mei, r.ID.String(), report.Edit{Text: &text})
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	latest, err := b.Get(mei, r.ID.String())
	require.NoError(t, err)
	require.Equal(t, 2+writers, latest.Revision)
}

func TestWrongValuesNameTheirField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei := as(t, "Mei", auth.ProjectDev)
	_, err := b.Create(mei, written("Results", "one"))
	require.NoError(t, err)
	for field, e := range map[string]report.Edit{
		"title":             written("", "x"),
		"title one line":    written("a\nb", "x"),
		"title long":        written(strings.Repeat("ä", report.MaxTitle+1), "x"),
		"title no ID":       written(uuid.NewString(), "x"),
		"text size":         written("a", strings.Repeat("x", report.MaxText+1)),
		"text characters":   written("b", "a\x00b"),
		"text blocks":       written("c", "```{tabel}\n```\n"),
		"note":              {Title: new("d"), Note: strings.Repeat("x", report.MaxNote+1)},
		"title in conflict": written("RESULTS", "x"),
	} {
		_, err := b.Create(mei, e)
		name, about, _ := strings.Cut(field, " ")
		require.Len(t, apperr.FieldsOf(err), 1, "%s: %v", field, err)
		require.Equal(t, name, apperr.FieldsOf(err)[0].Path, field)
		require.Equal(t, about == "in conflict", apperr.Is(err, apperr.Conflict), field)
	}
}

func TestReportsAreForTheirProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei, jonas, viewer, lead := as(t, "Mei", auth.ProjectDev), as(t, "Jonas", auth.ProjectDev), as(t, "Vera", auth.Viewer), as(t, "Lea", auth.TeamAdmin)
	r, err := b.Create(mei, written("Results", "one"))
	require.NoError(t, err)
	id := r.ID.String()
	seen, err := b.Get(viewer, id)
	require.NoError(t, err)
	require.False(t, seen.MayEdit || seen.MayDelete)
	_, err = b.Change(viewer, id, written("x", "y"))
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	_, err = b.Create(viewer, written("x", "y"))
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	require.True(t, apperr.Is(b.Delete(jonas, id), apperr.Forbidden))
	stranger := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Name: "S", Role: auth.RoleUser, TenantID: uuid.New(), ProjectID: uuid.New(), Policy: auth.PolicyFunc(func(auth.Action, uuid.UUID) bool { return false })})
	_, err = b.Get(stranger, id)
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
	require.NoError(t, b.Delete(lead, id))
	_, err = b.Get(mei, id)
	require.True(t, apperr.Is(err, apperr.NotFound))
}

func TestReportsAreFoundByTheirText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mei := as(t, "Mei", auth.ProjectDev)
	for _, title := range []string{"First", "Second", "100% sure"} {
		_, err := b.Create(mei, written(title, "about digits_"+title))
		require.NoError(t, err)
	}
	titles := func(f report.Filter) (list []string, next string) {
		p, err := b.List(mei, f)
		require.NoError(t, err)
		for _, r := range p.Reports {
			list = append(list, r.Title)
		}
		return list, p.Next
	}
	all, next := titles(report.Filter{Limit: 2})
	require.Equal(t, []string{"100% sure", "Second"}, all, "the latest change is first")
	rest, next := titles(report.Filter{Limit: 2, After: next})
	require.Equal(t, []string{"First"}, rest)
	require.Empty(t, next)
	found, _ := titles(report.Filter{Query: "DIGITS_f"})
	require.Equal(t, []string{"First"}, found)
	found, _ = titles(report.Filter{Query: "0% s"})
	require.Equal(t, []string{"100% sure"}, found)
	found, _ = titles(report.Filter{Query: "digits%first"})
	require.Empty(t, found, "a percent sign is no wildcard")
	_, err := b.List(mei, report.Filter{After: "x"})
	require.True(t, apperr.Is(err, apperr.Invalid))
}
