package db

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSnapshotFollows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after string
		renewals      []string // in the rows of leaders afterwards
		want          bool
	}{
		{"nothing happened", "100:100:", "100:100:", nil, false},
		{"a transaction ended", "100:100:", "101:101:", nil, true},
		{"a transaction began", "100:100:", "100:101:100", nil, false},
		{"one that ran before ended", "100:103:100,102", "102:103:102", nil, true},
		{"a later one ended, and an earlier one runs", "100:101:100", "100:102:100", nil, true},
		{"a lease was renewed", "100:100:", "101:101:", []string{"100", "7"}, false},
		{"a lease was renewed, and the renewal ran before", "100:101:100", "101:101:", []string{"100"}, false},
		{"a lease was renewed twice", "100:100:", "102:102:", []string{"101"}, true},
		{"a lease was renewed after something else", "100:100:", "102:102:", []string{"100"}, true},
		{"the numbers of rows are the lower half", "4294967396:4294967396:", "4294967397:4294967397:", []string{"100"}, false},
		{"another database", "100:100:", "90:90:", nil, true},
	} {
		before, err := parseSnapshot(c.before, nil)
		require.NoError(t, err)
		after, err := parseSnapshot(c.after, c.renewals)
		require.NoError(t, err)
		require.Equal(t, c.want, after.follows(before), c.name)
	}
	for _, text := range []string{"", "1:2", "1:x:", "1:2:x"} {
		_, err := parseSnapshot(text, nil)
		require.Error(t, err, text)
	}
	_, err := parseSnapshot("1:2:", []string{"x"})
	require.Error(t, err)
}

// TestClockSteps: time that passes is no step.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	require.False(t, stepped(time.Hour, time.Hour))
	require.True(t, stepped(time.Minute, time.Second), "the clock was set ahead")
	require.True(t, stepped(-time.Minute, time.Second), "the clock was set back")
}

func TestRestUntil(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.Equal(t, Safety, RestUntil(nil, now, time.Second))
	require.Equal(t, 5*time.Second, RestUntil(new(now.Add(5*time.Second)), now, time.Second))
	require.Equal(t, time.Second, RestUntil(new(now.Add(-time.Hour)), now, time.Second))
	require.Equal(t, Safety, RestUntil(new(now.Add(time.Hour)), now, time.Second))
}
