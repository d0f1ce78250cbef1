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
)

// NewNode is what a node is made of. Key, when it is not "", makes a repeated
// request find what the first one made.
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

// Create makes a node below another one. It needs TenancyWrite there, and fails
// with apperr.Invalid for a kind that cannot stand there, and with apperr.Conflict
// for a name that a sibling has.
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
		return Node{}, apperr.New(apperr.Conflict, "The %s %s is archived: nothing can be made in it.", parent.Kind, parent.Name)
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
		fields = append(fields, apperr.Field{Path: "kind", Message: fmt.Sprintf("A %s cannot stand below a %s.", n.Kind, parent.Kind)})
	case n.Kind == Department && len(parent.Path)+3 > maxDepth: // a team and a project still fit below
		fields = append(fields, apperr.Field{Path: "parent_id", Message: "Departments are nested as deep as they can be."})
	}
	return apperr.InvalidFields("The "+string(n.Kind)+" has values that need a change.", fields)
}

// nameTaken tells the conflict of a name from other failures.
func nameTaken(err error, kind Kind, name string) error {
	if db.Constraint(err) == "tenancy_nodes_name_key" {
		return &apperr.Error{
			Code: apperr.Conflict, Message: fmt.Sprintf("Something beside it is called %s already.", name), Err: err,
			Fields: []apperr.Field{{Path: "name", Message: "This name is taken beside it. Choose another one."}},
		}
	}
	return fmt.Errorf("write %s %s: %w", kind, name, err)
}

// Edit changes name or description of a node; nil leaves one as it is. Revision,
// when it is not "", is that of the node as the caller saw it.
type Edit struct {
	Name        *string
	Description *string
	Revision    string
}

// Update renames or describes a node. It needs TenancyWrite above the node, and
// fails with apperr.Conflict when somebody else changed it since the revision
// that the caller saw.
func (s *Service) Update(ctx context.Context, id uuid.UUID, e Edit) (Node, error) {
	n, err := s.authorizeChange(ctx, id)
	if err != nil {
		return Node{}, err
	}
	if n.Kind == Installation {
		return Node{}, apperr.New(apperr.Conflict, "The installation has no name to change.")
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
	return apperr.InvalidFields("The "+string(n.Kind)+" has values that need a change.", fields)
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

// lockNode returns the node as it is, held until the transaction ends.
func lockNode(ctx context.Context, q *db.Queries, id uuid.UUID, seen string) (Node, error) {
	row, err := q.LockTenancyNode(ctx, id)
	if err != nil {
		return Node{}, fmt.Errorf("lock node %s: %w", id, err)
	}
	n := fromRow(row)
	if seen != "" && seen != n.Revision {
		return n, apperr.New(apperr.Conflict, "Somebody changed this %s meanwhile: it is now called %s. Look at it again, then make your change.", n.Kind, n.Name)
	}
	return n, nil
}

// Archive takes a node out of use: what it holds stays legible, and nothing new
// happens in it. It needs TenancyWrite above the node, and fails with
// apperr.Conflict while there is something active below it, or executions of the
// project are under way.
func (s *Service) Archive(ctx context.Context, id uuid.UUID, reason string) (Node, error) {
	return s.setArchived(ctx, id, true, reason)
}

// Restore takes a node back from the archive. What is above it has to be in use.
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

// mayArchive refuses what is still in use. Launches hold their project open
// (LockActiveProject), so none begins between this check and the commit.
func mayArchive(ctx context.Context, q *db.Queries, n Node) error {
	if n.Kind == Installation || slices.Contains([]uuid.UUID{auth.LocalTenant, auth.LocalTeam, auth.LocalProject}, n.ID) {
		return apperr.New(apperr.Conflict, "The %s %s is the home of the installation itself and cannot be archived.", n.Kind, n.Name)
	}
	children, err := q.CountActiveChildren(ctx, &n.ID)
	if err != nil {
		return fmt.Errorf("count children of %s: %w", n.ID, err)
	}
	if children > 0 {
		return apperr.New(apperr.Conflict, "The %s %s still holds %s. Archive what is in it first.", n.Kind, n.Name, plural(children, "active entry", "active entries"))
	}
	live, err := q.CountLiveExecutions(ctx, n.ID)
	if err != nil {
		return fmt.Errorf("count executions of %s: %w", n.ID, err)
	}
	if live > 0 {
		return apperr.New(apperr.Conflict, "In %s %s under way. Wait for the end or cancel first.", n.Name, plural(live, "execution is", "executions are"))
	}
	return nil
}

func mayRestore(ctx context.Context, q *db.Queries, n Node) error {
	parent, err := find(ctx, q, n.ParentID)
	if err != nil {
		return err
	}
	if parent.Archived() {
		return apperr.New(apperr.Conflict, "The %s %s above it is archived. Restore that first.", parent.Kind, parent.Name)
	}
	return nil
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// unprintable are the characters that no name holds: those that cannot be seen,
// and the slash, which stands between names where a path is written.
func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == '/' }
