package tenancy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// ServiceAccount is a user of a project that is not a person: it uses API keys.
type ServiceAccount struct {
	ID         uuid.UUID
	ProjectID  uuid.UUID
	Name       string
	Role       string
	Keys       int // currently valid keys
	LastUsedAt *time.Time
	DisabledAt *time.Time
	CreatedAt  time.Time
	CreatedBy  string
}

// account is a service account in the audit log.
type account struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// ServiceAccounts returns the service accounts of a project, the disabled ones last.
func (s *Service) ServiceAccounts(ctx context.Context, project uuid.UUID) ([]ServiceAccount, error) {
	q := db.New(s.pool)
	if _, _, err := atProject(ctx, q, auth.MemberRead, project); err != nil {
		return nil, err
	}
	rows, err := q.ListServiceAccounts(ctx, s.moment(), &project)
	if err != nil {
		return nil, fmt.Errorf("service accounts of %s: %w", project, err)
	}
	accounts := make([]ServiceAccount, 0, len(rows))
	for _, row := range rows {
		a := ServiceAccount{
			ID: row.ID, ProjectID: project, Name: row.Name, Role: row.Role, Keys: int(row.Keys), DisabledAt: row.DisabledAt,
			CreatedAt: row.CreatedAt.UTC(), CreatedBy: row.CreatedByName,
		}
		if row.LastUsedAt.Unix() > 0 {
			a.LastUsedAt = &row.LastUsedAt
		}
		accounts = append(accounts, a)
	}
	return accounts, nil
}

// atProject is at for a project; other nodes have no service accounts.
func atProject(ctx context.Context, q *db.Queries, a auth.Action, id uuid.UUID) (auth.Subject, Node, error) {
	subject, n, err := at(ctx, q, a, id)
	if err == nil && n.Kind != Project {
		err = apperr.New(apperr.NotFound, "There is no project %s.", id)
	}
	return subject, n, err
}

// CreateServiceAccount creates a service account with a role in its project. It
// requires MemberWrite there and every action of the role; a repeated call with the
// same idempotency key returns the account of the first one.
func (s *Service) CreateServiceAccount(ctx context.Context, project uuid.UUID, name, role, key string) (ServiceAccount, error) {
	subject, n, err := atProject(ctx, db.New(s.pool), auth.MemberWrite, project)
	if err != nil {
		return ServiceAccount{}, err
	}
	if err := checkAssign(subject, role, project); err != nil {
		return ServiceAccount{}, err
	}
	if message := checkName(name); message != "" {
		return ServiceAccount{}, apperr.InvalidFields("The service account has invalid values.", []apperr.Field{{Path: "name", Message: message}})
	}
	id, err := newID(subject, "service account", project, key)
	if err != nil {
		return ServiceAccount{}, err
	}
	err = s.change(ctx, func(q *db.Queries) error {
		if n, err = lockNode(ctx, q, project, ""); err != nil {
			return err
		}
		if n.Archived() {
			return errArchived(n)
		}
		if there, err := q.GetUser(ctx, id); err == nil {
			return sameAs(there.Name == name)
		}
		return s.insertAccount(ctx, q, subject, n, id, account{Name: name, Role: role})
	})
	if err != nil {
		return ServiceAccount{}, err
	}
	return s.serviceAccount(ctx, project, id)
}

func (s *Service) insertAccount(ctx context.Context, q *db.Queries, subject auth.Subject, n Node, id uuid.UUID, a account) error {
	err := q.InsertServiceAccount(ctx, db.InsertServiceAccountParams{ID: id, Name: a.Name, ProjectID: &n.ID, CreatedAt: s.moment(), CreatedBy: author(subject)})
	if db.Constraint(err) == "users_service_key" {
		return &apperr.Error{
			Code: apperr.Conflict, Message: fmt.Sprintf("The project already has a service account %s.", a.Name), Err: err,
			Fields: []apperr.Field{{Path: "name", Message: "This name is already in use. Choose another name."}},
		}
	}
	if err != nil {
		return fmt.Errorf("make service account %s: %w", a.Name, err)
	}
	member, err := newID(subject, "", n.ID, "")
	if err != nil {
		return err
	}
	if _, err := q.InsertMembership(ctx, db.InsertMembershipParams{ID: member, UserID: id, NodeID: n.ID, Role: a.Role, CreatedAt: s.moment(), CreatedBy: author(subject)}); err != nil {
		return fmt.Errorf("role of service account %s: %w", a.Name, err)
	}
	return recordAccount(ctx, q, n, "service_account.create", id, a.Name, nil, a)
}

func recordAccount(ctx context.Context, q *db.Queries, n Node, action string, id uuid.UUID, name string, before, after any) error {
	return audit.Record(ctx, q, audit.Entry{Action: action, Kind: "service_account", ID: id.String(), Name: name, TenantID: n.TenantID, ProjectID: n.ID, Old: before, New: after})
}

func (s *Service) serviceAccount(ctx context.Context, project, id uuid.UUID) (ServiceAccount, error) {
	accounts, err := s.ServiceAccounts(ctx, project)
	if err != nil {
		return ServiceAccount{}, err
	}
	i := slices.IndexFunc(accounts, func(a ServiceAccount) bool { return a.ID == id })
	if i < 0 {
		return ServiceAccount{}, errNoAccount(id)
	}
	return accounts[i], nil
}

func errNoAccount(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no service account %s here.", id)
}

// SetServiceAccountDisabled disables a service account, so that its keys are
// refused from the next request on, or enables it again.
func (s *Service) SetServiceAccountDisabled(ctx context.Context, project, id uuid.UUID, disabled bool) (ServiceAccount, error) {
	subject, n, err := atProject(ctx, db.New(s.pool), auth.MemberWrite, project)
	if err != nil {
		return ServiceAccount{}, err
	}
	a, err := s.serviceAccount(ctx, project, id)
	if err != nil {
		return ServiceAccount{}, err
	}
	if a.Role != "" {
		if err := checkAssign(subject, a.Role, project); err != nil {
			return ServiceAccount{}, err
		}
	}
	err = s.change(ctx, func(q *db.Queries) error {
		row, err := q.LockUser(ctx, id)
		if err != nil {
			return fmt.Errorf("lock service account %s: %w", id, err)
		}
		if (row.DisabledAt != nil) == disabled {
			return nil
		}
		if err := q.SetUserDisabled(ctx, s.disabledAt(disabled), id); err != nil {
			if db.Constraint(err) == "users_service_key" {
				return apperr.New(apperr.Conflict, "Another service account is called %s now.", row.Name)
			}
			return fmt.Errorf("disable service account %s: %w", id, err)
		}
		return recordAccount(ctx, q, n, verb("service_account", disabled), id, row.Name, state(!disabled), state(disabled))
	})
	if err != nil {
		return ServiceAccount{}, err
	}
	return s.serviceAccount(ctx, project, id)
}

func (s *Service) disabledAt(disabled bool) *time.Time {
	if !disabled {
		return nil
	}
	return new(s.moment())
}

func verb(noun string, disabled bool) string {
	if disabled {
		return noun + ".disable"
	}
	return noun + ".enable"
}

func state(disabled bool) map[string]bool { return map[string]bool{"disabled": disabled} }
