package workflow

// IsLockName reports whether a mutex or a semaphore may have the name.
func IsLockName(name string) bool { return lockName.MatchString(name) }

// MaxPermits is the maximum number of permits of a semaphore.
const MaxPermits = maxPermits

// Workflow is the workflow whose executions hold l, when l limits their number.
func (l Lock) Workflow() string { return l.Name[min(len(ownLock), len(l.Name)):] }

// LockCalled finds a lock of the definition or of one of its operators.
func (d *Definition) LockCalled(name string) (Lock, bool) {
	for _, l := range d.ExecutionLocks() {
		if l.Name == name {
			return l, true
		}
	}
	for _, op := range d.EveryOperator() {
		for _, l := range op.Locks {
			if l.Name == name {
				return l, true
			}
		}
	}
	return Lock{}, false
}
