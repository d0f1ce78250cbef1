package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// Lock is a permit that an operator, or a whole execution, needs while it runs: of a
// mutex, which has one, or of a semaphore. Names are those of the project.
type Lock struct {
	Name    string
	Permits int // 1 is a mutex; an administrator may set another number
	// Limit is the source of the number unless an administrator has set one; the zero
	// value means none.
	Limit ConfigMapKey
}

const (
	maxLocks   = 20
	maxPermits = 1_000_000
)

var lockName = formOf(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`, 200)

// locks reads a list of names (mutexes) and of {name, permits}, sorted by name, the
// order in which they are acquired.
func (p *parser) locks(o *object) []Lock {
	items, path := o.list(maxLocks, "locks")
	var locks []Lock
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		lock := Lock{Permits: 1}
		if name, isText := item.(string); isText {
			lock.Name = name
		} else if inner := p.object(item, at); inner != nil {
			lock.Name, lock.Permits = inner.text(200, "name"), inner.whole(1, 1, maxPermits, "permits")
			inner.finish()
		}
		if !lockName.MatchString(lock.Name) {
			p.add(at, "A lock name can have up to 200 letters, digits, . _ / and -.")
		}
		if slices.ContainsFunc(locks, func(l Lock) bool { return l.Name == lock.Name }) {
			p.add(at, "The lock %q appears twice.", shorten(lock.Name, 60))
		}
		locks = append(locks, lock)
	}
	slices.SortFunc(locks, func(a, b Lock) int { return strings.Compare(a.Name, b.Name) })
	return locks
}

// ExecutionLocks returns the locks of an execution as a whole: its own, and the one
// that limits the concurrent executions of the workflow.
func (d *Definition) ExecutionLocks() []Lock {
	if d.MaxRunning == 0 {
		return d.Locks
	}
	return append([]Lock{{Name: ownLock + d.Name, Permits: d.MaxRunning}}, d.Locks...)
}

// ownLock is the reserved prefix of the names of workflow locks.
const ownLock = "workflow:"

// OfWorkflow reports whether l limits the concurrent executions of a workflow.
func (l Lock) OfWorkflow() bool { return strings.HasPrefix(l.Name, ownLock) }

type lockJSON struct {
	Name    string `json:"name"`
	Permits int    `json:"permits,omitempty"`
}

func wireLocks(locks []Lock) []lockJSON {
	var out []lockJSON
	for _, l := range locks {
		w := lockJSON{Name: l.Name}
		if l.Permits > 1 {
			w.Permits = l.Permits
		}
		out = append(out, w)
	}
	return out
}
