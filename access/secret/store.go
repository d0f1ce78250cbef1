package secret

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// List returns the secrets of the subject's current project by name: its own, and those of providers.
func (s *Service) List(ctx context.Context) ([]Secret, error) {
	subject, err := auth.Authorize(ctx, auth.SecretRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListSecrets(ctx, subject.ProjectID, MaxPerProject)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	list := make([]Secret, 0, len(rows))
	for _, row := range rows {
		list = append(list, fromRow(row))
	}
	place, err := s.owner(ctx, subject.ProjectID)
	if err != nil {
		return nil, err
	}
	for _, provider := range s.providers {
		names, err := provider.Names(ctx, place)
		if err != nil {
			return nil, apperr.Wrap(apperr.Unavailable, err, "The secrets of "+provider.Label()+" cannot be listed.")
		}
		for _, name := range names {
			if !slices.ContainsFunc(list, func(have Secret) bool { return have.Name == name }) {
				list = append(list, Secret{Name: name, Source: provider.Label()})
			}
		}
	}
	slices.SortFunc(list, func(a, b Secret) int { return strings.Compare(a.Name, b.Name) })
	return list, s.addUses(ctx, subject.ProjectID, list)
}

// maxUses is the maximum number of uses read for one list.
const maxUses = 5000

func (s *Service) addUses(ctx context.Context, project uuid.UUID, list []Secret) error {
	rows, err := s.queries.ListSecretUses(ctx, project, maxUses)
	if err != nil {
		return fmt.Errorf("list the uses of secrets: %w", err)
	}
	for _, row := range rows {
		i := slices.IndexFunc(list, func(have Secret) bool { return have.Name == row.Name })
		if i >= 0 {
			list[i].Uses = append(list[i].Uses, Use{Workflow: row.Workflow, ExecutionID: row.ExecutionID, At: row.UsedAt})
		}
	}
	return nil
}

// Get returns a secret of the subject's current project, or apperr.NotFound.
func (s *Service) Get(ctx context.Context, name string) (Secret, error) {
	list, err := s.List(ctx) // authorises
	if err != nil {
		return Secret{}, err
	}
	i := slices.IndexFunc(list, func(have Secret) bool { return have.Name == name })
	if i < 0 {
		return Secret{}, absent(name)
	}
	return list[i], nil
}

// Edit is a secret to store: a value, or a reference to one. Create rejects a name that exists.
type Edit struct {
	Name        string
	Value       string
	Reference   *Reference
	Description string
	Create      bool
}

// check returns the invalid fields of e, without the value.
func (e Edit) check() error {
	var fields []apperr.Field
	add := func(path, message string) { fields = append(fields, apperr.Field{Path: path, Message: message}) }
	if !ValidName(e.Name) {
		add("name", `Use 1 to 100 letters, digits, ".", "_" and "-"; start with a letter, a digit or "_".`)
	}
	switch {
	case e.Reference != nil && e.Value != "":
		add("value", "Enter either a value or a reference to a secret store.")
	case e.Reference != nil:
		fields = append(fields, e.Reference.Check()...)
	case e.Value == "":
		add("value", "Enter the value.")
	case len(e.Value) > MaxValue:
		add("value", fmt.Sprintf("The value exceeds %d KiB.", MaxValue>>10))
	case !utf8.ValidString(e.Value) || strings.Contains(e.Value, "\x00"):
		add("value", "The value must be text. Encode bytes as base64.")
	case utf8.RuneCountInString(e.Value) < MinValue:
		add("value", fmt.Sprintf("Use at least %d characters. Shorter values cannot be masked in logs.", MinValue))
	}
	if utf8.RuneCountInString(e.Description) > MaxDescription {
		add("description", fmt.Sprintf("At most %d characters.", MaxDescription))
	}
	return apperr.InvalidFields("The secret has invalid values.", fields)
}

// Put stores a secret in the subject's current project; it replaces an older value
// unless e.Create. It returns Invalid with fields, and Conflict for a name that exists.
// The audit log names the secret and never its value.
func (s *Service) Put(ctx context.Context, e Edit) (Secret, error) {
	subject, err := auth.Authorize(ctx, auth.SecretWrite)
	if err != nil {
		return Secret{}, err
	}
	if err := e.check(); err != nil {
		return Secret{}, err
	}
	place, err := s.owner(ctx, subject.ProjectID)
	if err != nil {
		return Secret{}, err
	}
	c := content{}
	if e.Reference == nil {
		c.keyID, c.sealed = &s.keys.current, s.keys.Seal(place, e.Name, e.Value)
	} else if err := s.checkReference(ctx, place, *e.Reference); err != nil {
		return Secret{}, err
	} else {
		c.Reference = *e.Reference
		c.store, c.path, c.key, c.version = &c.Store, &c.Path, &c.Key, &c.Version
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		old, err := q.LockSecret(ctx, place.ProjectID, e.Name)
		if db.IsNoRows(err) {
			return s.insert(ctx, q, place, subject, e, &c)
		}
		if err != nil {
			return err
		}
		if e.Create {
			return taken(e.Name)
		}
		_, err = q.UpdateSecret(ctx, db.UpdateSecretParams{
			Description: e.Description, KeyID: c.keyID, Sealed: c.sealed, Now: s.now(), Actor: subject.Name,
			Store: c.store, StorePath: c.path, StoreKey: c.key, StoreVersion: c.version, ProjectID: place.ProjectID, Name: e.Name,
		})
		if err != nil {
			return storeGone(err, e)
		}
		after := factsOf(e.Description, e.Reference)
		if e.Reference == nil {
			after.Value = "replaced"
		}
		return audit.Record(ctx, q, entry("secret.replace", place, e.Name, factsOf(old.Description, referenceOf(old)), after))
	})
	if err != nil {
		return Secret{}, fmt.Errorf("store secret %s: %w", e.Name, err)
	}
	return s.Get(ctx, e.Name)
}

