package worker

import "testing"

// Each GPU belongs to one attempt until the server has removed the attempt.
func TestDevices(t *testing.T) {
	t.Parallel()
	d := devices{all: []int{0, 2, 3}, of: map[string][]int{}}
	check := func(task string, n int, want string) {
		t.Helper()
		if got := d.assign(task, n); got != want {
			t.Errorf("%s has %q, not %q", task, got, want)
		}
	}
	check("a", 1, "0")
	check("b", 2, "2,3")
	check("a", 1, "0") // the same attempt again
	check("c", 0, "")
	d.release("a")
	check("d", 1, "0")
}
