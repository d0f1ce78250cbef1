package tasks

import (
	"context"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/masking"
	"github.com/flowforge/flowforge/engine/execution"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// GetSecrets gives a runner the values of the secrets that its attempt was
// granted, while the attempt is alive.
func (t *API) GetSecrets(ctx context.Context, req *connect.Request[flowforgev1.GetSecretsRequest]) (*connect.Response[flowforgev1.GetSecretsResponse], error) {
	ctx, scope, err := t.task(ctx, req.Header(), req.Msg.TaskId, "")
	if err != nil {
		return nil, err
	}
	values, err := t.Executions.Secrets(ctx, req.Msg.Grants)
	if err != nil {
		return nil, err
	}
	t.masks.add(scope, values)
	return connect.NewResponse(&flowforgev1.GetSecretsResponse{Values: values}), nil
}

const (
	// maskAge is how old the values of an execution may be: a secret may be
	// replaced while it runs, by another server as well.
	maskAge = time.Minute
	// maxMasks bounds the executions whose maskers are kept.
	maxMasks = 5000
)

// masks keeps the maskers of executions. Runners mask what their attempts print;
// this is for what tasks send themselves, and for what a runner did not know.
type masks struct {
	executions *execution.Service
	now        func() time.Time

	mu    sync.Mutex
	known map[uuid.UUID]*knownMask
}

// knownMask is the masker of one execution. Values only come to it: an old value
// stays a secret.
type knownMask struct {
	names  []string
	values []string
	masker *masking.Masker
	read   time.Time // when the values of names were read; zero: never
}

func newMasks(executions *execution.Service, now func() time.Time) *masks {
	return &masks{executions: executions, now: now, known: map[uuid.UUID]*knownMask{}}
}

// add takes in values that were just given to an attempt.
func (m *masks) add(scope auth.TaskScope, values []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.known[scope.ExecutionID]
	if k == nil {
		k = &knownMask{}
		m.keep(scope.ExecutionID, k)
	}
	k.take(values)
}

func (k *knownMask) take(values []string) {
	fresh := slices.Clone(k.values)
	for _, value := range values {
		if !slices.Contains(fresh, value) {
			fresh = append(fresh, value)
		}
	}
	if len(fresh) > len(k.values) || k.masker == nil {
		k.values, k.masker = fresh, masking.New(fresh...)
	}
}

// keep is called with the lock held.
func (m *masks) keep(id uuid.UUID, k *knownMask) {
	if len(m.known) >= maxMasks {
		clear(m.known)
	}
	m.known[id] = k
}

// of returns the masker of the execution of scope. It fails rather than let a
// value pass that it could not read.
func (m *masks) of(ctx context.Context, scope auth.TaskScope) (*masking.Masker, error) {
	m.mu.Lock()
	k := m.known[scope.ExecutionID]
	if k != nil && !k.read.IsZero() && (len(k.names) == 0 || m.now().Sub(k.read) < maskAge) {
		defer m.mu.Unlock()
		return k.masker, nil
	}
	m.mu.Unlock()
	ctx = auth.AsSystem(ctx)
	names, err := m.executions.SecretNames(ctx, scope.ExecutionID)
	if err != nil {
		return nil, err
	}
	values, err := m.executions.SecretValues(ctx, scope.ProjectID, names)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if k = m.known[scope.ExecutionID]; k == nil {
		k = &knownMask{}
		m.keep(scope.ExecutionID, k)
	}
	k.names, k.read = names, m.now()
	k.take(values)
	return k.masker, nil
}

// maskTelemetry takes secrets out of what an attempt logs and measures.
func maskTelemetry(m *masking.Masker, t *flowforgev1.Telemetry) {
	if m.Empty() {
		return
	}
	for _, entry := range t.GetLogs() {
		entry.Message, entry.Extra = m.Text(entry.Message), m.Text(entry.Extra)
	}
	for _, point := range t.GetMetrics() {
		point.Name = m.Text(point.Name)
		for name, value := range point.Tags {
			point.Tags[name] = m.Text(value)
		}
	}
}

// maskEnds takes secrets out of the ends among the reports. Reports whose token
// is not good stay as they are: nobody takes them.
func (t *API) maskEnds(ctx context.Context, reports []*flowforgev1.AttemptReport) error {
	for _, report := range reports {
		finished := report.GetFinished()
		if finished == nil {
			continue
		}
		scope, err := t.Signer.Verify(report.GetToken(), t.Now())
		if err != nil {
			continue
		}
		masker, err := t.masks.of(ctx, scope)
		if permanent(err) {
			continue // there is no such execution: the report is not taken
		}
		if err != nil {
			return err
		}
		finished.Message = masker.Text(finished.Message)
		for _, o := range finished.Outputs {
			o.Filename = masker.Text(o.Filename)
			if value, ok := o.Content.(*flowforgev1.Output_Value); ok {
				value.Value = masker.Text(value.Value)
			}
		}
	}
	return nil
}
