package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func quotaFixture() []quotaNode {
	n := func(v int64) *int64 { return &v }
	return []quotaNode{
		{ID: "1", Kind: "tenant", Name: "Meridian", Path: "Meridian", Limit: map[string]int64{"gpu:A100": 40}, Weight: 1, Waiting: 2,
			Use: map[string]quotaUse{"gpu:A100": {Used: 20, Free: 20, Most: n(40)}, "cpu": {Used: 1500}}},
		{ID: "2", Kind: "team", Name: "Vision", Path: "Meridian/Vision", Limit: map[string]int64{"gpu:A100": 12}, Borrow: map[string]int64{"gpu:A100": 8}, Weight: 2,
			Use: map[string]quotaUse{"gpu:A100": {Used: 14, Borrowed: 2, Most: n(20)}}},
		{ID: "3", Kind: "team", Name: "Speech", Path: "Meridian/Speech", Limit: map[string]int64{"gpu:A100": 10}, Weight: 1,
			Use: map[string]quotaUse{"gpu:A100": {Used: 6, Lent: 2, Free: 2, Most: n(10)}}},
	}
}

func TestQuotaTreeInTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printQuotaTree(&out, quotaFixture(), nil))
	require.Equal(t, ""+
		"NODE               A100                                     WAITING\n"+
		"Meridian (tenant)  [██████████··········]  20 of 40         2\n"+
		"  Vision (team)    [██████▒···          ]  14 of 12, +2     0\n"+
		"  Speech (team)    [███·░               ]  6 of 10, 2 lent  0\n", out.String())
}

func TestAmountsAsTyped(t *testing.T) {
	t.Parallel()
	to := map[string]int64{"pods": 5}
	for _, text := range []string{"cpu=1.5", "memory=2GiB", "storage=1Ti", "gpu:A100=4", "gpu = 8", "pods=none", "executions=0"} {
		require.NoError(t, setAmount(to, text), text)
	}
	require.Equal(t, map[string]int64{"cpu": 1500, "memory": 2048, "storage": 1 << 20, "gpu:A100": 4, "gpu": 8, "executions": 0}, to)
	for _, text := range []string{"gpu", "gpu=x", "gpu=1.5", "gpu=-1", "memory=2 litres", "cpu=1e99", "=4"} {
		require.Error(t, setAmount(to, text), text)
	}
}

func TestNodesByIDAndPath(t *testing.T) {
	t.Parallel()
	nodes := append(quotaFixture(), quotaNode{ID: "4", Path: "Other/Vision"})
	for name, id := range map[string]string{"2": "2", "meridian/vision": "2", "/Meridian/": "1", "speech": "3", "other/vision": "4"} {
		n, err := findQuotaNode(nodes, name)
		require.NoError(t, err, name)
		require.Equal(t, id, n.ID, name)
	}
	for _, name := range []string{"vision", "nobody", ""} {
		_, err := findQuotaNode(nodes, name)
		require.Error(t, err, name)
	}
}

// TestChangesKeepDefaultRequests: the API replaces all limits, so a change sends what it
// does not name.
func TestChangesKeepDefaultRequests(t *testing.T) {
	t.Parallel()
	cmd := newQuotaSetCommand()
	require.NoError(t, cmd.ParseFlags([]string{"--default", "memory=1GiB"}))
	r, err := quotaChange(cmd, quotaNode{Default: map[string]int64{"cpu": 500}, Limit: map[string]int64{"pods": 3}}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"cpu": 500, "memory": 1024}, r.Default)
	require.Equal(t, map[string]int64{"pods": 3}, r.Limit)
}
