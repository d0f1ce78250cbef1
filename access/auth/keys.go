package auth

import (
	"context"
	"crypto/hmac"
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

// keyPrefix is the prefix of every API key, so that secret scanners detect leaked keys.
const keyPrefix = "ffk_"

const keyIDLength = 12

// Keys creates and verifies API keys: ffk_<id>_<secret>. The database stores only the
// HMAC-SHA256 of a key with a pepper that is not in the database: a copy of the
// database alone neither reveals nor creates keys.
type Keys struct {
	pool   *pgxpool.Pool
	users  *Users
	pepper []byte
	now    func() time.Time
}

// NewKeys returns the keys of the database behind pool; pepper has at least 32 random
// bytes.
func NewKeys(pool *pgxpool.Pool, users *Users, pepper []byte, now func() time.Time) (*Keys, error) {
	if len(pepper) < sha256.Size {
		return nil, fmt.Errorf("the pepper of API keys has %d bytes; %d are needed", len(pepper), sha256.Size)
	}
	return &Keys{pool: pool, users: users, pepper: pepper, now: now}, nil
}

// NewKey is a new key. Token is shown once; the database stores the other two fields.
type NewKey struct {
	ID    string
	Token string
	MAC   []byte
}

// Make returns a new key, which is valid once its id and MAC are stored.
func (k *Keys) Make() NewKey {
	id := strings.ToLower(rand.Text()[:keyIDLength])
	token := keyPrefix + id + "_" + rand.Text() + rand.Text()
	return NewKey{ID: id, Token: token, MAC: k.mac(token)}
}

func (k *Keys) mac(token string) []byte {
	m := hmac.New(sha256.New, k.pepper)
	m.Write([]byte(token))
	return m.Sum(nil)
}

// Verify implements TokenVerifier: it returns the owner of a key, with permissions limited
// to the key's scopes and project.
func (k *Keys) Verify(ctx context.Context, token string) (Subject, error) {
	rest, ok := strings.CutPrefix(token, keyPrefix)
	if !ok {
		return Subject{}, ErrOtherToken
	}
	bad := apperr.New(apperr.Unauthenticated, "The API key is not valid: it was revoked or belongs to another installation.")
	id, _, _ := strings.Cut(rest, "_")
	row, err := db.New(k.pool).FindAPIKey(ctx, id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Subject{}, bad
	case err != nil:
		return Subject{}, fmt.Errorf("find API key: %w", err)
	case !hmac.Equal(row.SecretHmac, k.mac(token)):
		return Subject{}, bad
	}
	now := k.now()
	if row.ExpiresAt != nil && !now.Before(*row.ExpiresAt) {
		return Subject{}, apperr.New(apperr.Unauthenticated, "The API key %q expired on %s.", row.Name, row.ExpiresAt.UTC().Format(time.DateOnly))
	}
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= seenInterval {
		if err := db.New(k.pool).TouchAPIKey(ctx, &now, OriginOf(ctx).Address, id); err != nil {
			return Subject{}, fmt.Errorf("store the use of API key %s: %w", id, err)
		}
	}
	a := account{id: row.UserID, name: row.UserName, admin: row.InstallationAdmin, chosen: row.HomeID}
	only := uuid.Nil
	if row.ProjectID != nil {
		a.chosen, only = row.ProjectID, *row.ProjectID
	}
	s := k.users.subject(a, "key:"+id)
	if only != uuid.Nil && s.ProjectID != only { // no longer a member there
		s.ProjectID, s.TenantID = uuid.Nil, uuid.Nil
	}
	return s.narrow(row.Scopes, only), nil
}
