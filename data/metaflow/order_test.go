package metaflow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func done(step, path string, created, ended int64) TaskProgress {
	return TaskProgress{Step: step, Path: path, Epoch: created, State: Completed, Attempts: []Attempt{{Started: created, Ended: ended, State: Completed}}}
}

// names are the steps with the steps directly before them.
func names(steps []StepOrder) map[string][]string {
	out := map[string][]string{}
	for _, s := range steps {
		out[s.Name] = []string{}
		for _, i := range s.After {
			out[s.Name] = append(out[s.Name], steps[i].Name)
		}
	}
	return out
}

func TestOrderOfSteps(t *testing.T) {
	t.Parallel()
	running := TaskProgress{Step: "more", Epoch: 60, State: Running, Attempts: []Attempt{{Started: 60, State: Running}}}
	tasks := []TaskProgress{
		done("start", "", 0, 10),
		done("left", "", 11, 30), done("right", "", 12, 20), // branches
		done("join", "", 31, 32),
		done("train", "train:0", 33, 40), done("train", "train:1", 33, 50),
		done("score", "train:0", 41, 45), done("score", "train:1", 51, 55), // the first starts before the last train ends
		{Step: "score", Epoch: 39, State: Waiting}, // its iteration is unknown
		done("best", "", 56, 58), running, done("other", "", 61, 62),
	}
	require.Equal(t, map[string][]string{
		"start": {}, "left": {"start"}, "right": {"start"}, "join": {"left", "right"}, "train": {"join"}, "score": {"train"}, "best": {"score"},
		"more": {"best"}, "other": {"best"},
	}, names(arrange(precede(tasks))))
}

// TestOrderOfAResumedRun: reused tasks are registered at once, so their own run has the order.
func TestOrderOfAResumedRun(t *testing.T) {
	t.Parallel()
	was, there := precede([]TaskProgress{done("start", "", 0, 1), done("left", "", 2, 9), {Step: "right", Epoch: 3, State: Failed, Attempts: []Attempt{{Started: 3, Ended: 8, State: Failed}}}})
	steps, before := precede([]TaskProgress{done("left", "", 20, 21), done("start", "", 22, 23), done("right", "", 30, 31), done("join", "", 32, 33)})
	steps, before = reorder(steps, before, map[string]bool{"start": true, "left": true}, was, there)
	require.Equal(t, map[string][]string{"start": {}, "left": {"start"}, "right": {"start"}, "join": {"left", "right"}}, names(arrange(steps, before)),
		"right is no successor of the branch left, although left was reused before it")
}

// TestGraphOrder: a graph has levels, and the way back of a loop is left out.
func TestGraphOrder(t *testing.T) {
	t.Parallel()
	got := GraphOrder([]string{"start", "a", "b", "join", "end"}, [][]int{{1, 2, 1}, {3, 0}, {2, 3}, {4}, nil})
	want := []StepOrder{
		{Name: "start"}, {Name: "a", After: []int{0}, Level: 1}, {Name: "b", After: []int{0}, Level: 1},
		{Name: "join", After: []int{1, 2}, Level: 2}, {Name: "end", After: []int{3}, Level: 3},
	}
	require.Equal(t, want, got)
}
