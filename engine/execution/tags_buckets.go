package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/workflow"
)

// bucketLink replaces a bucket object in the value of an input of node i by a link that the
// runner can fetch: the credentials stay in the server. Only the definition may name
// secrets, so objects from other values are unchanged.
func (l *loop) bucketLink(ctx context.Context, input workflow.Input, value any) (any, error) {
	fields, _ := value.(map[string]any)
	object, ok := fields[workflow.RawS3].(map[string]any)
	written, _ := input.Source.Tagged.Value.(map[string]any)
	if _, own := written[workflow.RawS3]; !ok || !own {
		return value, nil
	}
	text := func(name string) string { s, _ := object[name].(string); return s }
	o := artifact.BucketObject{
		Bucket: text("bucket"), Key: text("key"), Endpoint: text("endpoint"), Region: text("region"), Insecure: text("insecure") != "",
	}
	var used []string
	for _, credential := range []struct {
		field string
		into  *string
	}{{"accessKeySecret", &o.AccessKey}, {"secretKeySecret", &o.SecretKey}, {"sessionTokenSecret", &o.SessionToken}} {
		name := text(credential.field)
		if name == "" {
			continue
		}
		secret, err := l.bucketSecret(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", input.Name, err)
		}
		*credential.into, used = secret, append(used, name)
	}
	if len(used) > 0 {
		slices.Sort(used)
		if err := l.service.config.Secrets.NoteUse(auth.AsSystem(ctx), l.row.ProjectID, l.row.WorkflowName, l.id, slices.Compact(used)); err != nil {
			return nil, &readError{err}
		}
	}
	link, err := o.Link(ctx)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", input.Name, err)
	}
	return map[string]any{workflow.RawURL: link}, nil
}

// bucketSecret returns the value of a secret of the project.
func (l *loop) bucketSecret(ctx context.Context, name string) (string, error) {
	missing := apperr.New(apperr.NotFound, "The project has no secret %q for the bucket; create it under Secrets", name)
	if l.service.config.Secrets == nil {
		return "", missing
	}
	value, err := l.service.config.Secrets.Reveal(auth.AsSystem(ctx), l.row.ProjectID, name)
	if apperr.Is(err, apperr.NotFound) {
		return "", missing
	}
	return value, err
}
