package trigger_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/trigger"
)

// record adds an event to the feed, as its relay does.
func (b *bundle) record(topic, kind string, execution *uuid.UUID, data map[string]any) {
	b.t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(b.t, err)
	_, err = b.pool.Exec(b.ctx, `WITH moved AS (UPDATE event_feed_state SET position = position + 1 RETURNING position)
		INSERT INTO event_feed (position, id, topic, type, at, recorded_at, tenant_id, project_id, execution_id, subject, data)
		SELECT position, $1, $2, $3, $4, $4, $5, $6, $7, 'it', $8 FROM moved`,
		uuid.NewString(), topic, kind, b.now.Add(time.Minute), auth.LocalTenant, auth.LocalProject, execution, raw)
	require.NoError(b.t, err)
}

// receive passes all events to the triggers.
func (b *bundle) receive(s *trigger.Service) {
	b.t.Helper()
	for more := true; more; {
		var err error
		more, err = s.ReceiveEvents(auth.AsSystem(b.t.Context()))
		require.NoError(b.t, err)
	}
}

func outcomes(list []trigger.Delivery) (out []string) {
	for _, d := range list {
		out = append(out, string(d.Outcome)+" "+d.Reason)
	}
	return out
}

func TestEventsOfTheFeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(trigger.Spec{Name: "artifact", Kind: trigger.OnArtifact, Sources: []string{"digits.*/model"}, Filter: "artifact.size > 5", Inputs: map[string]any{"ref": "{{ artifact.name }} of {{ artifact.workflow }}"}})
	b.put(trigger.Spec{Name: "dataset", Kind: trigger.OnDataset, Sources: []string{"images"}, Inputs: map[string]any{"ref": "{{ dataset.version }}"}})
	b.put(trigger.Spec{Name: "model", Kind: trigger.OnModel, Sources: []string{"*"}, Inputs: map[string]any{"ref": "{{ model.name }}"}})
	b.put(trigger.Spec{Name: "stage", Kind: trigger.OnModel, Sources: []string{"digits"}, Stages: []string{"production"}, Inputs: map[string]any{"ref": "{{ model.version }} {{ model.stage }}"}})
	b.put(trigger.Spec{Name: "event", Kind: trigger.OnEvent, Sources: []string{"quota.*"}, Inputs: map[string]any{"ref": "{{ event.data.name }}"}})
	artifact := func(workflow, name string, size int) {
		b.record("artifact", "artifact.created", nil, map[string]any{"name": name, "workflow": workflow, "size": size})
	}
	artifact("digits.train", "model", 7)
	artifact("digits.train", "model", 3)
	artifact("digits.train", "report", 7)
	artifact("other", "model", 7)
	b.record("artifact", "dataset.registered", nil, map[string]any{"name": "images", "version": "3"})
	b.record("artifact", "dataset.registered", nil, map[string]any{"name": "texts", "version": "1"})
	b.record("artifact", "model.registered", nil, map[string]any{"name": "digits", "version": "2"})
	b.record("artifact", "model.stage_changed", nil, map[string]any{"name": "digits", "version": "2", "stage": "staging"})
	b.record("artifact", "model.stage_changed", nil, map[string]any{"name": "digits", "version": "2", "stage": "production"})
	b.record("artifact", "model.stage_changed", nil, map[string]any{"name": "other", "version": "2", "stage": "production"})
	b.record("quota", "quota.updated", nil, map[string]any{"name": "vision"})
	b.receive(b.triggers)
	require.Equal(t, []string{"SKIPPED filter", "LAUNCHED "}, outcomes(b.deliveries("artifact")))
	for name, ref := range map[string]string{"artifact": "model of digits.train", "dataset": "3", "model": "digits", "stage": "2 production", "event": "vision"} {
		list := b.deliveries(name)
		require.Equal(t, ref, b.inputsOf(list[len(list)-1])["ref"], name)
	}
	require.Equal(t, 5, b.executions())
	b.receive(b.triggers)
	require.Equal(t, 5, b.executions(), "events are received once")
}