// content are the columns of the value or the reference of a secret.
type content struct {
	keyID  *string
	sealed []byte
	Reference
	store, path, key, version *string // of Reference; nil for a value
}

// checkReference returns why the project may not have the reference.
func (s *Service) checkReference(ctx context.Context, place Owner, ref Reference) error {
	if s.stores == nil {
		return noStore(ref.Store)
	}
	return s.stores.Check(ctx, place, ref)
}

func noStore(name string) error {
	return apperr.InvalidFields("The secret has invalid values.", []apperr.Field{{Path: "store", Message: fmt.Sprintf("There is no secret store %q for this project.", name)}})
}

// storeGone is the error of a store that was deleted in the meantime.
func storeGone(err error, e Edit) error {
	if e.Reference != nil && db.Constraint(err) == "secrets_store_fkey" {
		return noStore(e.Reference.Store)
	}
	return err
}

func (s *Service) insert(ctx context.Context, q *db.Queries, place Owner, subject auth.Subject, e Edit, c *content) error {
	n, err := q.CountSecrets(ctx, place.ProjectID)
	if err != nil {
		return err
	}
	if n >= MaxPerProject {
		return apperr.New(apperr.Conflict, "The project has reached the maximum of %d secrets. Delete unused secrets.", n)
	}
	err = q.InsertSecret(ctx, db.InsertSecretParams{
		ProjectID: place.ProjectID, TenantID: place.TenantID, Name: e.Name, Description: e.Description,
		KeyID: c.keyID, Sealed: c.sealed, Store: c.store, StorePath: c.path, StoreKey: c.key, StoreVersion: c.version, Now: s.now(), Actor: subject.Name,
	})
	if db.Constraint(err) == "secrets_pkey" {
		return taken(e.Name)
	}
	if err != nil {
		return storeGone(err, e)
	}
	return audit.Record(ctx, q, entry("secret.create", place, e.Name, nil, factsOf(e.Description, e.Reference)))
}

func taken(name string) error {
	return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A secret called %q already exists.", name),
		Fields: []apperr.Field{{Path: "name", Message: "This name is already in use. Replace the secret's value, or choose another name."}}}
}

// Delete removes a secret of the store from the subject's current project, or
// returns apperr.NotFound. Attempts that have it keep it until they end.
func (s *Service) Delete(ctx context.Context, name string) error {
	subject, err := auth.Authorize(ctx, auth.SecretWrite)
	if err != nil {
		return err
	}
	place, err := s.owner(ctx, subject.ProjectID)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		old, err := q.LockSecret(ctx, place.ProjectID, name)
		if db.IsNoRows(err) {
			return absent(name)
		}
		if err != nil {
			return fmt.Errorf("delete secret %s: %w", name, err)
		}
		if _, err := q.DeleteSecret(ctx, place.ProjectID, name); err != nil {
			return fmt.Errorf("delete secret %s: %w", name, err)
		}
		return audit.Record(ctx, q, entry("secret.delete", place, name, factsOf(old.Description, referenceOf(old)), nil))
	})
}

// facts are the fields for the audit log.
type facts struct {
	Description string `json:"description"`
	Value       string `json:"value,omitempty"` // "replaced", never a value
	Store       string `json:"store,omitempty"`
	Path        string `json:"path,omitempty"`
	Key         string `json:"key,omitempty"`
	Version     string `json:"version,omitempty"`
}

func factsOf(description string, ref *Reference) facts {
	f := facts{Description: description}
	if ref != nil {
		f.Store, f.Path, f.Key, f.Version = ref.Store, ref.Path, ref.Key, ref.Version
	}
	return f
}

func entry(action string, p Owner, name string, before, after any) audit.Entry {
	return audit.Entry{
		Action: action, Kind: "secret", ID: name, Name: name, TenantID: p.TenantID, ProjectID: p.ProjectID, Old: before, New: after,
	}
}

func fromRow(row db.Secret) Secret {
	return Secret{
		Name: row.Name, Description: row.Description, Reference: referenceOf(row),
		CreatedAt: row.CreatedAt, CreatedBy: row.CreatedBy, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy,
	}
}
