package quotas

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// TestTheOrderOfEqualTeams: no team is ahead of another while all have the same score.
func TestTheOrderOfEqualTeams(t *testing.T) {
	t.Parallel()
	team := quota.Team{Siblings: []quota.ShareRank{{Name: "speech"}, {Name: "vision"}, {Name: "local", Own: true}}}
	require.Equal(t, "the same as all others, so those that have waited longest go first.", scoreText(team))
	team.Siblings[0].Score.Score = -0.5
	require.Equal(t, "below its share of the unused capacity, but all others are further below theirs and go first.", scoreText(team))
}

func TestOneCoreIsSingular(t *testing.T) {
	t.Parallel()
	change := func(millis int64) string {
		return changeText(quota.Change{New: fair.Limits{Limit: fair.Vector{fair.CPU: millis}}})
	}
	require.Equal(t, "CPU guarantee: none → 1 core", change(1000))
	require.Equal(t, "CPU guarantee: none → 2 cores", change(2000))
}
