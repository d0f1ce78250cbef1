package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// maxSigned is the maximum number of requests that one call signs.
const maxSigned = 1000

// bucketOfInput returns the place of an input of node i in a bucket; nil for any other value.
// Only the definition may name secrets, so an object that it does not contain is not a place.
func (as *attemptSpecs) bucketOfInput(i int, input workflow.Input, value any) map[string]any {
	fields, _ := value.(map[string]any)
	place, ok := fields[workflow.RawBucket].(map[string]any)
	for ok {
		tagged := input.Source.Tagged
		if written, _ := tagged.Value.(map[string]any); written[workflow.RawBucket] != nil {
			return place
		}
		// The enclosing graph may pass on its own input.
		text, _ := tagged.Value.(string)
		name, passedOn := strings.CutPrefix(text, "inputs.")
		if i = as.loop.progress.Parent(as.loop.home(i)); i == dag.NoNode || !passedOn || tagged.As != workflow.TaggedName {
			return nil
		}
		inputs := as.loop.operator(i).Inputs
		k := slices.IndexFunc(inputs, func(in workflow.Input) bool { return in.Name == name })
		if ok = k >= 0; ok {
			input = inputs[k]
		}
	}
	return nil
}

// checkBuckets checks before an attempt starts that the buckets of its inputs and outputs can
// be used, and records the use of their secrets. op has no tags.
func (as *attemptSpecs) checkBuckets(ctx context.Context, op *workflow.Operator, in *attemptInputs) error {
	places := map[string]map[string]any{}
	for name, place := range in.buckets {
		places["input "+name] = place
	}
	for _, o := range op.Outputs {
		if o.Bucket == nil {
			continue
		}
		places["output "+o.Name] = o.Bucket
		if key := textOf(o.Bucket["key"]); strings.HasSuffix(key, "/") && o.Archive.Format != workflow.ArchiveNone {
			return fmt.Errorf("output %s: its key %q is a folder, but the output is uploaded as an archive; name one object, or set archive to none: {}", o.Name, key)
		}
	}
	var used []string
	for _, name := range slices.Sorted(maps.Keys(places)) {
		place := places[name]
		at, err := as.location(ctx, place)
		if err == nil {
			err = at.Check(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		used = append(used, credentialsOf(place)...)
	}
	if len(used) == 0 {
		return nil
	}
	slices.Sort(used)
	if err := as.loop.driver.config.Secrets.NoteUse(auth.AsSystem(ctx), as.loop.row.ProjectID, as.loop.row.WorkflowName, as.loop.id, slices.Compact(used)); err != nil {
		return &readError{err}
	}
	return nil
}

// SignBucketRequests signs requests for the bucket of an input or an output of the calling
// task. It returns NotFound for one without a bucket, and Unauthenticated when the attempt
// has ended.
func (s *TaskService) SignBucketRequests(ctx context.Context, m *flowforgev1.SignBucketRequestsRequest) (*flowforgev1.SignBucketRequestsResponse, error) {
	if err := s.supervisor.Alive(ctx); err != nil {
		return nil, err
	}
	scope, err := scopeOf(ctx)
	if err != nil {
		return nil, err
	}
	if len(m.GetNames()) > maxSigned {
		return nil, apperr.New(apperr.Invalid, "At most %d requests can be signed at the same time.", maxSigned)
	}
	switch {
	case (m.GetInput() == "") == (m.GetOutput() == ""):
		return nil, apperr.New(apperr.Invalid, "Specify an input or an output.")
	case m.GetOutput() != "" && len(m.GetNames()) == 0:
		return nil, apperr.New(apperr.Invalid, "Specify the objects of the output.")
	}
	at, err := s.bucketOfTask(ctx, scope, m.GetInput(), m.GetOutput())
	if err != nil {
		return nil, err
	}
	if at.Web.URL != "" && len(m.GetNames()) > 1 {
		return nil, apperr.New(apperr.Invalid, "An HTTP location has only one object.")
	}
	out := &flowforgev1.SignBucketRequestsResponse{
		ListFormat: string(at.ListFormat()), Prefix: at.Prefix(), MaxBytes: at.MaxBytes(), Location: at.String(),
	}
	add := func(r bucket.Request, err error) error {
		out.Requests = append(out.Requests, &flowforgev1.SignedRequest{
			Method: r.Method, Url: r.URL, Headers: r.Header, ClientCertificate: r.Certificate, ClientKey: r.Key,
		})
		return err
	}
	if len(m.GetNames()) == 0 {
		return out, add(at.List(ctx, m.GetMarker()))
	}
	for _, name := range m.GetNames() {
		sign := at.Get
		if m.GetOutput() != "" {
			sign = at.Put
		}
		if err := add(sign(ctx, name)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bucketOfTask returns the place of an input or output of a task; one of the names is "".
func (s *TaskService) bucketOfTask(ctx context.Context, scope auth.TaskScope, input, output string) (bucket.Location, error) {
	row, version, err := s.snapshots.taskVersion(ctx, scope)
	if err != nil {
		return bucket.Location{}, err
	}
	ctx = auth.AsSystemIn(ctx, row.TenantID, row.ProjectID)
	view, err := s.snapshots.viewOfAttempt(ctx, row, version, scope) // keys may contain the number of the retry
	if err != nil {
		return bucket.Location{}, err
	}
	view.Lock()
	defer view.Unlock()
	l, i := view.loop, scope.NodeIndex
	values, err := l.values.boundInputs(ctx, i)
	if err != nil {
		return bucket.Location{}, err
	}
	for _, in := range l.operator(i).Inputs {
		if place := l.specs.bucketOfInput(i, in, values[in.Name]); place != nil && input != "" && in.Name == input {
			return l.specs.location(ctx, place)
		}
	}
	for _, o := range l.operator(i).Outputs {
		if o.Bucket == nil || output == "" || o.Name != output {
			continue
		}
		place, err := l.values.within(ctx, i, values).render(o.Bucket, true)
		if err != nil {
			return bucket.Location{}, err
		}
		fields, _ := place.(map[string]any)
		return l.specs.location(ctx, fields)
	}
	return bucket.Location{}, apperr.New(apperr.NotFound, "The task has no input or output %q in a bucket.", input+output)
}
