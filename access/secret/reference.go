package secret

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Reference says where a secret store has the value of a secret.
type Reference struct {
	Store   string // name of a registered store
	Path    string
	Key     string // member of a JSON object, or of a secret of Vault; "": the whole value
	Version string // "": the newest
}

// Place is the place in the store, for people.
func (r Reference) Place() string {
	text := "the path " + r.Path
	if r.Key != "" {
		text += ", key " + r.Key
	}
	if r.Version != "" {
		text += ", version " + r.Version
	}
	return text
}

// Limits of references, in bytes.
const (
	MaxPath    = 500
	MaxKey     = 200
	MaxVersion = 100
)

// Check returns the invalid parts of r. Their paths are those of fields of a secret.
func (r Reference) Check() []apperr.Field {
	var fields []apperr.Field
	add := func(path, message string) { fields = append(fields, apperr.Field{Path: path, Message: message}) }
	if !ValidName(r.Store) {
		add("store", "Choose a secret store.")
	}
	switch {
	case r.Path == "":
		add("path", "Enter the path.")
	case utf8.RuneCountInString(r.Path) > MaxPath || !validPath(r.Path):
		add("path", fmt.Sprintf("Use at most %d characters: parts with letters, digits, and “/” between them. Parts cannot be “.” or “..”.", MaxPath))
	}
	if utf8.RuneCountInString(r.Key) > MaxKey || unprintable(r.Key) {
		add("key", fmt.Sprintf("Use at most %d printable characters.", MaxKey))
	}
	if utf8.RuneCountInString(r.Version) > MaxVersion || unprintable(r.Version) {
		add("version", fmt.Sprintf("Use at most %d printable characters.", MaxVersion))
	}
	return fields
}

func validPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return !unprintable(path) && !strings.ContainsAny(path, `\?#%*`)
}

func unprintable(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Stores are the registered secret stores.
type Stores interface {
	// Check returns why a project may not have a reference: Invalid with fields.
	Check(ctx context.Context, p Owner, r Reference) error
	// Read returns the value of a reference of a project. A value may be as old as maxAge. Errors:
	// Unavailable when the store does not respond, Conflict when it has no value for the project.
	Read(ctx context.Context, p Owner, r Reference, maxAge time.Duration) (string, error)
	// Last returns the value that this process read last, "" if it read none.
	Last(r Reference) string
}

const (
	// recently is the maximum age of values for what is not an attempt, such as webhooks: many
	// requests must not become as many requests to a store.
	recently = 10 * time.Second
	// maskAge is the maximum age of values that are only masked.
	maskAge = time.Minute
)

// WithStores returns s with secrets that refer to stores.
func (s *Service) WithStores(stores Stores) *Service {
	with := *s
	with.stores = stores
	return &with
}

func referenceOf(row db.Secret) *Reference {
	if row.Store == nil {
		return nil
	}
	return &Reference{Store: *row.Store, Path: *row.StorePath, Key: *row.StoreKey, Version: *row.StoreVersion}
}

// resolve reads the value of a reference.
func (s *Service) resolve(ctx context.Context, project uuid.UUID, name string, ref Reference, maxAge time.Duration) (string, error) {
	place, err := s.owner(ctx, project)
	if err != nil {
		return "", err
	}
	if s.stores == nil {
		return "", apperr.New(apperr.Unavailable, "The secret %q refers to the secret store %q, which this server does not have.", name, ref.Store)
	}
	value, err := s.stores.Read(ctx, place, ref, maxAge)
	if err == nil {
		return value, nil
	}
	if code := apperr.CodeOf(err); code != apperr.Internal {
		return "", apperr.Wrap(code, err, fmt.Sprintf("The secret %q has no value. %s", name, apperr.MessageOf(err)))
	}
	return "", fmt.Errorf("secret %s: %w", name, err)
}

// RevealNow is Reveal with the value that a secret store has at this moment, so that an attempt
// receives a value that was rotated before it started.
func (s *Service) RevealNow(ctx context.Context, project uuid.UUID, name string) (string, error) {
	if err := engineOnly(ctx); err != nil {
		return "", err
	}
	return s.value(ctx, project, name, 0)
}

// RevealForMasking is Reveal for values that are removed from text. When a store does not return a
// value, it returns the last one that this process read, and apperr.NotFound if it read none: an
// attempt that has the value masks it, too, and reports of tasks must not wait for the store.
func (s *Service) RevealForMasking(ctx context.Context, project uuid.UUID, name string) (string, error) {
	if err := engineOnly(ctx); err != nil {
		return "", err
	}
	row, err := s.queries.GetSecret(ctx, project, name)
	if err != nil || row.Store == nil {
		return s.value(ctx, project, name, maskAge)
	}
	ref := *referenceOf(row)
	value, err := s.resolve(ctx, project, name, ref, maskAge)
	if err == nil || s.stores == nil {
		return value, err
	}
	if value = s.stores.Last(ref); value != "" {
		return value, nil
	}
	return "", apperr.Wrap(apperr.NotFound, err, apperr.MessageOf(err))
}

// Has reports whether a project has a secret, without reading its value. It is for the engine.
func (s *Service) Has(ctx context.Context, project uuid.UUID, name string) (bool, error) {
	if err := engineOnly(ctx); err != nil {
		return false, err
	}
	if row, err := s.queries.GetSecret(ctx, project, name); err == nil && row.Store != nil {
		return true, nil
	}
	_, err := s.value(ctx, project, name, recently)
	if apperr.Is(err, apperr.NotFound) {
		return false, nil
	}
	return err == nil, err
}

func engineOnly(ctx context.Context) error {
	if subject, ok := auth.SubjectOf(ctx); !ok || subject.Role != auth.RoleSystem {
		return apperr.New(apperr.Forbidden, "Only tasks can read values of secrets.")
	}
	return nil
}
