package execution

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/artifact"
	"github.com/flowforge/flowforge/typeregistry"
)

// SecretsDir is the folder below Config.DataDir in which each file is a secret:
// its name is the secret's, its content the value. An administrator puts them there.
const SecretsDir = "secrets.d"

// maxSecret bounds the bytes of one secret.
const maxSecret = 64 << 10

// blobPrefix marks a reference to bytes in the store.
const blobPrefix = "sha256:"

// References returns what says whether the caller of ctx may launch with a
// reference of a kind: an artifact of that kind, bytes in the store
// ("sha256:<hex>"), a secret of this server, or an entry of the catalogue. It is
// the Exists of a typeregistry.Env.
func (s *Service) References(ctx context.Context) func(typeregistry.Kind, string) bool {
	return func(kind typeregistry.Kind, ref string) bool {
		if kind == typeregistry.KindSecret {
			_, err := s.secret(ref)
			return err == nil
		}
		if hash, ok := strings.CutPrefix(ref, blobPrefix); ok {
			_, err := s.artifacts.Store().Stat(hash)
			return err == nil
		}
		if id, err := uuid.Parse(ref); err == nil {
			a, err := s.artifacts.Get(ctx, id)
			return err == nil && servesAs(a, kind)
		}
		return s.config.Catalogue != nil && s.config.Catalogue.Exists(ctx, kind, ref)
	}
}

// servesAs reports whether an artifact may stand for a value of kind: one of the
// same kind, or any single file for a File.
func servesAs(a artifact.Artifact, kind typeregistry.Kind) bool {
	return a.Kind == string(kind) || kind == typeregistry.KindFile && a.MediaType != artifact.DirectoryMediaType
}

var secretName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

// secret reads the value of a secret. It goes to the task that asks for it and
// nowhere else: not into a row, not into a log.
func (s *Service) secret(name string) (string, error) {
	if s.config.DataDir == "" || !secretName.MatchString(name) {
		return "", apperr.New(apperr.NotFound, "There is no secret called %q.", name)
	}
	path := filepath.Join(s.config.DataDir, SecretsDir, name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", apperr.New(apperr.NotFound, "There is no secret called %q.", name)
	}
	if err != nil {
		return "", err
	}
	if info.Size() > maxSecret {
		return "", apperr.New(apperr.Invalid, "The secret %q is larger than %d KiB.", name, maxSecret>>10)
	}
	value, err := os.ReadFile(path)
	return strings.TrimSuffix(string(value), "\n"), err
}
