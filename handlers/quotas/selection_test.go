package quotas

import (
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// bigTree is a tenant with teams that have two projects each.
func bigTree(teams int) quota.Overview {
	var o quota.Overview
	add := func(kind string, path []fair.LevelRef, parent uuid.UUID) []fair.LevelRef {
		n := quota.Node{LevelState: fair.LevelState{Level: fair.Level{ID: uuid.New(), Parent: parent, Kind: kind, Name: kind}}}
		n.Path = append(append([]fair.LevelRef{}, path...), n.Ref())
		o.Nodes = append(o.Nodes, n)
		return n.Path
	}
	tenant := add("tenant", nil, uuid.Nil)
	for range teams {
		team := add("team", tenant, tenant[0].ID)
		add("project", team, team[1].ID)
		add("project", team, team[1].ID)
	}
	return o
}

func TestLargeTreesBeginFolded(t *testing.T) {
	t.Parallel()
	all := func(*quota.Node) bool { return false }
	small := bigTree(3)
	rows, folded := quotaSelection{}.shown(&small, all)
	require.Equal(t, []int{10, 0}, []int{len(rows), folded})

	large := bigTree(60)
	rows, folded = quotaSelection{}.shown(&large, all)
	require.Equal(t, []int{61, 120}, []int{len(rows), folded})
	s := quotaSelection{}
	s.toggle(rows[1].ID)
	rows, _ = s.shown(&large, all)
	require.Len(t, rows, 63)
	require.True(t, rows[1].open)
	s.toggle(rows[1].ID)
	require.Empty(t, s.toggled)

	project := large.Nodes[2].ID
	rows, _ = quotaSelection{edit: project}.shown(&large, all)
	require.Len(t, rows, 63, "the way to what is edited is open")
	rows, _ = quotaSelection{only: true}.shown(&large, func(n *quota.Node) bool { return n.ID == project })
	require.Len(t, rows, 3, "what was found, with what is above it")
	require.True(t, rows[0].context && rows[1].context && !rows[2].context)
}

func TestSelectionIsInTheAddress(t *testing.T) {
	t.Parallel()
	q := url.Values{"show": {"compute"}, "only": {"1"}, "toggle": {"a", "b"}, "from": {"40"}, "of": {"x"}, "resource": {"cpu"}, "span": {"7d"}}
	require.Equal(t, q, quotaSelected(q).values())
}
