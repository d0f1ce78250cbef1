package secretstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// List returns all stores by name, with the secrets that refer to them. Only administrators of the
// installation may call it.
func (s *Service) List(ctx context.Context) ([]Store, error) {
	if _, err := administers(ctx); err != nil {
		return nil, err
	}
	return s.list(ctx)
}

func (s *Service) list(ctx context.Context) ([]Store, error) {
	rows, err := s.queries.ListSecretStores(ctx, MaxStores)
	if err != nil {
		return nil, fmt.Errorf("list secret stores: %w", err)
	}
	uses, err := s.queries.ListSecretStoreUses(ctx, "", maxUses)
	if err != nil {
		return nil, fmt.Errorf("list the uses of secret stores: %w", err)
	}
	list := make([]Store, 0, len(rows))
	for _, row := range rows {
		store, err := fromRow(row)
		if err != nil {
			return nil, err
		}
		for _, u := range uses {
			if u.Store == row.Name {
				store.Uses = append(store.Uses, Use{Project: u.Project, Namespace: u.Namespace, Secret: u.Name, Path: u.Path})
			}
		}
		list = append(list, store)
	}
	return list, nil
}

// Get returns a store, or apperr.NotFound. Only administrators of the installation may call it.
func (s *Service) Get(ctx context.Context, name string) (Store, error) {
	list, err := s.List(ctx) // authorizes
	if err != nil {
		return Store{}, err
	}
	i := slices.IndexFunc(list, func(store Store) bool { return store.Name == name })
	if i < 0 {
		return Store{}, absent(name)
	}
	return list[i], nil
}

// Offered is a store that a project may use.
type Offered struct {
	Name, Kind, Description string
	Prefix                  string // of the paths that the project may use
}

// Offered returns the stores that the subject's current project may use.
func (s *Service) Offered(ctx context.Context) ([]Offered, error) {
	subject, err := auth.Authorize(ctx, auth.SecretRead)
	if err != nil {
		return nil, err
	}
	names, err := s.queries.GetProjectNames(ctx, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("project %s: %w", subject.ProjectID, err)
	}
	place := secret.Owner{ProjectID: subject.ProjectID}
	if names.Namespace != nil {
		place.Namespace = *names.Namespace
	}
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	offered := []Offered{}
	for _, store := range all {
		if store.allows(place) {
			offered = append(offered, Offered{store.Name, store.Kind, store.Description, store.Prefix(place)})
		}
	}
	return offered, nil
}

// Edit is a store to register. Create rejects a name that exists.
type Edit struct {
	Name        string
	Kind        string
	Description string
	// Values has visible and secret fields by name. A secret field that is not in Values keeps its
	// value, unless the server changes that gets it; nil and "" remove it.
	Values map[string]any
	Create bool
}

// check returns the checked values of e for a store that had the settings and secrets. q is the
// transaction of the change.
func (s *Service) check(ctx context.Context, q *db.Queries, e Edit, had Store, kept map[string]string) (connection.Values, error) {
	var problems []apperr.Field
	add := func(path, message string) { problems = append(problems, apperr.Field{Path: path, Message: message}) }
	if !secret.ValidName(e.Name) {
		add("name", `Use 1 to 100 letters, digits, ".", "_" and "-"; start with a letter, a digit or "_".`)
	}
	if e.Name == "new" {
		add("name", `"new" is reserved. Choose another name.`)
	}
	if utf8.RuneCountInString(e.Description) > secret.MaxDescription {
		add("description", fmt.Sprintf("At most %d characters.", secret.MaxDescription))
	}
	const invalid = "The secret store has invalid values."
	kind, ok := KindNamed(e.Kind)
	if !ok {
		add("kind", "Choose "+strings.Join(kindNames(), ", ")+".")
		return connection.Values{}, apperr.InvalidFields(invalid, problems)
	}
	values, more, err := connection.CheckFields(kind.Fields, e.Values, kept)
	if err != nil {
		return values, err
	}
	if len(more) == 0 {
		more = checkTogether(e.Kind, values, s.Private)
	}
	if was := host(e.Kind, had.Settings); len(more) == 0 && had.Name != "" && was != host(e.Kind, values.Settings) {
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			if _, given := e.Values[name]; !given {
				more = append(more, apperr.Field{Path: "values." + name, Message: "Enter the value again, or remove it. It was entered for " + was + ", and the store now points to another server."})
			}
		}
	}
	unknown, err := unknownProjects(ctx, q, values)
	if err != nil {
		return values, err
	}
	if unknown != "" {
		add("values."+fieldProjects, fmt.Sprintf("%q is not the namespace of a project.", unknown))
	}
	if prefix, _ := values.Settings[fieldPrefix].(string); strings.HasPrefix(prefix, "/") || slices.Contains(strings.Split(prefix, "/"), "..") {
		add("values."+fieldPrefix, "Do not begin with “/”, and do not use “..”.")
	} else if openEnded(prefix) {
		add("values."+fieldPrefix, "Continue after {namespace} with a character that namespaces do not contain, such as “/” or “_”. Otherwise, a project could read the paths of a project whose namespace begins with its own.")
	}
	return values, apperr.InvalidFields(invalid, append(problems, more...))
}

