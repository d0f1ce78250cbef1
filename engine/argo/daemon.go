package argo

// serves reports whether a template is a daemon: others need not wait for its end.
func (s *source) serves() bool { return s.Daemon != nil && *s.Daemon }

// checkDaemon refuses what a template that serves others cannot be.
func (t *translator) checkDaemon(s *source) {
	if !s.serves() {
		return
	}
	t.refuse(s.Container == nil && s.Script == nil, s.path+".daemon", "Only a container or a script can serve others.")
	t.refuse(len(s.Outputs.Parameters)+len(s.Outputs.Artifacts) > 0, s.path+".outputs", "A daemon is stopped when no other task needs it, so it has no outputs; other tasks read its ip.")
	t.refuse(s.Memoize != nil, s.path+".memoize", "What serves others has to run.")
}

// checkServes refuses what a task cannot do with a template that serves others.
func (t *translator) checkServes(run *task, s *source, path string) {
	if !s.serves() {
		return
	}
	t.refuse(run.WithItems != nil || run.WithParam != "" || run.WithSequence != nil, path, "A template with daemon runs once; run one of steps or tasks with it in there for each item.")
	t.refuse(len(run.Hooks) > 0 || run.OnExit != "", path, "A task with daemon ends when no other task needs it, so nothing can run after it. Leave out hooks and onExit.")
}
