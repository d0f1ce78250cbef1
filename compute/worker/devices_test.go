package worker

import "testing"

// Each GPU belongs to one attempt until the server has removed the attempt.
func TestDevices(t *testing.T) {
	t.Parallel()
	d := devices{all: []int{0, 2, 3}, of: map[string][]int{}}
	check := func(task string, n int, want string) {
		t.Helper()
		if got, err := d.assign(task, n); err != nil || got != want {
			t.Errorf("%s has %q, not %q: %v", task, got, want, err)
		}
	}
	check("a", 1, "0")
	check("b", 2, "2,3")
	check("a", 1, "0") // the same attempt again
	check("c", 0, "")
	if _, err := d.assign("e", 1); err == nil {
		t.Error("an attempt starts without its GPU")
	}
	d.release("a")
	check("d", 1, "0")
}
