package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// SessionLimits are the expiry limits of a session.
type SessionLimits struct {
	Idle     time.Duration // without a request
	Absolute time.Duration // since sign-in
}

// DefaultSessionLimits are a working day without a request, and a month.
func DefaultSessionLimits() SessionLimits {
	return SessionLimits{Idle: 12 * time.Hour, Absolute: 30 * 24 * time.Hour}
}

// seenInterval is the minimum interval between updates of the last request time of a
// session or a key.
const seenInterval = time.Minute

// Sessions stores the sessions of browsers in the database, so that ending one takes
// effect at its next request. It is safe for concurrent use.
type Sessions struct {
	pool   *pgxpool.Pool
	users  *Users
	limits SessionLimits
	now    func() time.Time
}

// NewSessions returns the sessions of the database behind pool.
func NewSessions(pool *pgxpool.Pool, users *Users, limits SessionLimits, now func() time.Time) *Sessions {
	return &Sessions{pool: pool, users: users, limits: limits, now: now}
}

// Limits returns the expiry limits of sessions.
func (s *Sessions) Limits() SessionLimits { return s.limits }

// Login is the user who signed in, the provider ("" for a login link), and the token
// that the provider needs at sign-out.
type Login struct {
	UserID     uuid.UUID
	Provider   string
	LogoutHint string
}

// Session is one browser that is signed in.
type Session struct {
	ID        uuid.UUID
	Provider  string
	Address   string
	UserAgent string
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

// Begin begins a session and returns its token, which is not stored. It returns
// apperr.Forbidden when the user is disabled.
func (s *Sessions) Begin(ctx context.Context, login Login) (token string, err error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("create id of session: %w", err)
	}
	token = rand.Text() + rand.Text()
	origin := OriginOf(ctx)
	var project *uuid.UUID
	for _, place := range s.users.policies.Projects(login.UserID) {
		project = &place.ID
		break
	}
	if s.users.policies.IsAdmin(login.UserID) {
		project = nil // that of the installation, until the user chooses another
	}
	now := s.now()
	started, err := db.New(s.pool).InsertSession(ctx, db.InsertSessionParams{
		TokenHash: tokenHash(token), ID: id, UserID: login.UserID, ProjectID: project, Provider: login.Provider, LogoutHint: login.LogoutHint,
		Address: origin.Address, UserAgent: firstBytes(origin.UserAgent, 300), Now: now, ExpiresAt: now.Add(s.limits.Absolute),
	})
	if err != nil {
		return "", fmt.Errorf("begin session of %s: %w", login.UserID, err)
	}
	if started == 0 {
		return "", apperr.New(apperr.Forbidden, "This account is disabled. Ask an administrator.")
	}
	return token, nil
}

// Find returns the subject of the session of token, and records its use. It returns
// apperr.Unauthenticated when the session does not exist or has ended.
func (s *Sessions) Find(ctx context.Context, token string) (Subject, error) {
	row, err := s.row(ctx, token)
	if err != nil {
		return Subject{}, err
	}
	if now := s.now(); now.Sub(row.SeenAt) >= seenInterval {
		if err := db.New(s.pool).TouchSession(ctx, now, OriginOf(ctx).Address, tokenHash(token)); err != nil {
			return Subject{}, fmt.Errorf("store the use of session %s: %w", row.ID, err)
		}
	}
	return s.subject(row), nil
}

// Peek is Find without recording a use: an open page does not keep its session from
// expiring.
func (s *Sessions) Peek(ctx context.Context, token string) (Subject, error) {
	row, err := s.row(ctx, token)
	if err != nil {
		return Subject{}, err
	}
	return s.subject(row), nil
}

