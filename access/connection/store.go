package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// maxUses is the maximum number of uses read for one list.
const maxUses = 5000

// List returns the connections of the subject's current project by name, of one kind or, for "",
// of every kind.
func (s *Service) List(ctx context.Context, kind string) ([]Connection, error) {
	subject, err := auth.Authorize(ctx, auth.SecretRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListConnections(ctx, subject.ProjectID, MaxPerProject)
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	uses, err := s.queries.ListConnectionUses(ctx, subject.ProjectID, maxUses)
	if err != nil {
		return nil, fmt.Errorf("list the uses of connections: %w", err)
	}
	list := []Connection{}
	for _, row := range rows {
		if kind != "" && row.Kind != kind {
			continue
		}
		c, err := fromRow(row)
		if err != nil {
			return nil, err
		}
		for _, u := range uses {
			if u.Name == c.Name {
				c.Uses = append(c.Uses, Use{Workflow: u.Workflow, ExecutionID: u.ExecutionID, At: u.UsedAt})
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// Get returns a connection of the subject's current project, or apperr.NotFound.
func (s *Service) Get(ctx context.Context, name string) (Connection, error) {
	list, err := s.List(ctx, "") // authorizes
	if err != nil {
		return Connection{}, err
	}
	i := slices.IndexFunc(list, func(c Connection) bool { return c.Name == name })
	if i < 0 {
		return Connection{}, absent(name)
	}
	return list[i], nil
}

// Put stores a connection in the subject's current project; it changes an existing one unless
// e.Create. Errors: Invalid with fields, and Conflict for a name that exists, with another kind
// or with e.Create. The audit log has the visible fields, and the names of changed secret ones.
func (s *Service) Put(ctx context.Context, e Edit) (Connection, error) {
	subject, err := auth.Authorize(ctx, auth.SecretWrite)
	if err != nil {
		return Connection{}, err
	}
	place, err := s.owner(ctx, subject.ProjectID)
	if err != nil {
		return Connection{}, err
	}
	err = db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		old, err := q.LockConnection(ctx, place.ProjectID, e.Name)
		if db.IsNoRows(err) {
			return s.insert(ctx, q, place, subject, e)
		}
		if err != nil {
			return err
		}
		return s.update(ctx, q, subject, old, e)
	})
	if err != nil {
		return Connection{}, fmt.Errorf("store connection %s: %w", e.Name, err)
	}
	return s.Get(ctx, e.Name)
}

func (s *Service) insert(ctx context.Context, q *db.Queries, place secret.Owner, subject auth.Subject, e Edit) error {
	c, err := e.check(former{})
	if err != nil {
		return err
	}
	n, err := q.CountConnections(ctx, place.ProjectID)
	if err != nil {
		return err
	}
	if n >= MaxPerProject {
		return apperr.New(apperr.Conflict, "The project has reached the maximum of %d connections. Delete unused connections.", n)
	}
	row, err := s.encode(place, e.Name, c)
	if err != nil {
		return err
	}
	err = q.InsertConnection(ctx, db.InsertConnectionParams{
		ProjectID: place.ProjectID, TenantID: place.TenantID, Name: e.Name, Kind: e.Kind, Description: e.Description,
		Declared: row.declared, Settings: row.settings, SecretFields: row.names, KeyID: row.keyID, Sealed: row.sealed, Now: s.Now(), Actor: subject.Name,
	})
	if db.Constraint(err) == "connections_pkey" {
		return taken(e.Name)
	}
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, entry("connection.create", place, e.Name, nil, factsOf(e, c, row.names)))
}

func (s *Service) update(ctx context.Context, q *db.Queries, subject auth.Subject, old db.Connection, e Edit) error {
	if e.Create {
		return taken(e.Name)
	}
	if e.Kind != old.Kind {
		return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("The connection %q is of kind %s, which cannot be changed. Create another connection.", e.Name, old.Kind),
			Fields: []apperr.Field{{Path: "kind", Message: "The kind of a connection cannot be changed."}}}
	}
	place := secret.Owner{TenantID: old.TenantID, ProjectID: old.ProjectID}
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
	c, err := e.check(former{before.Settings, kept})
	if err != nil {
		return err
	}
	row, err := s.encode(place, e.Name, c)
	if err != nil {
		return err
	}
	err = q.UpdateConnection(ctx, db.UpdateConnectionParams{
		Description: e.Description, Declared: row.declared, Settings: row.settings, SecretFields: row.names, KeyID: row.keyID, Sealed: row.sealed,
		Now: s.Now(), Actor: subject.Name, ProjectID: old.ProjectID, Name: old.Name,
	})
	if err != nil {
		return err
	}
	var replaced []string
	for name, value := range c.secrets {
		if kept[name] != value {
			replaced = append(replaced, name)
		}
	}
	slices.Sort(replaced)
	after := factsOf(e, c, row.names)
	after.Replaced = replaced
	return audit.Record(ctx, q, entry("connection.change", place, e.Name,
		facts{Kind: before.Kind, Description: before.Description, Settings: before.Settings, Secrets: before.Secrets}, after))
}

// Delete removes a connection from the subject's current project, or returns apperr.NotFound.
// Attempts that have it keep it until they end.
func (s *Service) Delete(ctx context.Context, name string) error {
	subject, err := auth.Authorize(ctx, auth.SecretWrite)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockConnection(ctx, subject.ProjectID, name)
		if db.IsNoRows(err) {
			return absent(name)
		}
		if err != nil {
			return fmt.Errorf("delete connection %s: %w", name, err)
		}
		old, err := fromRow(row)
		if err != nil {
			return err
		}
		if err := q.DeleteConnection(ctx, row.ProjectID, name); err != nil {
			return fmt.Errorf("delete connection %s: %w", name, err)
		}
		return audit.Record(ctx, q, entry("connection.delete", secret.Owner{TenantID: row.TenantID, ProjectID: row.ProjectID}, name,
			facts{Kind: old.Kind, Description: old.Description, Settings: old.Settings, Secrets: old.Secrets}, nil))
	})
}

