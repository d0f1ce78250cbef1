package tenancy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/units"
)

// NewNode is the input of Create. Key, when it is not "", is an idempotency key: a
// repeated request returns the node of the first one.
type NewNode struct {
	ParentID    uuid.UUID
	Kind        Kind
	Name        string
	Description string
	Key         string
}

// described is a node in the audit log.
type described struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Parent      string `json:"parent,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
}

// Create creates a node below another one. It requires TenancyWrite there, and returns
// apperr.Invalid for a kind that is not allowed there, and apperr.Conflict for the name
// of a sibling.
func (s *Service) Create(ctx context.Context, n NewNode) (Node, error) {
	subject, parent, err := at(ctx, db.New(s.pool), auth.TenancyWrite, n.ParentID)
	if err != nil {
		return Node{}, err
	}
	if err := checkNew(n, parent); err != nil {
		return Node{}, err
	}
	id, err := newID(subject, "node", n.ParentID, n.Key)
	if err != nil {
		return Node{}, err
	}
	var made Node
	err = s.change(ctx, func(q *db.Queries) error {
		made, err = s.create(ctx, q, id, n)
		return err
	})
	return made, err
}

func (s *Service) create(ctx context.Context, q *db.Queries, id uuid.UUID, n NewNode) (Node, error) {
	parent, err := find(ctx, q, n.ParentID)
	if err != nil {
		return Node{}, err
	}
	if there, err := find(ctx, q, id); err == nil {
		return there, sameAs(there.Name == n.Name && there.Kind == n.Kind)
	}
	if parent.Archived() {
		return Node{}, apperr.New(apperr.Conflict, "The %s %s is archived: nothing can be created in it.", parent.Kind, parent.Name)
	}
	params := db.InsertTenancyNodeParams{
		ID: id, Kind: string(n.Kind), ParentID: &parent.ID, ParentKind: new(string(parent.Kind)), TenantID: &parent.TenantID,
		Path: append(slices.Clone(parent.Path), id), Name: n.Name, Description: n.Description, CreatedAt: s.moment(),
	}
	if n.Kind == Tenant {
		params.TenantID = &id
	}
	if n.Kind == Project {
		tenant, err := find(ctx, q, parent.TenantID)
		if err != nil {
			return Node{}, err
		}
		params.Namespace = new(namespace(tenant.Name, n.Name, id))
	}
	if err := q.InsertTenancyNode(ctx, params); err != nil {
		return Node{}, nameTaken(err, n.Kind, n.Name)
	}
	made, err := find(ctx, q, id)
	if err != nil {
		return Node{}, err
	}
	return made, audit.Record(ctx, q, audit.Entry{
		Action: string(n.Kind) + ".create", Kind: string(n.Kind), ID: id.String(), Name: n.Name, TenantID: made.TenantID, ProjectID: made.project(),
		New: described{Name: made.Name, Description: made.Description, Parent: parent.Name, Namespace: made.Namespace},
	})
}

func checkNew(n NewNode, parent Node) error {
	var fields []apperr.Field
	if message := checkName(n.Name); message != "" {
		fields = append(fields, apperr.Field{Path: "name", Message: message})
	}
	if len([]rune(n.Description)) > maxDescription {
		fields = append(fields, apperr.Field{Path: "description", Message: fmt.Sprintf("Enter at most %d characters.", maxDescription)})
	}
	switch {
	case !slices.Contains(parent.Kind.Below(), n.Kind):
		fields = append(fields, apperr.Field{Path: "kind", Message: fmt.Sprintf("A %s cannot be below a %s.", n.Kind, parent.Kind)})
	case n.Kind == Department && len(parent.Path)+3 > maxDepth: // a team and a project still fit below
		fields = append(fields, apperr.Field{Path: "parent_id", Message: "Departments are already nested to the maximum depth."})
	}
	return apperr.InvalidFields("The "+string(n.Kind)+" has invalid values.", fields)
}

// nameTaken converts a violated name constraint to a conflict.
func nameTaken(err error, kind Kind, name string) error {
	if db.Constraint(err) == "tenancy_nodes_name_key" {
		return &apperr.Error{
			Code: apperr.Conflict, Message: fmt.Sprintf("The name %s is already used at this level.", name), Err: err,
			Fields: []apperr.Field{{Path: "name", Message: "This name is already used at this level. Choose another name."}},
		}
	}
	return fmt.Errorf("write %s %s: %w", kind, name, err)
}

// Edit changes name or description of a node; nil leaves one unchanged. Revision, when
// it is not "", is the revision that the caller saw.
type Edit struct {
	Name        *string
	Description *string
	Revision    string
}

// Update renames or describes a node. It requires TenancyWrite above the node, and
// returns apperr.Conflict when the node has changed since the revision that the caller
// saw.
func (s *Service) Update(ctx context.Context, id uuid.UUID, e Edit) (Node, error) {
	n, err := s.authorizeChange(ctx, id)
	if err != nil {
		return Node{}, err
	}
	if n.Kind == Installation {
		return Node{}, apperr.New(apperr.Conflict, "The installation cannot be renamed.")
	}
	err = s.change(ctx, func(q *db.Queries) error {
		old, err := lockNode(ctx, q, id, e.Revision)
		if err != nil {
			return err
		}
		n = old
		if e.Name != nil {
			n.Name = *e.Name
		}
		if e.Description != nil {
			n.Description = strings.TrimSpace(*e.Description)
		}
		if err := checkEdit(n); err != nil || n.Name == old.Name && n.Description == old.Description {
			return err
		}
		n.Revision = revision(n)
		if err := q.UpdateTenancyNode(ctx, n.Name, n.Description, id); err != nil {
			return nameTaken(err, n.Kind, n.Name)
		}
		was, is := described{Name: old.Name}, described{Name: n.Name}
		if old.Description != n.Description {
			was.Description, is.Description = old.Description, n.Description
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: string(n.Kind) + ".update", Kind: string(n.Kind), ID: id.String(), Name: n.Name, TenantID: n.TenantID, ProjectID: n.project(), Old: was, New: is,
		})
	})
	return n, err
}

func checkEdit(n Node) error {
	var fields []apperr.Field
	if message := checkName(n.Name); message != "" {
		fields = append(fields, apperr.Field{Path: "name", Message: message})
	}
	if len([]rune(n.Description)) > maxDescription {
		fields = append(fields, apperr.Field{Path: "description", Message: fmt.Sprintf("Enter at most %d characters.", maxDescription)})
	}
	return apperr.InvalidFields("The "+string(n.Kind)+" has invalid values.", fields)
}

// authorizeChange returns the node when the caller may change it itself.
func (s *Service) authorizeChange(ctx context.Context, id uuid.UUID) (Node, error) {
	_, n, err := at(ctx, db.New(s.pool), auth.TenancyRead, id)
	if err != nil {
		return Node{}, err
	}
	_, err = authorizeAbove(ctx, n)
	return n, err
}

// lockNode returns the node, locked until the transaction ends.
func lockNode(ctx context.Context, q *db.Queries, id uuid.UUID, seen string) (Node, error) {
	row, err := q.LockTenancyNode(ctx, id)
	if err != nil {
		return Node{}, fmt.Errorf("lock node %s: %w", id, err)
	}
	n := fromRow(row)
	if seen != "" && seen != n.Revision {
		return n, apperr.New(apperr.Conflict, "This %s was changed in the meantime and is now called %s. Reload it and repeat your change.", n.Kind, n.Name)
	}
	return n, nil
}

// Archive archives a node: its contents stay readable, and nothing new can be created
// in it. It requires TenancyWrite above the node, and returns apperr.Conflict while it
// has active children or running executions.
func (s *Service) Archive(ctx context.Context, id uuid.UUID, reason string) (Node, error) {
	return s.setArchived(ctx, id, true, reason)
}

// Restore restores a node from the archive. Its ancestors must not be archived.
func (s *Service) Restore(ctx context.Context, id uuid.UUID, reason string) (Node, error) {
	return s.setArchived(ctx, id, false, reason)
}

func (s *Service) setArchived(ctx context.Context, id uuid.UUID, archived bool, reason string) (Node, error) {
	n, err := s.authorizeChange(ctx, id)
	if err != nil {
		return Node{}, err
	}
	err = s.change(ctx, func(q *db.Queries) error {
		if n, err = lockNode(ctx, q, id, ""); err != nil || n.Archived() == archived {
			return err
		}
		action, check := ".archive", mayArchive
		if !archived {
			action, check = ".restore", mayRestore
		}
		if err := check(ctx, q, n); err != nil {
			return err
		}
		was := n.Archived()
		n.ArchivedAt = nil
		if archived {
			n.ArchivedAt = new(s.moment())
		}
		n.Revision = revision(n)
		if err := q.SetTenancyNodeArchived(ctx, n.ArchivedAt, id); err != nil {
			return nameTaken(err, n.Kind, n.Name)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: string(n.Kind) + action, Kind: string(n.Kind), ID: id.String(), Name: n.Name, TenantID: n.TenantID, ProjectID: n.project(),
			Old: map[string]bool{"archived": was}, New: map[string]bool{"archived": archived}, Reason: reason,
		})
	})
	return n, err
}

// mayArchive rejects a node that is still in use. Launches lock their project
// (LockActiveProject), so none begins between this check and the commit.
func mayArchive(ctx context.Context, q *db.Queries, n Node) error {
	if n.Kind == Installation || slices.Contains([]uuid.UUID{auth.LocalTenant, auth.LocalTeam, auth.LocalProject}, n.ID) {
		return apperr.New(apperr.Conflict, "The %s %s belongs to the installation itself and cannot be archived.", n.Kind, n.Name)
	}
	children, err := q.CountActiveChildren(ctx, &n.ID)
	if err != nil {
		return fmt.Errorf("count children of %s: %w", n.ID, err)
	}
	if children > 0 {
		return apperr.New(apperr.Conflict, "The %s %s still contains %s. Archive them first.", n.Kind, n.Name, units.Plural(children, "active entry", "active entries"))
	}
	live, err := q.CountLiveExecutions(ctx, n.ID)
	if err != nil {
		return fmt.Errorf("count executions of %s: %w", n.ID, err)
	}
	if live > 0 {
		return apperr.New(apperr.Conflict, "%s has %s. First cancel all executions, or wait until they end.", n.Name, units.Plural(live, "execution that has not ended", "executions that have not ended"))
	}
	return nil
}

func mayRestore(ctx context.Context, q *db.Queries, n Node) error {
	parent, err := find(ctx, q, n.ParentID)
	if err != nil {
		return err
	}
	if parent.Archived() {
		return apperr.New(apperr.Conflict, "The parent %s %s is archived. Restore it first.", parent.Kind, parent.Name)
	}
	return nil
}

// unprintable reports whether r is not allowed in names: invisible characters, and the
// slash, which separates names in paths.
func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == '/' }
