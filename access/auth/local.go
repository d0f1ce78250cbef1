package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// LoginLinks issues one-time login links of a local installation. They are kept in
// memory: a restart prints a new one.
type LoginLinks struct {
	now func() time.Time

	mu     sync.Mutex
	tokens map[[sha256.Size]byte]time.Time // hash of the token → expiry
}

// LoginLinkTTL is how long a login link is valid.
const LoginLinkTTL = 24 * time.Hour

// NewLoginLinks returns an empty set of links on the clock now.
func NewLoginLinks(now func() time.Time) *LoginLinks {
	return &LoginLinks{now: now, tokens: map[[sha256.Size]byte]time.Time{}}
}

// Issue returns a new token that signs one browser in as the administrator.
func (l *LoginLinks) Issue() string {
	token := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	for h, expiry := range l.tokens {
		if l.now().After(expiry) {
			delete(l.tokens, h)
		}
	}
	l.tokens[sha256.Sum256([]byte(token))] = l.now().Add(LoginLinkTTL)
	return token
}

// Redeem returns the administrator for a valid token that has not been redeemed;
// otherwise apperr.Unauthenticated.
func (l *LoginLinks) Redeem(token string) (Subject, error) {
	h := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	expiry, ok := l.tokens[h]
	delete(l.tokens, h)
	if !ok || l.now().After(expiry) {
		return Subject{}, apperr.New(apperr.Unauthenticated,
			"This login link has already been used or has expired. Run `flowforge login` on the server to get a new one.")
	}
	return Local(), nil
}

// LocalCredential is the Subject.Credential of a subject with the LocalToken.
const LocalCredential = "token"

// LocalToken is the token of the local administrator: any process that can read its
// file in the data directory.
type LocalToken struct{ hash [sha256.Size]byte }

// NewLocalToken returns a LocalToken that accepts token.
func NewLocalToken(token string) LocalToken { return LocalToken{hash: sha256.Sum256([]byte(token))} }

// Verify implements TokenVerifier for the installation's own token.
func (t LocalToken) Verify(_ context.Context, token string) (Subject, error) {
	h := sha256.Sum256([]byte(token))
	if token == "" || subtle.ConstantTimeCompare(h[:], t.hash[:]) != 1 {
		return Subject{}, ErrOtherToken
	}
	s := Local()
	s.Credential = LocalCredential
	return s, nil
}

// LoadSecret returns the secret in the file at path (0600). If the file does not exist,
// it creates it with 32 random bytes in hex.
func LoadSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) >= 64 {
		return string(b[:64]), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read secret: %w", err)
	}
	half := err == nil // a partial file from a full disk
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("create secret: %w", err)
	}
	secret := hex.EncodeToString(raw)
	tmp, err := os.CreateTemp(filepath.Dir(path), ".secret-*")
	if err != nil {
		return "", fmt.Errorf("write secret: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, werr := tmp.WriteString(secret + "\n")
	if err := errors.Join(werr, tmp.Sync(), tmp.Close()); err != nil {
		return "", fmt.Errorf("write secret: %w", err)
	}
	if half {
		err = os.Rename(tmp.Name(), path)
	} else if err = os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) { // another server created it first
		return LoadSecret(path)
	}
	if err != nil {
		return "", fmt.Errorf("write secret: %w", err)
	}
	return secret, nil
}
