package tenancy

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// User is a person with an account.
type User struct {
	ID         uuid.UUID
	Name       string
	Email      string
	Issuer     string // of the sign-in provider; "" for the local administrator
	Groups     []string
	Admin      bool // of the installation
	Roles      int
	Sessions   int // that are open
	CreatedAt  time.Time
	SeenAt     *time.Time
	DisabledAt *time.Time
}

// UserFilter narrows a list of users. Status is "", "active", "disabled" or "admin".
// After is the Next of the previous page.
type UserFilter struct {
	Text   string // part of name or e-mail
	Status string
	After  string
	Limit  int
}

// Users returns the people of the installation, by id, for its administrators.
func (s *Service) Users(ctx context.Context, f UserFilter) (Page[User], error) {
	if err := administers(ctx); err != nil {
		return Page[User]{}, err
	}
	after, err := cursor(f.After)
	if err != nil {
		return Page[User]{}, err
	}
	limit := pageSize(f.Limit)
	rows, err := db.New(s.pool).ListUsers(ctx, db.ListUsersParams{Now: s.moment(), After: after, Pattern: pattern(f.Text), Status: f.Status, RowLimit: int32(limit + 1)}) //nolint:gosec // bounded by pageSize
	if err != nil {
		return Page[User]{}, fmt.Errorf("list users: %w", err)
	}
	var page Page[User]
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = rows[limit-1].ID.String()
	}
	for _, row := range rows {
		u := userOf(db.User{
			ID: row.ID, Name: row.Name, Email: row.Email, Issuer: row.Issuer, Groups: row.Groups, InstallationAdmin: row.InstallationAdmin,
			CreatedAt: row.CreatedAt, SeenAt: row.SeenAt, DisabledAt: row.DisabledAt,
		})
		u.Roles, u.Sessions = int(row.Roles), int(row.Sessions)
		page.Items = append(page.Items, u)
	}
	return page, nil
}

// administers authorizes actions on the whole installation.
func administers(ctx context.Context) error {
	_, err := auth.AuthorizeIn(ctx, auth.Administer, auth.Installation, apperr.New(apperr.Forbidden, "Only installation administrators can do this."))
	return err
}

func userOf(row db.User) User {
	u := User{
		ID: row.ID, Name: row.Name, Email: row.Email, Groups: row.Groups, Admin: row.InstallationAdmin,
		CreatedAt: row.CreatedAt.UTC(), SeenAt: row.SeenAt, DisabledAt: row.DisabledAt,
	}
	if row.Issuer != nil {
		u.Issuer = *row.Issuer
	}
	return u
}

// UserRole is a role of a user and where it is given.
type UserRole struct {
	Step
	Role     string
	Provider string
	Group    string
	Archived bool
}

// User returns a person with the roles they have, for administrators.
func (s *Service) User(ctx context.Context, id uuid.UUID) (User, []UserRole, error) {
	if err := administers(ctx); err != nil {
		return User{}, nil, err
	}
	q := db.New(s.pool)
	row, err := q.GetUser(ctx, id)
	if db.IsNoRows(err) || err == nil && row.Kind != "person" {
		return User{}, nil, errNoUser(id)
	}
	if err != nil {
		return User{}, nil, fmt.Errorf("user %s: %w", id, err)
	}
	rows, err := q.RolesOfUser(ctx, id)
	if err != nil {
		return User{}, nil, fmt.Errorf("roles of user %s: %w", id, err)
	}
	u := userOf(row)
	u.Roles = len(rows)
	var roles []UserRole
	for _, r := range rows {
		role := UserRole{Step: Step{ID: r.NodeID, Kind: Kind(r.Kind), Name: r.Name, Readable: true}, Role: r.Role, Archived: r.Archived}
		role.Provider, role.Group = splitSource(r.Source)
		roles = append(roles, role)
	}
	return u, roles, nil
}