// TestNoEventIsLostOrDoubled: a server that stops at any point between an event and its launch.
func TestNoEventIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"launch.begin", "launch.within", "launch.committed", "feed.received"} {
		b := setup(t)
		b.put(trigger.Spec{Name: "models", Kind: trigger.OnModel, Sources: []string{"*"}})
		for n := range 3 {
			b.record("artifact", "model.registered", nil, map[string]any{"name": fmt.Sprintf("m%d", n)})
		}
		config, stops := b.config, 0
		config.Crash = func(at string) {
			if stops++; at == point && stops > 4 { // the second event, or the end
				panic(point)
			}
		}
		require.PanicsWithValue(t, point, func() { b.receive(trigger.New(config)) })
		b.receive(trigger.New(b.config))
		require.Equal(t, 3, b.executions(), point)
		require.Equal(t, []string{"LAUNCHED ", "LAUNCHED ", "LAUNCHED "}, outcomes(b.deliveries("models")), point)
	}
}

// TestATriggerIgnoresItsOwnExecutions, and the chain of triggers has an end.
func TestATriggerIgnoresItsOwnExecutions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(trigger.Spec{Name: "one", Kind: trigger.OnEvent, Sources: []string{"execution.*"}})
	b.put(trigger.Spec{Name: "other", Kind: trigger.OnEvent, Sources: []string{"execution.*"}})
	b.record("workflow", "execution.launched", nil, map[string]any{})
	b.receive(b.triggers)
	require.Equal(t, 2, b.executions())
	for range trigger.MaxDepth {
		last := b.deliveries("one")[0]
		if last.ExecutionID == nil {
			break
		}
		b.record("workflow", "execution.launched", last.ExecutionID, map[string]any{})
		b.receive(b.triggers)
		require.Equal(t, trigger.ReasonLoop, b.deliveries("one")[0].Reason)
		require.Equal(t, trigger.Launched, b.deliveries("other")[0].Outcome)
	}
	require.Equal(t, 3, b.executions())
}

// TestExecutionsForOptionsLaunchNothing: a form that lists options must not launch other workflows.
func TestExecutionsForOptionsLaunchNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(trigger.Spec{Name: "events", Kind: trigger.OnEvent, Sources: []string{"execution.*"}})
	b.put(trigger.Spec{Name: "ends", Kind: trigger.OnExecution, Sources: []string{"digits.*"}})
	listing := b.ended("digits.shards", "SUCCEEDED", nil)
	listing.Purpose = query.ListOptions
	require.NoError(t, b.triggers.ExecutionEnded(auth.AsSystem(t.Context()), listing))
	require.Empty(t, b.deliveries("ends"))
	_, err := b.pool.Exec(b.ctx, `INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs,
			submitted_by, submitted_by_name, created_at, finished_at, total, pending, succeeded, levels, purpose)
		VALUES ($1, $2, $3, $1, $1, 'digits.shards', '1.0.0', 'SUCCEEDED', 50, '{}', $1, 'ada', $4, $4, 1, 0, 1, 1, 'OPTIONS')`,
		listing.ID, auth.LocalTenant, auth.LocalProject, b.now)
	require.NoError(t, err)
	b.record("workflow", "execution.succeeded", &listing.ID, map[string]any{})
	b.receive(b.triggers)
	require.Empty(t, b.deliveries("events"))
	b.record("workflow", "execution.succeeded", new(uuid.Must(uuid.NewV7())), map[string]any{})
	b.receive(b.triggers)
	require.Len(t, b.deliveries("events"), 1)
}

func TestTriggersOffReceiveNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(trigger.Spec{Name: "models", Kind: trigger.OnModel, Sources: []string{"*"}})
	require.NoError(t, b.triggers.Switch(b.ctx, "models", false))
	b.record("artifact", "model.registered", nil, map[string]any{"name": "m"})
	b.record("audit", "audit.model.register", nil, map[string]any{"name": "m"})
	b.receive(b.triggers)
	require.Empty(t, b.deliveries("models"))
}

func TestTriggersOnEventsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, sp := range map[string]trigger.Spec{
		"sources": {Kind: trigger.OnArtifact}, "sources ": {Kind: trigger.OnEvent, Sources: []string{"audit.*"}}, "sources  ": {Kind: trigger.OnEvent, Sources: []string{"A B"}},
		"stages": {Kind: trigger.OnModel, Sources: []string{"*"}, Stages: []string{"moon"}},
		"filter": {Kind: trigger.OnDataset, Sources: []string{"*"}, Filter: "model.name == 'x'"},
	} {
		sp.Name, sp.Workflow = "x", "retrain"
		_, err := b.triggers.Put(b.ctx, "", sp)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", want, fields)
		require.Contains(t, want, fields[0].Path)
	}
}
