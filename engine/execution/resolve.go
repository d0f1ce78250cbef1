package execution

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/typeregistry"
)

// resolver turns references inside input values into files for the runner, and records each
// by its JSON pointer. Values may come from tasks, so it follows no reference out of the
// execution's project.
type resolver struct {
	core    *core
	project uuid.UUID
	files   *[]*flowforgev1.InputFile
	secrets *[]*flowforgev1.InputSecret
	// origins records the artifacts of files; nil when not needed.
	origins map[*flowforgev1.InputFile]*artifact.Artifact
	// grant returns the right of the attempt to a secret; nil where no value may name one.
	grant func(name string) *flowforgev1.SecretGrant
	// noteUse records that the attempt receives a connection; set with grant.
	noteUse func(ctx context.Context, name string) error
}

// escapePointer escapes one token of a JSON pointer (RFC 6901).
func escapePointer(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// resolve walks value and returns it with marks at which the runner inserts the paths of
// files and the values of secrets.
func (r *resolver) resolve(ctx context.Context, value any, input, pointer string, kind typeregistry.Kind) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		if name, ok := v["$secret"].(string); ok && r.grant != nil {
			if _, _, is := connectionField(name); is {
				return nil, fmt.Errorf("%q is not the name of a secret", name)
			}
			*r.secrets = append(*r.secrets, &flowforgev1.InputSecret{Grant: r.grant(name), Pointer: pointer})
			return v, nil
		}
		if name, ok := v["$connection"].(string); ok && r.grant != nil {
			return r.connection(ctx, name, pointer)
		}
		blob, origin, ok, err := r.blob(ctx, v, kind)
		if err != nil {
			return nil, err
		}
		if ok {
			file := &flowforgev1.InputFile{
				Input: input, Sha256: blob.SHA256, Size: blob.Size, MediaType: blob.MediaType, Filename: blob.Filename, Pointer: pointer,
			}
			*r.files = append(*r.files, file)
			if r.origins != nil && origin != nil {
				r.origins[file] = origin
			}
			return map[string]any{"$blob": blob.SHA256}, nil
		}
		out := make(map[string]any, len(v))
		for key, item := range v {
			resolved, err := r.resolve(ctx, item, input, pointer+"/"+escapePointer(key), kind)
			if err != nil {
				return nil, err
			}
			out[key] = resolved
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			resolved, err := r.resolve(ctx, item, input, pointer+"/"+strconv.Itoa(i), kind)
			if err != nil {
				return nil, err
			}
			out[i] = resolved
		}
		return out, nil
	}
	return value, nil
}

// blob returns the bytes of a reference, and the artifact if it names one; false for an
// object that is not a reference to bytes. ctx acts for the engine in the execution's
// project.
func (r *resolver) blob(ctx context.Context, v map[string]any, kind typeregistry.Kind) (BlobRef, *artifact.Artifact, bool, error) {
	if ref, ok := v["$artifact"].(string); ok {
		id, err := uuid.Parse(ref)
		if err != nil {
			return BlobRef{}, nil, false, fmt.Errorf("%q is not an artifact ID", ref)
		}
		a, err := r.core.artifacts.Get(ctx, id)
		if err == nil && a.ProjectID != r.project {
			err = apperr.New(apperr.NotFound, "There is no artifact %s.", id)
		}
		if err != nil {
			return BlobRef{}, nil, false, unlessRefused(fmt.Errorf("artifact %s: %w", id, err))
		}
		return BlobRef{SHA256: a.SHA256, Size: a.Size, MediaType: a.MediaType, Filename: a.Filename}, &a, true, nil
	}
	if hash, ok := v["$file"].(string); ok {
		blob := BlobRef{SHA256: hash}
		blob.Filename, _ = v["name"].(string)
		blob.MediaType, _ = v["media_type"].(string)
		stored, err := r.core.artifacts.Blob(ctx, r.project, hash, blob.MediaType)
		blob.Size = stored.Size
		return blob, nil, err == nil, unlessRefused(err)
	}
	if ref, ok := v["$catalogue"].(string); ok && r.core.config.Catalogue != nil {
		blob, err := r.core.config.Catalogue.Blob(ctx, kind, ref)
		if err != nil {
			return BlobRef{}, nil, false, unlessRefused(fmt.Errorf("%s %q: %w", kind, ref, err))
		}
		_, err = r.core.artifacts.Blob(ctx, r.project, blob.SHA256, blob.MediaType)
		return blob, nil, err == nil, unlessRefused(err)
	}
	return BlobRef{}, nil, false, nil
}