func errNoUser(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no user %s.", id) }

// UserEdit changes an account. nil fields stay as they are.
type UserEdit struct {
	Disabled *bool
	Admin    *bool // an administrator of the installation
}

// userChange changes the locked row of a person, and returns the action for the audit log; an empty
// action means no change.
type userChange func(ctx context.Context, q *db.Queries, row *db.User) (action string, before, after any, err error)

// ChangeUser makes all changes of e or none. Errors are those of SetUserDisabled and SetUserAdmin.
func (s *Service) ChangeUser(ctx context.Context, id uuid.UUID, e UserEdit) (User, error) {
	var changes []userChange
	if e.Disabled != nil {
		changes = append(changes, s.disabling(*e.Disabled))
	}
	if e.Admin != nil {
		changes = append(changes, promotion(*e.Admin))
	}
	return s.changeUser(ctx, id, changes...)
}

// SetUserDisabled disables a person, whose sessions end at once and whose keys and
// tokens are refused, or enables them again. Users cannot disable themselves or the
// last administrator.
func (s *Service) SetUserDisabled(ctx context.Context, id uuid.UUID, disabled bool) (User, error) {
	return s.ChangeUser(ctx, id, UserEdit{Disabled: &disabled})
}

func (s *Service) disabling(disabled bool) userChange {
	return func(ctx context.Context, q *db.Queries, row *db.User) (string, any, any, error) {
		if (row.DisabledAt != nil) == disabled {
			return "", nil, nil, nil
		}
		row.DisabledAt = s.disabledAt(disabled)
		if disabled {
			if err := s.mayDisable(ctx, q, *row); err != nil {
				return "", nil, nil, err
			}
			if _, err := q.EndSessionsOfUser(ctx, row.ID); err != nil {
				return "", nil, nil, fmt.Errorf("end sessions of %s: %w", row.ID, err)
			}
		}
		return verb("user", disabled), state(!disabled), state(disabled), q.SetUserDisabled(ctx, row.DisabledAt, row.ID)
	}
}

func (s *Service) mayDisable(ctx context.Context, q *db.Queries, row db.User) error {
	if subject, _ := auth.SubjectOf(ctx); subject.ID == row.ID {
		return apperr.New(apperr.Conflict, "You cannot disable yourself. Ask another administrator.")
	}
	if row.InstallationAdmin {
		return lastAdmin(ctx, q, row.ID)
	}
	return nil
}

// SetUserAdmin makes a person an administrator of the installation, or ends that. The
// last one cannot be removed. The person's sessions end, so that none keeps the old
// permissions.
func (s *Service) SetUserAdmin(ctx context.Context, id uuid.UUID, admin bool) (User, error) {
	return s.ChangeUser(ctx, id, UserEdit{Admin: &admin})
}

func promotion(admin bool) userChange {
	return func(ctx context.Context, q *db.Queries, row *db.User) (string, any, any, error) {
		if row.InstallationAdmin == admin {
			return "", nil, nil, nil
		}
		if admin && row.DisabledAt != nil {
			return "", nil, nil, apperr.New(apperr.Conflict, "The account %s is disabled. Enable it first.", row.Name)
		}
		if !admin {
			if err := lastAdmin(ctx, q, row.ID); err != nil {
				return "", nil, nil, err
			}
		}
		if _, err := q.EndSessionsOfUser(ctx, row.ID); err != nil {
			return "", nil, nil, fmt.Errorf("end sessions of %s: %w", row.ID, err)
		}
		row.InstallationAdmin = admin
		action := "user.make_admin"
		if !admin {
			action = "user.remove_admin"
		}
		return action, map[string]bool{"installation_admin": !admin}, map[string]bool{"installation_admin": admin}, q.SetInstallationAdmin(ctx, admin, row.ID)
	}
}

// lastAdmin returns an error if id is the last administrator who signs in with a provider.
// The local administrator, who needs the machine itself, does not count.
func lastAdmin(ctx context.Context, q *db.Queries, id uuid.UUID) error {
	others, err := q.CountOtherAdmins(ctx, id, auth.LocalAdmin)
	if err != nil {
		return fmt.Errorf("count administrators: %w", err)
	}
	if subject, _ := auth.SubjectOf(ctx); others == 0 && subject.ID != auth.LocalAdmin {
		return apperr.New(apperr.Conflict, "This change would leave no administrator who can sign in. Make another user an administrator first.")
	}
	return nil
}

// changeUser makes changes of a person in one transaction and records each of them.
func (s *Service) changeUser(ctx context.Context, id uuid.UUID, changes ...userChange) (User, error) {
	if err := administers(ctx); err != nil {
		return User{}, err
	}
	var user User
	err := s.change(ctx, func(q *db.Queries) error {
		row, err := q.LockUser(ctx, id)
		if db.IsNoRows(err) || err == nil && row.Kind != "person" {
			return errNoUser(id)
		}
		if err != nil {
			return fmt.Errorf("lock user %s: %w", id, err)
		}
		if id == auth.LocalAdmin {
			return apperr.New(apperr.Conflict, "The local administrator belongs to the installation and cannot be changed.")
		}
		for _, change := range changes {
			action, before, after, err := change(ctx, q, &row)
			if err != nil {
				return err
			}
			if action == "" {
				continue
			}
			if err := audit.Record(ctx, q, audit.Entry{Action: action, Kind: "user", ID: id.String(), Name: row.Name, Old: before, New: after}); err != nil {
				return err
			}
		}
		user = userOf(row)
		return nil
	})
	return user, err
}