// openEnded reports whether the prefix of one namespace, such as vision, can also be that of a longer
// one, such as vision-2.
func openEnded(prefix string) bool {
	_, last, found := strings.Cut(prefix, namespaceTag)
	for found && last != "" && !namespaceCharacter(last[0]) {
		_, last, found = strings.Cut(last, namespaceTag)
	}
	return found
}

func namespaceCharacter(c byte) bool {
	return c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == namespaceTag[0]
}

// unknownProjects returns a line of the field projects that is not a namespace.
func unknownProjects(ctx context.Context, q *db.Queries, v connection.Values) (string, error) {
	text, _ := v.Settings[fieldProjects].(string)
	lines := slices.DeleteFunc(projectLines(text), func(line string) bool { return line == AllProjects })
	for _, line := range lines {
		if !namespacePattern.MatchString(line) {
			return line, nil
		}
	}
	known, err := q.KnownNamespaces(ctx, lines)
	if err != nil {
		return "", fmt.Errorf("find namespaces: %w", err)
	}
	for _, line := range lines {
		if !slices.Contains(known, line) {
			return line, nil
		}
	}
	return "", nil
}

// Put registers a store; it changes an existing one unless e.Create. Errors: Invalid with fields, and
// Conflict for a name that exists, with another kind or with e.Create. Only administrators of the
// installation may call it.
func (s *Service) Put(ctx context.Context, e Edit) (Store, error) {
	subject, err := administers(ctx)
	if err != nil {
		return Store{}, err
	}
	err = db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		old, err := q.LockSecretStore(ctx, e.Name)
		if db.IsNoRows(err) {
			return s.insert(ctx, q, subject, e)
		}
		if err != nil {
			return err
		}
		return s.update(ctx, q, subject, old, e)
	})
	if err != nil {
		return Store{}, fmt.Errorf("register secret store %s: %w", e.Name, err)
	}
	return s.Get(ctx, e.Name)
}

// columns are the columns of checked values.
type columns struct {
	settings json.RawMessage
	names    []string
	keyID    *string
	sealed   []byte
}

func (s *Service) encode(name string, v connection.Values) (columns, error) {
	out := columns{names: slices.AppendSeq([]string{}, maps.Keys(v.Secrets))}
	slices.Sort(out.names)
	var err error
	if out.settings, err = json.Marshal(v.Settings); err != nil {
		return out, fmt.Errorf("encode the settings: %w", err)
	}
	if len(v.Secrets) > 0 {
		text, err := json.Marshal(v.Secrets)
		if err != nil {
			return out, fmt.Errorf("encode the secret fields: %w", err)
		}
		id := s.Keys.Current()
		out.keyID, out.sealed = &id, s.Keys.Seal(secret.Owner{}, binding(name), string(text))
	}
	return out, nil
}

