package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	purposeAttempt = "sign-in attempt"
	purposeHint    = "sign-out hint"
)

// BeginSignIn returns the address at a provider to redirect to, and the sealed attempt
// for FinishSignIn. It returns apperr.NotFound for an unknown provider, and
// apperr.Unavailable while the provider is unreachable.
func (s *Service) BeginSignIn(ctx context.Context, provider, next string) (address, sealed string, err error) {
	p := s.provider(provider)
	if p == nil {
		return "", "", apperr.New(apperr.NotFound, "There is no sign-in provider %q.", provider)
	}
	address, attempt, err := p.Begin(ctx, next)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(attempt)
	if err != nil {
		return "", "", fmt.Errorf("seal sign-in: %w", err)
	}
	return address, s.cfg.Sealer.Seal(purposeAttempt, string(b)), nil
}

// FinishSignIn returns the login for the query of a provider's callback, and the path
// to redirect to. It creates or updates the user, including the memberships through
// groups. It returns apperr.Unauthenticated when the query does not belong to the
// attempt, and apperr.Forbidden for a disabled account.
func (s *Service) FinishSignIn(ctx context.Context, provider, sealed string, query url.Values) (auth.Login, string, error) {
	p := s.provider(provider)
	if p == nil {
		return auth.Login{}, "", apperr.New(apperr.NotFound, "There is no sign-in provider %q.", provider)
	}
	text, err := s.cfg.Sealer.Open(purposeAttempt, sealed)
	if err != nil {
		return auth.Login{}, "", apperr.New(apperr.Unauthenticated, "This sign-in was started in another browser, or took longer than %d minutes. Sign in again.", int(oidc.AttemptTTL.Minutes()))
	}
	var attempt oidc.Attempt
	if err := json.Unmarshal([]byte(text), &attempt); err != nil {
		return auth.Login{}, "", fmt.Errorf("read sign-in: %w", err)
	}
	identity, err := p.Finish(ctx, attempt, query)
	if err != nil {
		return auth.Login{}, "", err
	}
	user, err := s.admit(ctx, identity)
	if err != nil {
		return auth.Login{}, "", err
	}
	return auth.Login{UserID: user, Provider: identity.Provider, LogoutHint: s.cfg.Sealer.Seal(purposeHint, identity.IDToken)}, attempt.Next, nil
}

