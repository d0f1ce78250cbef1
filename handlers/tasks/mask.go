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

// GetSecrets returns the values of the secrets of an attempt to its runner while the attempt is
// alive.
func (t *API) GetSecrets(ctx context.Context, req *connect.Request[flowforgev1.GetSecretsRequest]) (*connect.Response[flowforgev1.GetSecretsResponse], error) {
	ctx, scope, err := t.task(ctx, req.Header(), req.Msg.TaskId, "")
	if err != nil {
		return nil, err
	}
	values, err := t.Executions.Secrets.OfAttempt(ctx, req.Msg.Grants)
	if err != nil {
		return nil, err
	}
	t.masks.add(scope, values)
	return connect.NewResponse(&flowforgev1.GetSecretsResponse{Values: values}), nil
}

// SignBucketRequests signs requests for the buckets of an attempt.
func (t *API) SignBucketRequests(ctx context.Context, req *connect.Request[flowforgev1.SignBucketRequestsRequest]) (*connect.Response[flowforgev1.SignBucketRequestsResponse], error) {
	ctx, _, err := t.task(ctx, req.Header(), req.Msg.TaskId, "")
	if err != nil {
		return nil, err
	}
	signed, err := t.Executions.Tasks.SignBucketRequests(ctx, req.Msg)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(signed), nil
}

const (
	// maskAge is the maximum age of the cached values of an execution. Another server can replace a
	// secret while it runs.
	maskAge = time.Minute
	// maxMasks is the maximum number of executions with a cached masker.
	maxMasks = 5000
)

// masks caches the maskers of executions. Runners mask the output of their attempts. masks is
// for data that tasks send themselves, and for values that a runner did not know.
type masks struct {
	secrets *execution.SecretService
	now     func() time.Time

	mu    sync.Mutex
	known map[uuid.UUID]*knownMask
}

// knownMask is the masker of one execution. Values are only added, because an old value remains
// a secret.
type knownMask struct {
	names  []string
	values []string
	masker *masking.Masker
	read   time.Time // when the values of names were read; zero: never
}

func newMasks(secrets *execution.SecretService, now func() time.Time) *masks {
	return &masks{secrets: secrets, now: now, known: map[uuid.UUID]*knownMask{}}
}

// add adds the values that an attempt received.
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

// keep requires the lock.
func (m *masks) keep(id uuid.UUID, k *knownMask) {
	if len(m.known) >= maxMasks {
		clear(m.known)
	}
	m.known[id] = k
}

// of returns the masker of the execution of scope. It fails if it cannot read a stored value, so
// that no value passes unmasked. It uses the last values of secret stores that do not respond.
func (m *masks) of(ctx context.Context, scope auth.TaskScope) (*masking.Masker, error) {
	m.mu.Lock()
	k := m.known[scope.ExecutionID]
	if k != nil && !k.read.IsZero() && (len(k.names) == 0 || m.now().Sub(k.read) < maskAge) {
		defer m.mu.Unlock()
		return k.masker, nil
	}
	m.mu.Unlock()
	ctx = auth.AsSystem(ctx)
	names, err := m.secrets.Names(ctx, scope.ExecutionID)
	if err != nil {
		return nil, err
	}
	values, err := m.secrets.Values(ctx, scope.ProjectID, names)
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

// maskTelemetry removes secrets from the logs and metrics of an attempt.
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

// maskEnds removes secrets from the ends among the reports. It leaves reports with an invalid
// token unchanged, because they are rejected later.
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
			continue // the execution does not exist: the report is rejected
		}
		if err != nil {
			return err
		}
		finished.Message, finished.Traceback = masker.Text(finished.Message), masker.Text(finished.Traceback)
		for _, o := range finished.Outputs {
			o.Filename = masker.Text(o.Filename)
			if value, ok := o.Content.(*flowforgev1.Output_Value); ok {
				value.Value = masker.Text(value.Value)
			}
		}
	}
	return nil
}
