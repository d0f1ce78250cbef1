package argo

import "github.com/flowforge/flowforge/engine/workflow"

// serves reports whether a template is a daemon: other tasks do not wait for its end.
func (s *source) serves() bool { return s.Daemon != nil && *s.Daemon }

// checkDaemon rejects fields that a daemon cannot have.
func (l *leaves) checkDaemon(s *source) {
	if !s.serves() {
		return
	}
	l.refuse(s.Container == nil && s.Script == nil, s.path+".daemon", "Only a container or a script can be a daemon.")
	l.refuse(s.Memoize != nil, s.path+".memoize", "A daemon cannot be memoized.")
}

// lastOutputs returns the outputs of a daemon. They are optional, because it can be stopped before it
// has written them.
func (vs *values) lastOutputs(outputs []workflow.OperatorOutput) []workflow.OperatorOutput {
	for i := range outputs {
		if o := &outputs[i]; o.Required() {
			o.Type = vs.optional(o.Type)
		}
	}
	return outputs
}

// checkServes rejects fields that a task cannot have if its template is a daemon.
func (t *tasks) checkServes(run *task, s *source, path string) {
	if !s.serves() {
		return
	}
	t.refuse(run.WithItems != nil || run.WithParam != "" || run.WithSequence != nil, path, "A daemon template runs only once. To run it for each item, wrap it in a template of steps or tasks.")
	t.refuse(len(run.Hooks) > 0 || run.OnExit != "", path, "A daemon task ends when no other task needs it, so nothing can run after it. Omit hooks and onExit.")
}
