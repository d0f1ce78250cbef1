package tasks

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// attemptTelemetry is the telemetry of one attempt. The token identifies the attempt, never the
// entries.
type attemptTelemetry struct {
	scope     auth.TaskScope
	telemetry *flowforgev1.Telemetry
}

// store makes the lines and points of a batch durable. It returns NotFound if an attempt's
// execution does not exist, and an unkeptError if there is no space.
func (t *API) store(ctx context.Context, batch []attemptTelemetry) error {
	n := 0
	for _, b := range batch {
		n += len(b.telemetry.GetLogs())
	}
	lines := make([]telemetry.LogLine, 0, n)
	var points []telemetry.Point
	for _, b := range batch {
		of, err := t.names.of(ctx, b.scope)
		if err != nil {
			return err
		}
		masker, err := t.masks.of(ctx, b.scope)
		if err != nil {
			return err
		}
		maskTelemetry(masker, b.telemetry)
		for _, entry := range b.telemetry.GetLogs() {
			line := t.logLine(b.scope, of, entry)
			line.Pod, line.Machine = shortName(b.telemetry.GetPodName()), shortName(b.telemetry.GetNodeName())
			lines = append(lines, line)
		}
		for _, point := range b.telemetry.GetMetrics() {
			points = append(points, t.point(b.scope, of, point))
		}
	}
	if len(lines) > 0 {
		if err := t.Telemetry.AppendLogs(ctx, lines); err != nil {
			return spoolFull(err)
		}
	}
	if len(points) > 0 {
		return spoolFull(t.Telemetry.AppendMetrics(ctx, points))
	}
	return nil
}

// maxPlaceName is the maximum length of the name of a pod or a machine, in bytes.
const maxPlaceName = 253

// shortName bounds a name that a task sends.
func shortName(name string) string { return name[:min(len(name), maxPlaceName)] }

// spoolFullError means that telemetry was not stored because the spool or its disk is full.
type spoolFullError struct{ error }

func (e *spoolFullError) Unwrap() error { return e.error }

func spoolFull(err error) error {
	if apperr.Is(err, apperr.Unavailable) {
		return &spoolFullError{err}
	}
	return err
}

func (t *API) logLine(scope auth.TaskScope, of taskName, entry *flowforgev1.LogEntry) telemetry.LogLine {
	line := telemetry.LogLine{
		TenantID: of.tenant, ProjectID: of.project, ExecutionID: scope.ExecutionID,
		NodeIndex: scope.NodeIndex, Node: of.node, Attempt: scope.Attempt,
		Stream: entry.GetStream(), Seq: t.numbered(entry.GetSequence()), Time: t.at(entry.GetTimestamp()),
		Level: entry.GetLevel(), Message: entry.GetMessage(),
	}
	if line.Stream == "" {
		line.Stream = "sdk"
	}
	if entry.GetExtra() != "" {
		line.Fields = json.RawMessage(entry.GetExtra())
	}
	return line
}

func (t *API) point(scope auth.TaskScope, of taskName, point *flowforgev1.MetricPoint) telemetry.Point {
	return telemetry.Point{
		TenantID: of.tenant, ProjectID: of.project, ExecutionID: scope.ExecutionID,
		NodeIndex: scope.NodeIndex, Node: of.node, Attempt: scope.Attempt,
		Seq: t.numbered(point.GetSequence()), Name: point.GetName(), Kind: point.GetType(), Step: point.Step,
		Value: point.GetValue(), Time: t.at(point.GetTimestamp()), Tags: point.GetTags(),
	}
}

// numbered gives an entry without a sequence number an increasing one. Such an entry is stored
// twice if it is sent twice.
func (t *API) numbered(sequence int64) int64 {
	if sequence > 0 {
		return sequence
	}
	return t.sequence.Add(1)
}

func (t *API) at(milliseconds int64) time.Time {
	if milliseconds <= 0 {
		return t.Now().UTC()
	}
	return time.UnixMilli(milliseconds).UTC()
}

// maxTaskNames is the maximum number of nodes in taskNames.
const maxTaskNames = 20_000

// taskName is the data that telemetry stores in addition to the scope of a token.
type taskName struct {
	tenant, project uuid.UUID
	node            string
}

// taskNames caches the names of attempts. The name of a node never changes.
type taskNames struct {
	executions *query.Reader

	mu    sync.Mutex
	known map[taskNode]taskName
}

type taskNode struct {
	execution uuid.UUID
	index     int
}

func newTaskNames(executions *query.Reader) *taskNames {
	return &taskNames{executions: executions, known: make(map[taskNode]taskName)}
}

// of returns NotFound if the execution or node does not exist.
func (n *taskNames) of(ctx context.Context, scope auth.TaskScope) (taskName, error) {
	key := taskNode{scope.ExecutionID, scope.NodeIndex}
	n.mu.Lock()
	name, ok := n.known[key]
	n.mu.Unlock()
	if ok {
		return name, nil
	}
	ctx = auth.AsSystem(ctx)
	var err error
	if name.tenant, name.project, err = n.executions.Scope(ctx, scope.ExecutionID); err != nil {
		return taskName{}, err
	}
	if name.node, err = n.executions.Nodes.Name(ctx, scope.ExecutionID, scope.NodeIndex); err != nil {
		return taskName{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxTaskNames {
		clear(n.known)
	}
	n.known[key] = name
	return name, nil
}
