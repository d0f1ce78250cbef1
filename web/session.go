package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/sessions"

	"github.com/flowforge/flowforge/auth"
)

// SessionTTL is how long a sign-in lasts.
const SessionTTL = 30 * 24 * time.Hour

// Sessions keeps who is signed in in an encrypted, authenticated cookie.
type Sessions struct {
	store *sessions.CookieStore
	name  string
	now   func() time.Time
}

// NewSessions returns Sessions whose cookies are sealed with hashKey (32 bytes or
// more) and blockKey (32 bytes). A secure cookie is sent over HTTPS alone; a
// loopback address has none, and so no __Host- prefix either.
func NewSessions(hashKey, blockKey []byte, secure bool, now func() time.Time) *Sessions {
	store := sessions.NewCookieStore(hashKey, blockKey)
	store.MaxAge(int(SessionTTL.Seconds()))
	store.Options.Path = "/"
	store.Options.HttpOnly = true
	store.Options.SameSite = http.SameSiteLaxMode
	store.Options.Secure = secure
	name := "flowforge_session"
	if secure {
		name = "__Host-" + name
	}
	return &Sessions{store: store, name: name, now: now}
}

// SignIn begins a new session of subject and sets its cookie.
func (s *Sessions) SignIn(w http.ResponseWriter, r *http.Request, subject auth.Subject) error {
	session := sessions.NewSession(s.store, s.name)
	options := *s.store.Options
	session.Options = &options
	session.Values["id"] = subject.ID.String()
	session.Values["name"] = subject.Name
	session.Values["role"] = string(subject.Role)
	session.Values["tenant"] = subject.TenantID.String()
	session.Values["project"] = subject.ProjectID.String()
	session.Values["at"] = s.now().Unix()
	if err := s.store.Save(r, w, session); err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	return nil
}

// SignOut ends the session of r in its browser.
func (s *Sessions) SignOut(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is off on loopback alone, which has no TLS
		Name: s.name, Path: "/", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: s.store.Options.Secure,
	})
}

// Subject returns who r's cookie signs in; a missing, forged or expired cookie
// signs nobody in.
func (s *Sessions) Subject(r *http.Request) (auth.Subject, bool) {
	session, err := s.store.New(r, s.name)
	if err != nil || session.IsNew {
		return auth.Subject{}, false
	}
	text := func(key string) string { v, _ := session.Values[key].(string); return v }
	at, _ := session.Values["at"].(int64)
	if s.now().Sub(time.Unix(at, 0)) > SessionTTL {
		return auth.Subject{}, false
	}
	id, err1 := uuid.Parse(text("id"))
	tenant, err2 := uuid.Parse(text("tenant"))
	project, err3 := uuid.Parse(text("project"))
	if err1 != nil || err2 != nil || err3 != nil {
		return auth.Subject{}, false
	}
	return auth.Subject{ID: id, Name: text("name"), Role: auth.Role(text("role")), TenantID: tenant, ProjectID: project}, true
}
