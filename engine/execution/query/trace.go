package query

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
)

// Span is a completed part of an execution's trace: the execution itself or an attempt. Its
// id is derived from its name, so that a running task knows it.
type Span struct {
	ID         [8]byte
	Parent     [8]byte // zero is the span that launched the execution
	Name       string
	Start, End time.Time
	Failed     string // the reason; "" when it did not fail
	Attributes map[string]string
}

// maxSpans limits the attempts in a trace.
const maxSpans = 2000

// TaskID identifies an attempt: "<execution>.<node index>.<attempt>".
func TaskID(execution uuid.UUID, node, attempt int) string {
	return fmt.Sprintf("%s.%d.%d", execution, node, attempt)
}

func spanID(of string) (id [8]byte) {
	sum := sha256.Sum256([]byte(of))
	copy(id[:], sum[:])
	return id
}

// TraceID is the id of the execution's trace; "" when it is not traced.
func (e Execution) TraceID() string {
	if parts := strings.Split(e.Traceparent, "-"); len(parts) == 4 {
		return parts[1]
	}
	return ""
}

// Traceparent is the W3C trace context of an attempt in the trace of parent.
func Traceparent(parent, task string) string {
	parts := strings.Split(parent, "-")
	if len(parts) != 4 {
		return ""
	}
	id := spanID(task)
	parts[2] = hex.EncodeToString(id[:])
	return strings.Join(parts, "-")
}

// Spans returns the execution and its first 2,000 attempts. The execution must have ended.
func (q *Reader) Spans(ctx context.Context, e Execution) ([]Span, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, e.ProjectID, Absent(e.ID)); err != nil {
		return nil, err
	}
	if e.FinishedAt == nil {
		return nil, nil
	}
	whole := Span{
		ID: spanID(e.ID.String()), Name: "execution " + e.WorkflowName, Start: e.CreatedAt, End: *e.FinishedAt,
		Attributes: map[string]string{
			"flowforge.execution_id": e.ID.String(), "flowforge.workflow": e.WorkflowName, "flowforge.version": e.Version,
			"flowforge.project_id": e.ProjectID.String(), "flowforge.tenant_id": e.TenantID.String(), "flowforge.state": string(e.Status),
		},
	}
	if e.Status == Failed {
		whole.Failed = "The execution failed."
		if e.Error != nil {
			whole.Failed = e.Error.Message
		}
	}
	rows, err := q.queries.AttemptSpans(ctx, e.ID, maxSpans)
	if err != nil {
		return nil, fmt.Errorf("attempts of %s: %w", e.ID, err)
	}
	spans := []Span{whole}
	for _, r := range rows {
		task := TaskID(e.ID, int(r.NodeIndex), int(r.Attempt))
		span := Span{
			ID: spanID(task), Parent: whole.ID, Name: "node " + r.Name, Start: r.QueuedAt, End: *r.FinishedAt,
			Attributes: map[string]string{
				"flowforge.task_id": task, "flowforge.node": r.Name, "flowforge.attempt": fmt.Sprint(r.Attempt), "flowforge.outcome": r.Outcome,
				"flowforge.class": r.Class, "k8s.namespace.name": r.Namespace, "k8s.pod.name": r.Pod, "k8s.node.name": r.Machine, "host.name": r.Host,
			},
		}
		if r.StartedAt != nil {
			span.Attributes["flowforge.started_at"] = r.StartedAt.UTC().Format(time.RFC3339Nano)
		}
		for name, value := range span.Attributes {
			if value == "" {
				delete(span.Attributes, name)
			}
		}
		if r.Outcome != "SUCCEEDED" {
			span.Failed = r.Outcome + ": " + r.Message
		}
		spans = append(spans, span)
	}
	return spans, nil
}
