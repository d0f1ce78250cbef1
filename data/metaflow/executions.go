package metaflow

import (
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// runPrefix begins the IDs of runs that an execution of FlowForge records.
const runPrefix = "flowforge-"

// RunOf returns the ID of the run of an execution.
func RunOf(execution uuid.UUID) string { return runPrefix + execution.String() }

// ExecutionOf returns the execution of a run; false for runs that other programs started.
func ExecutionOf(run string) (uuid.UUID, bool) {
	text, ours := strings.CutPrefix(run, runPrefix)
	if !ours {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil && text == id.String()
}

// checkFlow returns apperr.Forbidden for a task that records a flow other than its own.
func checkFlow(subject auth.Subject, flow string) error {
	if subject.Task == nil || flow == subject.Flow {
		return nil
	}
	return apperr.New(apperr.Forbidden, "A task can only record the flow of its workflow, %s.", subject.Flow)
}

// checkRun returns apperr.Forbidden for a task that changes a run other than that of its execution.
// An empty run is one that does not exist yet and gets a number.
func checkRun(subject auth.Subject, flow, run string) error {
	if err := checkFlow(subject, flow); err != nil {
		return err
	}
	if subject.Task == nil || run == RunOf(subject.Task.ExecutionID) {
		return nil
	}
	return apperr.New(apperr.Forbidden, "A task can only record the run of its execution, %s.", RunOf(subject.Task.ExecutionID))
}
