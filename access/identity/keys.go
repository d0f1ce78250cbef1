package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Key is an API key without its secret, which is not stored.
type Key struct {
	ID              string
	Name            string
	OwnerID         uuid.UUID
	Owner           string
	Service         bool     // the owner is a service account
	Scopes          []string // empty: all that the owner may do
	ProjectID       uuid.UUID
	Project         string // "" for all the owner's projects
	CreatedAt       time.Time
	ExpiresAt       *time.Time
	LastUsedAt      *time.Time
	LastUsedAddress string
}

// Account is a service account that the subject may create keys for.
type Account struct {
	ID        uuid.UUID
	Name      string
	ProjectID uuid.UUID
	Project   string
}

// Keys returns the keys of the subject of ctx, and those of the service accounts of
// projects where the subject may change the members.
func (s *Service) Keys(ctx context.Context) ([]Key, error) {
	subject, err := account(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.New(s.cfg.Pool).ListAPIKeys(ctx, subject.ID, s.managed(subject))
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	keys := make([]Key, len(rows))
	for i, row := range rows {
		keys[i] = Key{
			ID: row.ID, Name: row.Name, OwnerID: row.UserID, Owner: row.UserName, Service: row.UserKind == "service", Scopes: row.Scopes,
			Project: row.ProjectName, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, LastUsedAddress: row.LastUsedAddress,
		}
		if row.ProjectID != nil {
			keys[i].ProjectID = *row.ProjectID
		}
	}
	return keys, nil
}

// managed returns the projects whose service accounts subject may create keys for.
func (s *Service) managed(subject auth.Subject) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, place := range s.cfg.Policies.AllProjects() {
		if subject.May(auth.MemberWrite, place.ID) {
			ids = append(ids, place.ID)
		}
	}
	return ids
}

// Accounts returns the service accounts that the subject may create keys for.
func (s *Service) Accounts(ctx context.Context) ([]Account, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.New(s.cfg.Pool).ListServiceAccountsIn(ctx, s.managed(subject))
	if err != nil {
		return nil, fmt.Errorf("list service accounts: %w", err)
	}
	accounts := make([]Account, len(rows))
	for i, row := range rows {
		accounts[i] = Account{ID: row.ID, Name: row.Name, Project: row.ProjectName}
		if row.ProjectID != nil {
			accounts[i].ProjectID = *row.ProjectID
		}
	}
	return accounts, nil
}

// KeyRequest is the input of CreateKey.
type KeyRequest struct {
	Name      string
	OwnerID   uuid.UUID // uuid.Nil: the subject; else a service account
	Scopes    []string  // empty: all that the owner may do
	ProjectID uuid.UUID // uuid.Nil: all the owner's projects
	ExpiresIn time.Duration
}

// The maximum lifetime of a key; 0 in a request means no expiry.
const (
	maxKeyAge  = 5 * 365 * 24 * time.Hour
	maxKeyName = 100
)

// CreateKey creates an API key and returns it with its token, which is not stored. A
// key cannot create keys, because these could outlive it. It returns apperr.Invalid
// with the invalid fields, and apperr.NotFound for an owner for whom the subject may
// not create keys.
func (s *Service) CreateKey(ctx context.Context, r KeyRequest) (Key, string, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return Key{}, "", err
	}
	if strings.HasPrefix(subject.Credential, "key:") {
		return Key{}, "", apperr.New(apperr.Forbidden, "An API key cannot create API keys. Sign in to create one.")
	}
	r.Name = strings.TrimSpace(r.Name)
	if err := s.checkKey(subject, r); err != nil {
		return Key{}, "", err
	}
	made := s.cfg.Keys.Make()
	key := Key{ID: made.ID, Name: r.Name, OwnerID: subject.ID, Owner: subject.Name, Scopes: append([]string{}, r.Scopes...), ProjectID: r.ProjectID, CreatedAt: s.cfg.Now()}
	if r.ExpiresIn > 0 {
		key.ExpiresAt = new(key.CreatedAt.Add(r.ExpiresIn))
	}
	err = db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if r.OwnerID != uuid.Nil && r.OwnerID != subject.ID {
			if err := s.actFor(ctx, q, subject, r.OwnerID, &key); err != nil {
				return err
			}
		}
		if place, ok := s.cfg.Policies.Project(key.ProjectID); ok {
			key.Project = place.Name
		}
		if err := q.InsertAPIKey(ctx, keyRow(key, subject, made.MAC)); err != nil {
			return fmt.Errorf("store API key: %w", err)
		}
		return s.recordKey(ctx, q, "key.create", key, nil, keyFacts(key))
	})
	return key, made.Token, err
}

func keyRow(key Key, subject auth.Subject, mac []byte) db.InsertAPIKeyParams {
	row := db.InsertAPIKeyParams{
		ID: key.ID, UserID: key.OwnerID, Name: key.Name, SecretHmac: mac, Scopes: key.Scopes,
		CreatedAt: key.CreatedAt, CreatedBy: subject.ID, ExpiresAt: key.ExpiresAt,
	}
	if key.ProjectID != uuid.Nil {
		row.ProjectID = &key.ProjectID
	}
	return row
}