// owner returns the tenant of a project.
func (s *Service) owner(ctx context.Context, project uuid.UUID) (secret.Owner, error) {
	row, err := s.queries.GetProjectNames(ctx, project)
	if db.IsNoRows(err) {
		return secret.Owner{}, apperr.New(apperr.NotFound, "There is no project %s.", project)
	}
	if err != nil {
		return secret.Owner{}, fmt.Errorf("project %s: %w", project, err)
	}
	place := secret.Owner{ProjectID: project}
	if row.TenantID != nil {
		place.TenantID = *row.TenantID
	}
	return place, nil
}

// encoded are the columns of a checked edit.
type encoded struct {
	declared, settings json.RawMessage
	names              []string
	keyID              *string
	sealed             []byte
}

func (s *Service) encode(place secret.Owner, name string, c checked) (encoded, error) {
	out := encoded{declared: json.RawMessage("[]"), names: slices.Sorted(maps.Keys(c.secrets))}
	if out.names == nil {
		out.names = []string{}
	}
	var err error
	if out.settings, err = json.Marshal(c.settings); err != nil {
		return out, fmt.Errorf("encode the settings: %w", err)
	}
	if len(c.declared) > 0 {
		if out.declared, err = json.Marshal(c.declared); err != nil {
			return out, fmt.Errorf("encode the fields: %w", err)
		}
	}
	if len(c.secrets) == 0 {
		return out, nil
	}
	text, err := json.Marshal(c.secrets)
	if err != nil {
		return out, fmt.Errorf("encode the secret fields: %w", err)
	}
	id := s.Keys.Current()
	out.keyID, out.sealed = &id, s.Keys.Seal(place, binding(name), string(text))
	return out, nil
}

// unseal returns the secret fields of a row.
func (s *Service) unseal(row db.Connection) (map[string]string, error) {
	values := map[string]string{}
	if row.KeyID == nil {
		return values, nil
	}
	text, err := s.Keys.Open(*row.KeyID, secret.Owner{TenantID: row.TenantID, ProjectID: row.ProjectID}, binding(row.Name), row.Sealed)
	if err != nil {
		return nil, apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("The connection %q cannot be decrypted: its encryption key is not on this server. Enter its secret fields again.", row.Name))
	}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, fmt.Errorf("secret fields of connection %s: %w", row.Name, err)
	}
	return values, nil
}

func taken(name string) error {
	return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A connection called %q already exists.", name),
		Fields: []apperr.Field{{Path: "name", Message: "This name is already in use. Choose another name, or edit the existing connection."}}}
}

// facts are the fields for the audit log, without values of secret fields.
type facts struct {
	Kind        string         `json:"kind"`
	Description string         `json:"description,omitempty"`
	Settings    map[string]any `json:"settings"`
	Secrets     []string       `json:"secret_fields,omitempty"`
	Replaced    []string       `json:"replaced,omitempty"`
}

func factsOf(e Edit, c checked, secrets []string) facts {
	return facts{Kind: e.Kind, Description: e.Description, Settings: c.settings, Secrets: secrets}
}

func entry(action string, p secret.Owner, name string, before, after any) audit.Entry {
	return audit.Entry{Action: action, Kind: "connection", ID: name, Name: name, TenantID: p.TenantID, ProjectID: p.ProjectID, Old: before, New: after}
}

// maxReseal is the maximum number of connections that one start reseals.
const maxReseal = 100_000

// Reseal reseals all secret fields of older keys with the current one and returns the number of
// connections. The server calls it at startup; what a missing key sealed is unchanged.
func (s *Service) Reseal(ctx context.Context) (int, error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return 0, err
	}
	resealed := 0
	err := db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		current := s.Keys.Current()
		rows, err := q.ListConnectionsOfOtherKeys(ctx, &current, maxReseal)
		if err != nil {
			return err
		}
		for _, row := range rows {
			place := secret.Owner{TenantID: row.TenantID, ProjectID: row.ProjectID}
			text, err := s.Keys.Open(*row.KeyID, place, binding(row.Name), row.Sealed)
			if errors.Is(err, secret.ErrKeyMissing) {
				continue
			}
			if err != nil {
				return err
			}
			if err := q.ResealConnection(ctx, &current, s.Keys.Seal(place, binding(row.Name), text), row.ProjectID, row.Name); err != nil {
				return err
			}
			resealed++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reseal connections: %w", err)
	}
	return resealed, nil
}
