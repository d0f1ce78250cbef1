package main

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/web/contract"
)

// nodeID is a short ID for fixtures.
func nodeID(n byte) uuid.UUID { return uuid.UUID{15: n} }

func quotaFixture() []contract.QuotaBody {
	limits := func(weight float64, limit, borrow contract.QuotaAmounts) contract.QuotaLimits {
		return contract.QuotaLimits{Limit: limit, Borrow: borrow, Weight: weight}
	}
	n := func(v int64) *int64 { return &v }
	return []contract.QuotaBody{
		{NodeID: nodeID(1), Kind: "tenant", Name: "Meridian", Path: "Meridian", QuotaLimits: limits(1, contract.QuotaAmounts{"gpu:A100": 40}, nil), Waiting: 2,
			Use: map[fair.Resource]contract.QuotaUse{"gpu:A100": {Used: 20, Free: 20, Most: n(40)}, "cpu": {Used: 1500}}},
		{NodeID: nodeID(2), Kind: "team", Name: "Vision", Path: "Meridian/Vision", QuotaLimits: limits(2, contract.QuotaAmounts{"gpu:A100": 12}, contract.QuotaAmounts{"gpu:A100": 8}),
			Use: map[fair.Resource]contract.QuotaUse{"gpu:A100": {Used: 14, Borrowed: 2, Most: n(20)}}},
		{NodeID: nodeID(3), Kind: "team", Name: "Speech", Path: "Meridian/Speech", QuotaLimits: limits(1, contract.QuotaAmounts{"gpu:A100": 10}, nil),
			Use: map[fair.Resource]contract.QuotaUse{"gpu:A100": {Used: 6, Lent: 2, Free: 2, Most: n(10)}}},
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
	to := contract.QuotaAmounts{"pods": 5}
	for _, text := range []string{"cpu=1.5", "memory=2GiB", "storage=1Ti", "gpu:A100=4", "gpu = 8", "pods=none", "executions=0"} {
		require.NoError(t, setAmount(to, text), text)
	}
	require.Equal(t, contract.QuotaAmounts{"cpu": 1500, "memory": 2048, "storage": 1 << 20, "gpu:A100": 4, "gpu": 8, "executions": 0}, to)
	for _, text := range []string{"gpu", "gpu=x", "gpu=1.5", "gpu=-1", "memory=2 litres", "cpu=1e99", "=4"} {
		require.Error(t, setAmount(to, text), text)
	}
}

func TestNodesByIDAndPath(t *testing.T) {
	t.Parallel()
	nodes := append(quotaFixture(), contract.QuotaBody{NodeID: nodeID(4), Path: "Other/Vision"})
	for name, id := range map[string]byte{nodeID(2).String(): 2, "meridian/vision": 2, "/Meridian/": 1, "speech": 3, "other/vision": 4} {
		n, err := findQuotaNode(nodes, name)
		require.NoError(t, err, name)
		require.Equal(t, nodeID(id), n.NodeID, name)
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
	r, err := quotaChange(cmd, contract.QuotaBody{QuotaLimits: contract.QuotaLimits{Default: contract.QuotaAmounts{"cpu": 500}, Limit: contract.QuotaAmounts{"pods": 3}}}, nil)
	require.NoError(t, err)
	require.Equal(t, contract.QuotaAmounts{"cpu": 500, "memory": 1024}, r.Default)
	require.Equal(t, contract.QuotaAmounts{"pods": 3}, r.Limit)
}

func TestResourcesAsTyped(t *testing.T) {
	t.Parallel()
	name, override, err := parseResourceOverride("train:cpu=1.5,memory=4Gi,gpu=2")
	require.NoError(t, err)
	require.Equal(t, "train", name)
	require.Equal(t, contract.ResourceOverride{CPUMillis: new(1500), MemoryMiB: new(4096), GPUs: new(2)}, override)
	_, override, err = parseResourceOverride("*:memory=512 MiB,cpu=500m")
	require.NoError(t, err)
	require.Equal(t, contract.ResourceOverride{CPUMillis: new(500), MemoryMiB: new(512)}, override)
	for _, text := range []string{"train", "train:", ":cpu=1", "train:memory=4", "train:memory=4 litres", "train:gpu=-1", "train:gpu=1.5", "train:cpu=", "train:disk=1Gi", "train:cpu=1e99"} {
		_, _, err := parseResourceOverride(text)
		require.Error(t, err, text)
	}
}
