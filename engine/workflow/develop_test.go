package workflow

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// TestEachPersonDevelopsOneVersion: a save changes the version of its author alone.
func TestEachPersonDevelopsOneVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	person := func() context.Context {
		s := auth.Local()
		s.ID = uuid.New()
		return auth.WithSubject(t.Context(), s)
	}
	ada, ben := person(), person()
	b.register(t, document("w", "1.0.0-dev.h1", "description: first"))
	b.register(t, document("w", "1.0.0-dev.h2", "description: second"))

	_, err := b.service.Developed(ada, "w")
	require.True(t, apperr.Is(err, apperr.NotFound))
	require.Contains(t, apperr.MessageOf(err), "Run flowforge dev")

	for _, step := range []struct {
		person  context.Context
		version string
	}{{ada, "1.0.0-dev.h1"}, {ben, "1.0.0-dev.h2"}, {ada, "1.0.0-dev.h2"}, {ada, "1.0.0-dev.h1"}} {
		b.now = b.now.Add(time.Second)
		saved, err := b.service.Develop(step.person, "w", step.version)
		require.NoError(t, err)
		found, err := b.service.Developed(step.person, "w")
		require.NoError(t, err)
		require.Equal(t, saved, found)
		require.Equal(t, step.version, found.Version)
	}
	found, err := b.service.Developed(ben, "w")
	require.NoError(t, err)
	require.Equal(t, "1.0.0-dev.h2", found.Version, "Ada's saves do not change Ben's version")

	_, err = b.service.Develop(ada, "w", "9.9.9")
	require.True(t, apperr.Is(err, apperr.NotFound))
	require.Equal(t, "The workflow w has no version 9.9.9; register it first.", apperr.MessageOf(err))
}

// TestDevelopmentVersionsDoNotClutterLists: a workflow that has no other version is not listed.
func TestDevelopmentVersionsDoNotClutterLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, document("draft", "1.0.0-dev.h1", ""))
	b.register(t, document("draft", "1.0.0-dev.h0", "description: later"))
	b.register(t, document("made", "1.0.0", ""))
	b.register(t, document("made", "1.1.0-dev.h1", "description: later"))
	list := func(f Filter) (names []string, page Page[Summary]) {
		page, err := b.service.List(b.ctx, f)
		require.NoError(t, err)
		for _, w := range page.Items {
			names = append(names, w.Name+" "+w.Latest)
		}
		return names, page
	}
	names, page := list(Filter{})
	require.Equal(t, []string{"made 1.0.0"}, names)
	require.Equal(t, []int{1, 1}, []int{page.Total, page.InDevelopment})
	names, page = list(Filter{Development: true})
	require.Equal(t, []string{"draft 1.0.0-dev.h0", "made 1.0.0"}, names)
	require.Equal(t, []int{2, 1}, []int{page.Total, page.InDevelopment})
	w, err := b.service.Get(b.ctx, "draft")
	require.NoError(t, err)
	require.Equal(t, "1.0.0-dev.h0", w.Versions[0].Version, "newest first")
	require.True(t, w.Versions[0].Development)
}