func (s *Service) checkKey(subject auth.Subject, r KeyRequest) error {
	var fields []apperr.Field
	add := func(path, message string) { fields = append(fields, apperr.Field{Path: path, Message: message}) }
	if r.Name == "" || utf8.RuneCountInString(r.Name) > maxKeyName {
		add("name", fmt.Sprintf("Enter a name of at most %d characters, such as the program that uses the key.", maxKeyName))
	}
	if auth.CheckScopes(r.Scopes) != nil {
		add("scopes", "Choose read, launch, write or admin.")
	}
	if r.ExpiresIn < 0 || r.ExpiresIn > maxKeyAge {
		add("expires_in_days", "Enter 1 to 1825 days, or leave the field empty for a key that does not expire.")
	}
	if r.ProjectID != uuid.Nil {
		if _, ok := s.cfg.Policies.Project(r.ProjectID); !ok || !subject.May(auth.TenancyRead, r.ProjectID) {
			add("project", "There is no such project.")
		}
	}
	return apperr.InvalidFields("The key cannot be created.", fields)
}

// actFor makes key a key of a service account. subject must be allowed to change the
// members of its project and have all permissions of the account.
func (s *Service) actFor(ctx context.Context, q *db.Queries, subject auth.Subject, owner uuid.UUID, key *Key) error {
	absent := apperr.New(apperr.NotFound, "There is no service account %s.", owner)
	row, err := q.GetUser(ctx, owner)
	if db.IsNoRows(err) || err == nil && (row.Kind != "service" || row.ProjectID == nil || row.DisabledAt != nil) {
		return absent
	}
	if err != nil {
		return fmt.Errorf("service account %s: %w", owner, err)
	}
	if !subject.May(auth.MemberWrite, *row.ProjectID) {
		return absent
	}
	roles, err := q.ListMembershipsOfUser(ctx, owner)
	if err != nil {
		return fmt.Errorf("roles of service account %s: %w", owner, err)
	}
	policy := s.cfg.Policies.For(owner)
	for _, grant := range auth.Grants() {
		for _, action := range grant.Actions {
			if slices.ContainsFunc(roles, func(m db.ListMembershipsOfUserRow) bool {
				return policy.May(action, m.NodeID) && !subject.May(action, m.NodeID)
			}) {
				return apperr.New(apperr.Forbidden, "The service account %s has more permissions than you, so you cannot create keys for it.", row.Name)
			}
		}
	}
	key.OwnerID, key.Owner, key.Service = row.ID, row.Name, true
	if key.ProjectID != uuid.Nil && key.ProjectID != *row.ProjectID {
		return apperr.InvalidFields("The key cannot be created.", []apperr.Field{{Path: "project", Message: "A service account's key is limited to the account's project."}})
	}
	key.ProjectID = *row.ProjectID
	return nil
}

// RevokeKey revokes a key with effect from its next use. It returns apperr.NotFound for
// a key that the subject may not revoke, or that is already revoked.
func (s *Service) RevokeKey(ctx context.Context, id string) (Key, error) {
	keys, err := s.Keys(ctx)
	if err != nil {
		return Key{}, err
	}
	i := slices.IndexFunc(keys, func(k Key) bool { return k.ID == id })
	if i < 0 {
		return Key{}, errNoKey(id)
	}
	key, now := keys[i], s.cfg.Now()
	err = db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err := q.RevokeAPIKey(ctx, &now, id)
		if err != nil {
			return fmt.Errorf("revoke API key %s: %w", id, err)
		}
		if n == 0 {
			return errNoKey(id)
		}
		return s.recordKey(ctx, q, "key.revoke", key, keyFacts(key), nil)
	})
	if err == nil {
		s.cfg.Policies.Announce()
	}
	return key, err
}

func errNoKey(id string) error {
	return apperr.New(apperr.NotFound, "There is no API key %s, or it is already revoked.", id)
}

func keyFacts(k Key) map[string]any {
	facts := map[string]any{"owner": k.Owner, "scopes": k.Scopes, "project": k.Project}
	if k.ExpiresAt != nil {
		facts["expires_at"] = k.ExpiresAt
	}
	return facts
}

func (s *Service) recordKey(ctx context.Context, q *db.Queries, action string, k Key, before, after map[string]any) error {
	e := audit.Entry{Action: action, Kind: "api_key", ID: k.ID, Name: k.Name, ProjectID: k.ProjectID}
	if place, ok := s.cfg.Policies.Project(k.ProjectID); ok {
		e.TenantID = place.TenantID
	}
	if before != nil {
		e.Old = before
	}
	if after != nil {
		e.New = after
	}
	return audit.Record(ctx, q, e)
}
