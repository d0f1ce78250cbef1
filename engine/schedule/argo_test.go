package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/schedule"
)

const taggedCron = `
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec:
  schedule: "0 5 * * *"
  timezone: Europe/Berlin
  workflowSpec:
    entrypoint: main
    arguments: {parameters: [{name: day, value: "{{workflow.scheduledTime}}"}, {name: next, value: "{{=sprig.trunc(10, workflow.parameters.day)}}"}]}
    templates: [{name: main, suspend: {}}]
`

// TestTagsInArgumentsOfACronWorkflow: the arguments of each launch read the time of its fire.
func TestTagsInArgumentsOfACronWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.workflows.ReadWith(argo.Format{})
	_, _, err := b.workflows.Register(b.ctx, []byte(taggedCron))
	require.NoError(t, err)
	list, _, err := b.schedules.List(b.ctx, schedule.Filter{Workflow: "nightly"})
	require.NoError(t, err)
	require.Len(t, list, 1)
	b.fire(time.Date(2026, 11, 25, 4, 0, 1, 0, time.UTC))
	fired := b.occurrences(list[0].ID)
	require.Len(t, fired, 1)
	e, err := b.engine.Get(b.ctx, *fired[0].ExecutionID)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"day": "2026-11-25T04:00:00Z", "next": "2026-11-25"}, e.Inputs)
}
