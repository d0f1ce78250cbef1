package index_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
)

// TestQueriesLeaveOutExecutionsThatListOptions: they are found only by a query that selects them by
// their purpose, workflow, name or ID.
func TestQueriesLeaveOutExecutionsThatListOptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	work, lister := b.run(auth.LocalProject, map[string]any{"lr": 0.1}), b.run(auth.LocalProject, map[string]any{"lr": 0.2})
	b.exec(`UPDATE executions SET purpose = 'OPTIONS', name = 'Options, shard' WHERE id = $1`, lister)
	require.NoError(t, b.Note(b.ctx, []uuid.UUID{lister}))
	both := []uuid.UUID{lister, work}
	for where, want := range map[string][]uuid.UUID{
		"":                            {work},
		"lr > 0":                      {work},
		"not workflow:other":          {work},
		"name != other and lr > 0.15": {},
		"purpose:options":             {lister},
		"purpose = work":              {work},
		"purpose in (work, options)":  both,
		"purpose != work":             {},
		"lr > 0 and (purpose:options or lr < .1)": {lister},
		"workflow:digits-train":                   both,
		"name ~ shard":                            {lister},
		"id:" + lister.String():                   {lister},
		"#" + lister.String()[30:]:                {lister},
	} {
		require.Equal(t, want, b.find(index.Query{Where: where}), where)
	}
	r, err := b.Find(b.ctx, index.Query{Where: "purpose in (work, options)", Sort: "purpose", Columns: []string{"purpose"}, Counted: true})
	require.NoError(t, err)
	require.Equal(t, 2, r.Total)
	require.Equal(t, []any{"options"}, r.Rows[0].Values)
	require.Equal(t, []any{"work"}, r.Rows[1].Values)
	groups, err := b.Groups(b.ctx, index.Query{}, "workflow")
	require.NoError(t, err)
	require.Equal(t, 1, groups.Groups[0].Count)
}

// TestExecutionsThatOnlyAwaitApproval: searches select them by a state of their own, as pages show it.
func TestExecutionsThatOnlyAwaitApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waits, other := b.run(auth.LocalProject, nil), b.run(auth.LocalProject, nil)
	for state, ids := range map[string][]uuid.UUID{"approval": {}, "live": {other, waits}} {
		require.Equal(t, ids, b.find(index.Query{Where: "state:" + state}), state)
	}
	b.exec(`UPDATE executions SET only_awaits = true WHERE id = $1`, waits)
	for where, ids := range map[string][]uuid.UUID{"state:approval": {waits}, "not state:approval": {other}, "state:live": {other, waits}, "state:running": {}} {
		require.Equal(t, ids, b.find(index.Query{Where: where}), where)
	}
}
