package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/gorilla/sessions"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// Sessions is a gorilla store of browser sessions: the cookie holds a random
// token, auth.Sessions everything else. A session begins at every sign-in, so a
// token that somebody planted before is worth nothing after.
type Sessions struct {
	store   *auth.Sessions
	name    string
	options sessions.Options
}

// NewSessions returns Sessions over store. A secure cookie is sent over HTTPS
// alone; a loopback address has none, and so no __Host- prefix either.
func NewSessions(store *auth.Sessions, secure bool) *Sessions {
	s := &Sessions{store: store, name: "flowforge_session"}
	if secure {
		s.name = "__Host-" + s.name
	}
	s.options = sessions.Options{
		Path: "/", MaxAge: int(store.Limits().Absolute.Seconds()), HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}
	return s
}

// The values of a gorilla session of ours.
type (
	subjectValue struct{} // auth.Subject, of a session that was found
	loginValue   struct{} // auth.Login, of a session to begin
)

var _ sessions.Store = (*Sessions)(nil)

// Get implements sessions.Store: one look-up per request.
func (s *Sessions) Get(r *http.Request, name string) (*sessions.Session, error) {
	session, err := sessions.GetRegistry(r).Get(s, name)
	return session, err //nolint:wrapcheck // our own New's
}

// New implements sessions.Store. A missing, forged or expired cookie gives an
// empty new session; an error says that nobody could find out.
func (s *Sessions) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	options := s.options
	session.Options, session.IsNew = &options, true
	cookie, err := r.Cookie(name)
	if err != nil || cookie.Value == "" {
		return session, nil //nolint:nilerr // no cookie is nobody
	}
	subject, err := s.store.Find(r.Context(), cookie.Value)
	if apperr.Is(err, apperr.Unauthenticated) {
		return session, nil
	}
	if err != nil {
		return session, err //nolint:wrapcheck // says enough
	}
	session.ID, session.IsNew = cookie.Value, false
	session.Values[subjectValue{}] = subject
	return session, nil
}

// Save implements sessions.Store: it begins the session of a Login, or ends the
// session when its MaxAge is negative.
func (s *Sessions) Save(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	if session.Options.MaxAge < 0 {
		if session.ID != "" {
			if _, _, err := s.store.End(r.Context(), session.ID); err != nil {
				return err //nolint:wrapcheck // says enough
			}
		}
		http.SetCookie(w, sessions.NewCookie(session.Name(), "", session.Options))
		return nil
	}
	login, ok := session.Values[loginValue{}].(auth.Login)
	if !ok {
		return nil // nothing of it changes but by sign-in
	}
	token, err := s.store.Begin(r.Context(), login)
	if err != nil {
		return err //nolint:wrapcheck // says enough
	}
	session.ID, session.IsNew = token, false
	http.SetCookie(w, sessions.NewCookie(session.Name(), token, session.Options))
	return nil
}

// SignIn ends the session that r has, begins a new one and sets its cookie.
func (s *Sessions) SignIn(w http.ResponseWriter, r *http.Request, login auth.Login) error {
	if cookie, err := r.Cookie(s.name); err == nil && cookie.Value != "" {
		if _, _, err := s.store.End(r.Context(), cookie.Value); err != nil {
			return fmt.Errorf("sign in: %w", err)
		}
	}
	session := sessions.NewSession(s, s.name)
	options := s.options
	session.Options = &options
	session.Values[loginValue{}] = login
	if err := s.Save(r, w, session); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

// SignOut ends the session of r on the server and in its browser, and returns
// what it was; ok is false when there was none.
func (s *Sessions) SignOut(w http.ResponseWriter, r *http.Request) (ended auth.Ended, ok bool, err error) {
	if cookie, missing := r.Cookie(s.name); missing == nil && cookie.Value != "" {
		if ended, ok, err = s.store.End(r.Context(), cookie.Value); err != nil {
			return ended, ok, fmt.Errorf("sign out: %w", err)
		}
	}
	s.Forget(w)
	return ended, ok, nil
}

// SetProject makes project the current one of the session that subject came by,
// from its next request on; apperr.NotFound when it is not the subject's to see.
func (s *Sessions) SetProject(ctx context.Context, subject auth.Subject, project uuid.UUID) error {
	return s.store.SetProject(ctx, subject, project) //nolint:wrapcheck // says enough
}

// Forget takes the cookie away from the browser that asks.
func (s *Sessions) Forget(w http.ResponseWriter) {
	options := s.options
	options.MaxAge = -1
	http.SetCookie(w, sessions.NewCookie(s.name, "", &options))
}

// Subject returns who r's cookie signs in; a missing, forged or expired cookie
// signs nobody in. An error says that nobody could find out.
func (s *Sessions) Subject(r *http.Request) (auth.Subject, bool, error) {
	session, err := s.Get(r, s.name)
	if err != nil {
		return auth.Subject{}, false, err
	}
	subject, ok := session.Values[subjectValue{}].(auth.Subject)
	return subject, ok, nil
}

// peek returns who r's cookie signs in now; a cookie that signs nobody in any more is
// apperr.Unauthenticated. It is no use of the session.
func (s *Sessions) peek(ctx context.Context, r *http.Request) (auth.Subject, error) {
	cookie, err := r.Cookie(s.name)
	if err != nil {
		return auth.Subject{}, apperr.Wrap(apperr.Unauthenticated, err, "The session is over. Sign in again.")
	}
	return s.store.Peek(ctx, cookie.Value) //nolint:wrapcheck // says enough
}

// KeepAttempt keeps a sealed sign-in attempt in the browser until the provider
// sends it back, for at most maxAge seconds.
func (s *Sessions) KeepAttempt(w http.ResponseWriter, sealed string, maxAge int) {
	options := s.options
	options.MaxAge = maxAge
	http.SetCookie(w, sessions.NewCookie(s.attemptName(), sealed, &options))
}

// TakeAttempt returns the attempt that the browser keeps, "" without one, and
// takes it away: it is good for one answer.
func (s *Sessions) TakeAttempt(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie(s.attemptName())
	if err != nil {
		return ""
	}
	s.KeepAttempt(w, "", -1)
	return cookie.Value
}

// attemptName is beside the session's, so that a sign-in that is not finished
// leaves the session as it is.
func (s *Sessions) attemptName() string { return s.name + "_login" }

// Limits returns when sessions are over by themselves.
func (s *Sessions) Limits() auth.SessionLimits { return s.store.Limits() }
