package runner

import (
	"context"
	"fmt"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// Task runs one attempt in this process, as in a pod, and returns its result
// when the server has taken it. When ctx ends (the pod is being deleted) the
// attempt ends as interrupted, unless the server had asked for its end.
func Task(ctx context.Context, config Config, spec *flowforgev1.AttemptSpec) (*flowforgev1.Finished, error) {
	config.OwnProcess = true
	s, err := New(config)
	if err != nil {
		return nil, err
	}
	return s.runOne(ctx, spec)
}

// runOne runs one attempt and closes the supervisor.
func (s *Supervisor) runOne(ctx context.Context, spec *flowforgev1.AttemptSpec) (*flowforgev1.Finished, error) {
	defer s.Close()
	a, err := s.start(spec)
	if err != nil {
		return nil, err
	}
	select {
	case <-a.delivered:
	case <-ctx.Done():
		s.Shutdown(a.grace())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.result == nil {
		return nil, fmt.Errorf("the attempt %s has no result", spec.TaskId)
	}
	return a.result.Report.GetFinished(), nil
}
