package main

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/web/contract"
)

// TestWhyNamesTheNextStep: for an execution that does not wait, and for one that can never start.
func TestWhyNamesTheNextStep(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("01a231a8-09ed-74ef-af71-c8fb55e403e3")
	var out strings.Builder
	writeExplanation(&out, contract.WhyBody{ExecutionID: id})
	require.Equal(t, "The execution is not waiting.\nTo see its nodes, run: flowforge get 01a231a8-09ed-74ef-af71-c8fb55e403e3\n", out.String())
	out.Reset()
	reason := &query.Reason{Code: "EXECUTIONS_LIMIT", Message: "Cannot run here: requests 1 execution; the limit of tenant local is 0."}
	writeExplanation(&out, contract.WhyBody{ExecutionID: id, Waiting: true, Reason: reason})
	require.Contains(t, out.String(), "Request less, or ask an administrator to raise the limit. To see the limits, run: flowforge quota\n")
}

// TestSweepsShowFailedRuns: a sweep whose runs have ended can have failed runs.
func TestSweepsShowFailedRuns(t *testing.T) {
	t.Parallel()
	sw := contract.SweepDetail{SweepBody: contract.SweepBody{Name: "sizes", Workflow: "digits", Version: "1.0.0", State: "SUCCEEDED", Runs: 6, Counts: contract.SweepCounts{Created: 6, Failed: 6}}}
	var out strings.Builder
	require.NoError(t, writeSweep(&out, sw))
	require.Contains(t, out.String(), "sizes of digits 1.0.0: SUCCEEDED, 6 of 6 runs ended, 6 failed\n")
}
