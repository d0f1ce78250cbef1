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

// Sessions is a gorilla store of browser sessions: the cookie holds a random token and
// auth.Sessions everything else. Every sign-in starts a new session, so a token planted
// before (session fixation) becomes worthless.
type Sessions struct {
	store   *auth.Sessions
	name    string
	options sessions.Options
}

// NewSessions returns Sessions over store. Browsers send a secure cookie over HTTPS only;
// a loopback address has no HTTPS and therefore no __Host- prefix either.
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

// The values of our gorilla sessions.
type (
	subjectValue struct{} // auth.Subject of an existing session
	loginValue   struct{} // auth.Login of a session to start
)

var _ sessions.Store = (*Sessions)(nil)

// Get implements sessions.Store with one lookup per request.
func (s *Sessions) Get(r *http.Request, name string) (*sessions.Session, error) {
	session, err := sessions.GetRegistry(r).Get(s, name)
	return session, err //nolint:wrapcheck // our own New's
}

// New implements sessions.Store. A missing, forged or expired cookie gives an empty new
// session; an error means that the lookup itself failed.
func (s *Sessions) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	options := s.options
	session.Options, session.IsNew = &options, true
	cookie, err := r.Cookie(name)
	if err != nil || cookie.Value == "" {
		return session, nil //nolint:nilerr // no cookie: anonymous
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

// Save implements sessions.Store: it starts a session for a Login, or ends the session
// when its MaxAge is negative.
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
		return nil // only a sign-in changes a session
	}
	token, err := s.store.Begin(r.Context(), login)
	if err != nil {
		return err //nolint:wrapcheck // says enough
	}
	session.ID, session.IsNew = token, false
	http.SetCookie(w, sessions.NewCookie(session.Name(), token, session.Options))
	return nil
}

// SignIn ends the session of r if there is one, starts a new one and sets its cookie.
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

// SignOut ends the session of r on the server and in its browser, and returns the ended
// session; ok is false when there was none.
func (s *Sessions) SignOut(w http.ResponseWriter, r *http.Request) (ended auth.Ended, ok bool, err error) {
	if cookie, missing := r.Cookie(s.name); missing == nil && cookie.Value != "" {
		if ended, ok, err = s.store.End(r.Context(), cookie.Value); err != nil {
			return ended, ok, fmt.Errorf("sign out: %w", err)
		}
	}
	s.Forget(w)
	return ended, ok, nil
}

// SetProject selects the project of subject's session from its next request on. It
// returns apperr.NotFound when subject may not see the project.
func (s *Sessions) SetProject(ctx context.Context, subject auth.Subject, project uuid.UUID) error {
	return s.store.SetProject(ctx, subject, project) //nolint:wrapcheck // says enough
}

// Forget deletes the session cookie in the browser.
func (s *Sessions) Forget(w http.ResponseWriter) {
	options := s.options
	options.MaxAge = -1
	http.SetCookie(w, sessions.NewCookie(s.name, "", &options))
}

// Subject returns the subject of r's session cookie, and none for a missing, forged or
// expired cookie. An error means that the lookup itself failed.
func (s *Sessions) Subject(r *http.Request) (auth.Subject, bool, error) {
	session, err := s.Get(r, s.name)
	if err != nil {
		return auth.Subject{}, false, err
	}
	subject, ok := session.Values[subjectValue{}].(auth.Subject)
	return subject, ok, nil
}

// peek returns the current subject of r's session cookie, and apperr.Unauthenticated if
// the session has ended. It does not count as use of the session.
func (s *Sessions) peek(ctx context.Context, r *http.Request) (auth.Subject, error) {
	cookie, err := r.Cookie(s.name)
	if err != nil {
		return auth.Subject{}, apperr.Wrap(apperr.Unauthenticated, err, "Your session has ended. Sign in again.")
	}
	return s.store.Peek(ctx, cookie.Value) //nolint:wrapcheck // says enough
}

// KeepAttempt stores a sealed sign-in attempt in the browser for at most maxAge seconds,
// until the provider redirects back.
func (s *Sessions) KeepAttempt(w http.ResponseWriter, sealed string, maxAge int) {
	options := s.options
	options.MaxAge = maxAge
	http.SetCookie(w, sessions.NewCookie(s.attemptName(), sealed, &options))
}

// TakeAttempt returns the stored sign-in attempt, or "", and deletes it: an attempt is
// valid for one response of the provider.
func (s *Sessions) TakeAttempt(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie(s.attemptName())
	if err != nil {
		return ""
	}
	s.KeepAttempt(w, "", -1)
	return cookie.Value
}

// attemptName differs from the session's cookie, so that an unfinished sign-in leaves
// the session unchanged.
func (s *Sessions) attemptName() string { return s.name + "_login" }

// Limits returns the time limits of sessions.
func (s *Sessions) Limits() auth.SessionLimits { return s.store.Limits() }