// person is a user in the audit log.
type person struct {
	Name   string   `json:"name"`
	Email  string   `json:"email,omitempty"`
	Issuer string   `json:"issuer,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// admit creates or updates the user of an identity, updates the memberships through
// groups, and returns the user's id.
func (s *Service) admit(ctx context.Context, id oidc.Identity) (uuid.UUID, error) {
	var user uuid.UUID
	err := s.change(ctx, func(q *db.Queries) error {
		row, created, err := s.upsert(ctx, q, id)
		if err != nil {
			return err
		}
		user = row.ID
		if row.DisabledAt != nil {
			return apperr.New(apperr.Forbidden, "This account is disabled. Ask an administrator.")
		}
		ctx := auth.WithSubject(ctx, auth.Subject{ID: row.ID, Name: id.Name, Role: auth.RoleUser, Credential: "oidc:" + id.Provider})
		if err := s.update(ctx, q, id, row, created); err != nil {
			return err
		}
		if err := s.followGroups(ctx, q, id, row.ID); err != nil {
			return err
		}
		return recordUser(ctx, q, row.ID, id.Name, "session.begin", nil, map[string]string{"provider": id.Provider})
	})
	return user, err
}

// upsert returns the locked row of an identity, which it creates at the first sign-in;
// concurrent calls create one row.
func (s *Service) upsert(ctx context.Context, q *db.Queries, id oidc.Identity) (row db.User, created bool, err error) {
	row, err = q.LockUserByIdentity(ctx, &id.Issuer, &id.Subject)
	if err == nil || !db.IsNoRows(err) {
		return row, false, wrapUser(err, id)
	}
	fresh, err := uuid.NewV7()
	if err != nil {
		return row, false, fmt.Errorf("create id of user: %w", err)
	}
	now := s.cfg.Now()
	made, err := q.InsertIdentity(ctx, db.InsertIdentityParams{
		ID: fresh, Issuer: &id.Issuer, Subject: &id.Subject, Name: id.Name, Email: id.Email, Groups: listed(id.Groups), InstallationAdmin: id.Admin, Now: now,
	})
	if err != nil {
		return row, false, wrapUser(err, id)
	}
	row, err = q.LockUserByIdentity(ctx, &id.Issuer, &id.Subject)
	return row, made > 0, wrapUser(err, id)
}

func wrapUser(err error, id oidc.Identity) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("user of %s at %s: %w", id.Subject, id.Issuer, err)
}

// listed is groups, never nil: the column takes no null.
func listed(groups []string) []string { return append([]string{}, groups...) }

func (s *Service) update(ctx context.Context, q *db.Queries, id oidc.Identity, row db.User, created bool) error {
	after := person{Name: id.Name, Email: id.Email, Issuer: id.Issuer, Groups: id.Groups}
	if created {
		if err := recordUser(ctx, q, row.ID, id.Name, "user.create", nil, after); err != nil {
			return err
		}
		if !id.Admin {
			return nil
		}
		return recordUser(ctx, q, row.ID, id.Name, "user.make_admin", admin(false), admin(true))
	}
	now := s.cfg.Now()
	if err := q.UpdateIdentity(ctx, db.UpdateIdentityParams{ID: row.ID, Name: id.Name, Email: id.Email, Groups: listed(id.Groups), Now: &now}); err != nil {
		return wrapUser(err, id)
	}
	if row.Name != id.Name || row.Email != id.Email || !slices.Equal(row.Groups, listed(id.Groups)) {
		before := person{Name: row.Name, Email: row.Email, Issuer: id.Issuer, Groups: row.Groups}
		if err := recordUser(ctx, q, row.ID, id.Name, "user.update", before, after); err != nil {
			return err
		}
	}
	if !id.Mapped || id.Admin == row.InstallationAdmin {
		return nil
	}
	if err := q.SetInstallationAdmin(ctx, id.Admin, row.ID); err != nil {
		return wrapUser(err, id)
	}
	action := "user.make_admin"
	if !id.Admin {
		action = "user.remove_admin"
	}
	return recordUser(ctx, q, row.ID, id.Name, action, admin(!id.Admin), admin(id.Admin))
}

func admin(is bool) map[string]bool { return map[string]bool{"installation_admin": is} }

func recordUser(ctx context.Context, q *db.Queries, user uuid.UUID, name, action string, before, after any) error {
	return audit.Record(ctx, q, audit.Entry{Action: action, Kind: "user", ID: user.String(), Name: name, Old: before, New: after})
}

// given is a membership through a group in the audit log.
type given struct {
	User   string `json:"user"`
	Role   string `json:"role"`
	Source string `json:"source"`
}

// followGroups updates the memberships through groups to the current groups of id.
func (s *Service) followGroups(ctx context.Context, q *db.Queries, id oidc.Identity, user uuid.UUID) error {
	granted, err := q.ListRolesOfGroups(ctx, id.Provider, listed(id.Groups))
	if err != nil {
		return fmt.Errorf("roles of the groups of %s: %w", user, err)
	}
	has, err := q.ListGroupMemberships(ctx, user)
	if err != nil {
		return fmt.Errorf("memberships by groups of %s: %w", user, err)
	}
	var gone []uuid.UUID
	for _, m := range has {
		if slices.ContainsFunc(granted, func(w db.ListRolesOfGroupsRow) bool {
			return w.NodeID == m.NodeID && w.Role == m.Role && source(id.Provider, w.GroupName) == m.Source
		}) {
			continue
		}
		gone = append(gone, m.ID)
		if err := recordGroup(ctx, q, "member.remove", m.NodeKind, m.NodeID, m.NodeName, m.TenantID, given{id.Name, m.Role, m.Source}); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		if err := q.DeleteGroupMemberships(ctx, gone); err != nil {
			return fmt.Errorf("end memberships by groups of %s: %w", user, err)
		}
	}
	for _, w := range granted {
		from := source(id.Provider, w.GroupName)
		if slices.ContainsFunc(has, func(m db.ListGroupMembershipsRow) bool {
			return w.NodeID == m.NodeID && w.Role == m.Role && from == m.Source
		}) {
			continue
		}
		if err := s.assignRole(ctx, q, id, user, w, from); err != nil {
			return err
		}
	}
	return nil
}

// source is the source of a membership through a group.
func source(provider, group string) string { return "group:" + provider + "/" + group }

func (s *Service) assignRole(ctx context.Context, q *db.Queries, id oidc.Identity, user uuid.UUID, w db.ListRolesOfGroupsRow, from string) error {
	fresh, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("create id of membership: %w", err)
	}
	if err := q.InsertGroupMembership(ctx, db.InsertGroupMembershipParams{ID: fresh, UserID: user, NodeID: w.NodeID, Role: w.Role, Source: from}); err != nil {
		return fmt.Errorf("give %s at %s to %s: %w", w.Role, w.NodeID, user, err)
	}
	return recordGroup(ctx, q, "member.add", w.NodeKind, w.NodeID, w.NodeName, w.TenantID, given{id.Name, w.Role, from})
}

func recordGroup(ctx context.Context, q *db.Queries, action, kind string, node uuid.UUID, name string, tenant *uuid.UUID, g given) error {
	e := audit.Entry{Action: action, Kind: kind, ID: node.String(), Name: name}
	if tenant != nil {
		e.TenantID = *tenant
	}
	if kind == "project" {
		e.ProjectID = node
	}
	if action == "member.add" {
		e.New = g
	} else {
		e.Old = g
	}
	return audit.Record(ctx, q, e)
}

// LocalSignIn records that a login link signed a browser in as the local administrator,
// and returns the sign-in.
func (s *Service) LocalSignIn(ctx context.Context, subject auth.Subject) (auth.Login, error) {
	subject.Credential = "link"
	ctx = auth.WithSubject(ctx, subject)
	err := db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return recordUser(ctx, q, subject.ID, subject.Name, "session.begin", nil, map[string]string{"provider": "login link"})
	})
	return auth.Login{UserID: subject.ID}, err
}

// RecordLink records in the audit log that a login link of the local administrator was
// created. With sign-in providers, only the token of the data directory may do this:
// administrators who signed in act under their own names.
func (s *Service) RecordLink(ctx context.Context) error {
	subject, err := auth.Authorize(ctx, auth.Administer)
	if err != nil {
		return err
	}
	if len(s.cfg.Providers) > 0 && subject.Credential != auth.LocalCredential {
		return apperr.New(apperr.Forbidden, "With sign-in providers, login links can only be created on the server's machine: run `flowforge login` there.")
	}
	return db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return recordUser(ctx, q, subject.ID, subject.Name, "login_link.create", nil, nil)
	})
}

// SignedOut records the sign-out of a browser, and returns the sign-out address of the
// provider; ok is false when it has none.
func (s *Service) SignedOut(ctx context.Context, ended auth.Ended, back string) (address string, ok bool, err error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return "", false, err
	}
	err = db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return recordUser(ctx, q, subject.ID, subject.Name, "session.end", nil, nil)
	})
	p := s.provider(ended.Provider)
	if err != nil || p == nil {
		return "", false, err
	}
	hint, err := s.cfg.Sealer.Open(purposeHint, ended.LogoutHint)
	if err != nil {
		hint = "" // encrypted with another key: without the hint, the provider requests a confirmation
	}
	address, ok = p.SignOutURL(hint, back)
	return address, ok, nil
}
