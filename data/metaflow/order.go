package metaflow

import (
	"math"
	"slices"
	"strings"
)

// The graph of a flow is the artifact _graph_info, which only the datastore has. Without it, the service
// knows the order: a step starts after all tasks on which it depends. So a step precedes
// another one if each of its tasks, within the same iteration of a foreach, ended before the other
// step registered a task. Branches that ran one after the other look like a sequence.

// StepOrder is a step with its place in the order of a run.
type StepOrder struct {
	Name  string
	After []int // indexes of the steps directly before it
	Level int
}

// precedence specifies which steps precede a step, by name.
type precedence map[string]map[string]bool

// stepTimes are the times of the tasks of a step by their foreach paths.
type stepTimes struct {
	created map[string]int64 // the first task at the path
	ended   map[string]int64 // the last end at the path; never while a task is not completed
	within  map[string]int64 // the last end at the path and below it
	started bool             // a task has started; the others are left out then
}

// never is later than every time.
const never = math.MaxInt64

// precede returns the steps in the order of their first task, and which precede which.
func precede(tasks []TaskProgress) ([]string, precedence) {
	var steps []string
	times := map[string]*stepTimes{}
	for i := range tasks {
		t := &tasks[i]
		s := times[t.Step]
		if s == nil {
			s = &stepTimes{created: map[string]int64{}, ended: map[string]int64{}, within: map[string]int64{}}
			times[t.Step] = s
			steps = append(steps, t.Step)
		}
		if len(t.Attempts) > 0 {
			s.started = true
			s.add(t)
		}
	}
	for i := range tasks { // the path of a task is known once it has started
		t := &tasks[i]
		if s := times[t.Step]; len(t.Attempts) == 0 && !s.started {
			s.add(t)
		}
	}
	before := precedence{}
	for i, step := range steps {
		before[step] = map[string]bool{}
		for _, earlier := range steps[:i] {
			if times[earlier].precedes(times[step]) {
				before[step][earlier] = true
			}
		}
	}
	return steps, before
}

func (s *stepTimes) add(t *TaskProgress) {
	end := t.Ended()
	if t.State != Completed {
		end = never
	}
	if first, ok := s.created[t.Path]; !ok || t.Epoch < first {
		s.created[t.Path] = t.Epoch
	}
	s.ended[t.Path] = max(s.ended[t.Path], end)
	for _, outer := range outerPaths(t.Path) {
		s.within[outer] = max(s.within[outer], end)
	}
	s.within[t.Path] = max(s.within[t.Path], end)
}

// precedes reports whether the tasks of s ended before those of next in the same iterations.
func (s *stepTimes) precedes(next *stepTimes) bool {
	met := false
	for path, created := range next.created {
		end, ok := s.within[path]
		for _, outer := range outerPaths(path) {
			if e, has := s.ended[outer]; has {
				end, ok = max(end, e), true
			}
		}
		if !ok {
			continue
		}
		if end > created {
			return false
		}
		met = true
	}
	return met
}

// outerPaths are the paths of the iterations around a path, the outermost "" first.
func outerPaths(path string) []string {
	if path == "" {
		return nil
	}
	frames := strings.Split(path, ",")
	out := make([]string, len(frames))
	for i := range frames {
		out[i] = strings.Join(frames[:i], ",")
	}
	return out
}

// reorder replaces what before says about pairs of steps that ran in an earlier run, if one of
// them is reused from it.
func reorder(steps []string, before precedence, reused map[string]bool, was []string, there precedence) ([]string, precedence) {
	known := map[string]int{}
	for i, step := range was {
		known[step] = i + 1
	}
	sorted := slices.Clone(steps)
	slices.SortStableFunc(sorted, func(a, b string) int {
		if known[a] > 0 && known[b] > 0 {
			return known[a] - known[b]
		}
		if known[a] > 0 {
			return -1
		}
		if known[b] > 0 {
			return 1
		}
		return 0
	})
	for _, step := range sorted {
		for _, earlier := range sorted {
			if step == earlier || known[step] == 0 || known[earlier] == 0 || !reused[step] && !reused[earlier] {
				continue
			}
			delete(before[step], earlier)
			if there[step][earlier] {
				before[step][earlier] = true
			}
		}
	}
	return sorted, before
}

// arrange computes the direct predecessors and the levels of steps.
func arrange(steps []string, before precedence) []StepOrder {
	out := make([]StepOrder, len(steps))
	for i, step := range steps {
		out[i].Name = step
		var all []int
		for j, earlier := range steps[:i] {
			if before[step][earlier] {
				all = append(all, j)
			}
		}
		for _, j := range all {
			direct := !slices.ContainsFunc(all, func(k int) bool { return before[steps[k]][steps[j]] })
			if direct {
				out[i].After = append(out[i].After, j)
				out[i].Level = max(out[i].Level, out[j].Level+1)
			}
		}
	}
	return out
}

// GraphOrder is the place of each step of a graph: next are the indexes of the steps after a step. It
// leaves out what leads back to an earlier step, as in a loop of a switch.
func GraphOrder(names []string, next [][]int) []StepOrder {
	out := make([]StepOrder, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	const open, done = 1, 2
	state := make([]int, len(names))
	type frame struct{ step, child int }
	for root := range names {
		if state[root] != 0 {
			continue
		}
		state[root] = open
		for stack := []frame{{root, 0}}; len(stack) > 0; {
			at := &stack[len(stack)-1]
			if at.child == len(next[at.step]) {
				state[at.step] = done
				stack = stack[:len(stack)-1]
				continue
			}
			to := next[at.step][at.child]
			at.child++
			if state[to] == open || slices.Contains(out[to].After, at.step) {
				continue
			}
			out[to].After = append(out[to].After, at.step)
			if state[to] == 0 {
				state[to] = open
				stack = append(stack, frame{to, 0})
			}
		}
	}
	level(out)
	return out
}

// level sets the levels of steps without loops: one more than that of the steps before them.
func level(steps []StepOrder) {
	for i := range steps {
		slices.Sort(steps[i].After)
	}
	for changed := true; changed; {
		changed = false
		for i := range steps {
			for _, before := range steps[i].After {
				if steps[i].Level <= steps[before].Level {
					steps[i].Level, changed = steps[before].Level+1, true
				}
			}
		}
	}
}