func (s *Sessions) row(ctx context.Context, token string) (db.FindSessionRow, error) {
	now := s.now()
	row, err := db.New(s.pool).FindSession(ctx, tokenHash(token), now, now.Add(-s.limits.Idle))
	if errors.Is(err, pgx.ErrNoRows) {
		return row, apperr.New(apperr.Unauthenticated, "Your session has ended. Sign in again.")
	}
	if err != nil {
		return row, fmt.Errorf("find session: %w", err)
	}
	return row, nil
}

func (s *Sessions) subject(row db.FindSessionRow) Subject {
	a := account{id: row.UserID, name: row.Name, admin: row.InstallationAdmin, chosen: row.ProjectID}
	return s.users.subject(a, sessionCredential+row.ID.String())
}

const sessionCredential = "session:"

// SetProject makes project the current one of the subject's session, from its next
// request on. It returns apperr.NotFound for a project that subject may not read, and
// does nothing for a subject without a session.
func (s *Sessions) SetProject(ctx context.Context, subject Subject, project uuid.UUID) error {
	if _, err := s.users.InProject(subject, project.String()); err != nil {
		return err
	}
	id, ok := subject.SessionID()
	if !ok {
		return nil
	}
	if err := db.New(s.pool).SetSessionProject(ctx, &project, id); err != nil {
		return fmt.Errorf("choose project of session %s: %w", id, err)
	}
	return nil
}

// SessionID returns the session of s, if it has one.
func (s Subject) SessionID() (uuid.UUID, bool) {
	text, ok := strings.CutPrefix(s.Credential, sessionCredential)
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// Ended is a session that was ended.
type Ended struct {
	ID         uuid.UUID
	Provider   string
	LogoutHint string
}

// End ends the session of token, if there is one.
func (s *Sessions) End(ctx context.Context, token string) (Ended, bool, error) {
	rows, err := db.New(s.pool).EndSessionOfToken(ctx, tokenHash(token))
	if err != nil {
		return Ended{}, false, fmt.Errorf("end session: %w", err)
	}
	s.users.policies.Announce()
	for _, row := range rows {
		return Ended{ID: row.ID, Provider: row.Provider, LogoutHint: row.LogoutHint}, true, nil
	}
	return Ended{}, false, nil
}

// EndOf ends one session of a user within the transaction of q, and reports whether it
// existed.
func (s *Sessions) EndOf(ctx context.Context, q *db.Queries, user, id uuid.UUID) (bool, error) {
	rows, err := q.EndSession(ctx, id, user)
	if err != nil {
		return false, fmt.Errorf("end session %s: %w", id, err)
	}
	return len(rows) > 0, nil
}

// EndAll ends every session of a user within the transaction of q, and returns their
// number.
func (s *Sessions) EndAll(ctx context.Context, q *db.Queries, user uuid.UUID) (int64, error) {
	n, err := q.EndSessionsOfUser(ctx, user)
	if err != nil {
		return 0, fmt.Errorf("end sessions of %s: %w", user, err)
	}
	return n, nil
}

// List returns the sessions of a user, most recently used first.
func (s *Sessions) List(ctx context.Context, user uuid.UUID) ([]Session, error) {
	now := s.now()
	rows, err := db.New(s.pool).ListSessions(ctx, user, now, now.Add(-s.limits.Idle))
	if err != nil {
		return nil, fmt.Errorf("list sessions of %s: %w", user, err)
	}
	out := make([]Session, len(rows))
	for i, row := range rows {
		out[i] = Session(row)
	}
	return out, nil
}

// sweepInterval is how often ended sessions are deleted.
const sweepInterval = time.Hour

// Run deletes ended sessions until ctx ends.
func (s *Sessions) Run(ctx context.Context) error {
	ticks := time.NewTicker(sweepInterval)
	defer ticks.Stop()
	for {
		now := s.now()
		_, _ = db.New(s.pool).DeleteExpiredSessions(ctx, now, now.Add(-s.limits.Idle)) // ended sessions are refused anyway; the next round retries
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
	}
}

func tokenHash(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// firstBytes returns at most n bytes of text without splitting a character.
func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