func (s *Service) insert(ctx context.Context, q *db.Queries, subject auth.Subject, e Edit) error {
	values, err := s.check(ctx, q, e, Store{}, nil)
	if err != nil {
		return err
	}
	n, err := q.CountSecretStores(ctx)
	if err != nil {
		return err
	}
	if n >= MaxStores {
		return apperr.New(apperr.Conflict, "The installation has reached the maximum of %d secret stores. Delete unused stores.", n)
	}
	row, err := s.encode(e.Name, values)
	if err != nil {
		return err
	}
	err = q.InsertSecretStore(ctx, db.InsertSecretStoreParams{
		Name: e.Name, Kind: e.Kind, Description: e.Description, Settings: row.settings, SecretFields: row.names, KeyID: row.keyID, Sealed: row.sealed, Now: s.Now(), Actor: subject.Name,
	})
	if db.Constraint(err) == "secret_stores_pkey" {
		return taken(e.Name)
	}
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, entry("secret_store.create", e.Name, nil, facts{e.Kind, e.Description, values.Settings, row.names, nil}))
}

func (s *Service) update(ctx context.Context, q *db.Queries, subject auth.Subject, old db.SecretStore, e Edit) error {
	if e.Create {
		return taken(e.Name)
	}
	if e.Kind != old.Kind {
		return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("The secret store %q is of kind %s, which cannot be changed. Register another store.", e.Name, old.Kind),
			Fields: []apperr.Field{{Path: "kind", Message: "The kind of a secret store cannot be changed."}}}
	}
	kept, err := s.unseal(old)
	if errors.Is(err, secret.ErrKeyMissing) {
		kept, err = nil, nil // entering all values again replaces them
	}
	if err != nil {
		return err
	}
	before, err := fromRow(old)
	if err != nil {
		return err
	}
	values, err := s.check(ctx, q, e, before, kept)
	if err != nil {
		return err
	}
	row, err := s.encode(e.Name, values)
	if err != nil {
		return err
	}
	err = q.UpdateSecretStore(ctx, db.UpdateSecretStoreParams{
		Description: e.Description, Settings: row.settings, SecretFields: row.names, KeyID: row.keyID, Sealed: row.sealed, Now: s.Now(), Actor: subject.Name, Name: e.Name,
	})
	if err != nil {
		return err
	}
	var replaced []string
	for _, name := range row.names {
		if kept[name] != values.Secrets[name] {
			replaced = append(replaced, name)
		}
	}
	return audit.Record(ctx, q, entry("secret_store.change", e.Name,
		facts{before.Kind, before.Description, before.Settings, before.Secrets, nil}, facts{e.Kind, e.Description, values.Settings, row.names, replaced}))
}

// Delete removes a store to which no secret refers. Errors: NotFound, and Conflict while secrets refer
// to it. Only administrators of the installation may call it.
func (s *Service) Delete(ctx context.Context, name string) error {
	if _, err := administers(ctx); err != nil {
		return err
	}
	return db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSecretStore(ctx, name)
		if db.IsNoRows(err) {
			return absent(name)
		}
		if err != nil {
			return fmt.Errorf("delete secret store %s: %w", name, err)
		}
		old, err := fromRow(row)
		if err != nil {
			return err
		}
		err = q.DeleteSecretStore(ctx, name)
		if db.Constraint(err) == "secrets_store_fkey" {
			return apperr.New(apperr.Conflict, "Project secrets refer to the secret store %q. Change or delete them first.", name)
		}
		if err != nil {
			return fmt.Errorf("delete secret store %s: %w", name, err)
		}
		return audit.Record(ctx, q, entry("secret_store.delete", name, facts{old.Kind, old.Description, old.Settings, old.Secrets, nil}, nil))
	})
}

func taken(name string) error {
	return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A secret store called %q already exists.", name),
		Fields: []apperr.Field{{Path: "name", Message: "This name is already in use. Choose another name, or edit the existing store."}}}
}

// facts are the fields for the audit log, without values of secret fields.
type facts struct {
	Kind        string         `json:"kind"`
	Description string         `json:"description,omitempty"`
	Settings    map[string]any `json:"settings"`
	Secrets     []string       `json:"secret_fields,omitempty"`
	Replaced    []string       `json:"replaced,omitempty"`
}

func entry(action, name string, before, after any) audit.Entry {
	return audit.Entry{Action: action, Kind: "secret_store", ID: name, Name: name, Old: before, New: after}
}
