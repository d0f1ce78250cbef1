package execution

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/typeregistry"
)

// blobPrefix marks a reference to bytes in the store.
const blobPrefix = "sha256:"

// References returns a function that reports whether the caller of ctx may launch in the
// current project with a reference of a kind: an artifact of that kind, bytes
// ("sha256:<hex>"), an entry of the catalogue, all of that project, a secret or a
// connection. It is the Exists of a typeregistry.Env.
func (s *LaunchService) References(ctx context.Context) func(typeregistry.Kind, string) bool {
	return func(kind typeregistry.Kind, ref string) bool {
		exists, err := s.exists(ctx, kind, ref)
		return exists && err == nil
	}
}

// exists is References with the error of a lookup that failed, and so does not tell whether the
// reference exists.
func (s *LaunchService) exists(ctx context.Context, kind typeregistry.Kind, ref string) (bool, error) {
	subject, _ := auth.SubjectOf(ctx)
	switch kind {
	case typeregistry.KindSecret:
		return s.secretExists(ctx, ref)
	case typeregistry.KindConnection:
		of, name, _ := strings.Cut(ref, ":") // typeregistry.ConnectionRef
		if s.config.Connections == nil {
			return false, nil
		}
		return s.config.Connections.Exists(ctx, of, name)
	default:
	}
	if hash, ok := strings.CutPrefix(ref, blobPrefix); ok {
		mediaType := ""
		if kind == typeregistry.KindDirectory {
			mediaType = artifact.DirectoryMediaType
		}
		_, err := s.artifacts.Blob(ctx, subject.ProjectID, hash, mediaType)
		return err == nil, onlyUnreadable(err)
	}
	if id, err := uuid.Parse(ref); err == nil {
		a, err := s.artifacts.Get(ctx, id)
		return err == nil && a.ProjectID == subject.ProjectID && servesAs(a, kind), onlyUnreadable(err)
	}
	if s.config.Catalogue == nil {
		return false, nil
	}
	return s.config.Catalogue.Exists(ctx, kind, ref)
}

func (s *LaunchService) secretExists(ctx context.Context, name string) (bool, error) {
	if s.config.Secrets == nil {
		return false, nil
	}
	return s.config.Secrets.Exists(ctx, name)
}

// onlyUnreadable returns err if the read may succeed later, and nil if it was refused.
func onlyUnreadable(err error) error {
	if err = unlessRefused(err); isUnreadable(err) {
		return err
	}
	return nil
}

// Env returns the environment of checks of inputs for a launch by the caller of ctx.
func (s *LaunchService) Env(ctx context.Context) typeregistry.Env {
	env := typeregistry.Env{Now: s.now(), Exists: s.References(ctx), Head: s.artifacts.Head}
	if s.config.Offers != nil {
		env.Offers = s.config.Offers(ctx)
	}
	return env
}

// servesAs reports whether an artifact is a valid value of kind: an artifact of the same
// kind, or any single file for a File.
func servesAs(a artifact.Artifact, kind typeregistry.Kind) bool {
	return a.Kind == string(kind) || kind == typeregistry.KindFile && a.MediaType != artifact.DirectoryMediaType
}
