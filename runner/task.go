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
	supervisor, err := New(config)
	if err != nil {
		return nil, err
	}
	defer supervisor.Close()
	a, err := supervisor.start(spec)
	if err != nil {
		return nil, err
	}
	select {
	case <-a.delivered:
	case <-ctx.Done():
		supervisor.Shutdown(a.grace())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.result == nil {
		return nil, fmt.Errorf("the attempt %s has no result", spec.TaskId)
	}
	return a.result.Report.GetFinished(), nil
}
