package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

type requestIDKey struct{}

// RequestID returns the id of the request that ctx belongs to.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Identify gives every request an id and returns it in a response header.
func Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.ToLower(rand.Text()[:12])
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// Log writes one debug line per request and turns a panic into a 500 of this request
// alone.
func (s *Site) Log(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		rec := &statusRecorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
					panic(p)
				}
				err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				if rec.status == 0 {
					s.Fail(rec, r, err)
				} else {
					s.LogFailure(r, err)
				}
			}
			s.cfg.Log.LogAttrs(r.Context(), slog.LevelDebug, "request",
				slog.String("request_id", RequestID(r.Context())), slog.String("method", r.Method),
				slog.String("path", r.URL.Path), slog.Int("status", rec.status), slog.Duration("took", time.Since(begin)))
		}()
		next.ServeHTTP(rec, r)
	})
}

// retryAfter is the time in seconds after which a client repeats a request that failed because a dependency was down.
const retryAfter = "5"

// statusRecorder notes the status of a response, and adds Retry-After to each 503.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	if h := r.Header(); status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", retryAfter)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *statusRecorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b) //nolint:wrapcheck // a pass-through
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// started reports whether the response has started.
func started(w http.ResponseWriter) bool {
	for {
		if r, ok := w.(*statusRecorder); ok {
			return r.status != 0
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = inner.Unwrap()
	}
}

// Secure sets the security headers: scripts need a nonce, styles, fonts and images come
// from this server, and no site may frame a page. Caches store no response unless its
// handler allows it. Templates read the nonce with templ.GetNonce.
func Secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails since Go 1.24
		nonce := base64.RawStdEncoding.EncodeToString(b[:])
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"' 'strict-dynamic'; style-src 'self'; "+
			"img-src 'self' data:; media-src 'self'; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		next.ServeHTTP(w, r.WithContext(templ.WithNonce(r.Context(), nonce)))
	})
}

// Legible rejects URLs that contain NUL or bytes that are not UTF-8, because no name or
// text contains them.
func (s *Site) Legible(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.QueryUnescape(r.URL.RawQuery)
		if text := r.URL.Path + query; err != nil || strings.Contains(text, "\x00") || !utf8.ValidString(text) {
			s.Fail(w, r, apperr.New(apperr.Invalid, "The URL contains invalid characters (NUL or bytes that are not UTF-8)."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// SameOrigin rejects state-changing requests from pages of other sites.
func (s *Site) SameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	if s.cfg.PublicURL != "" {
		_ = protection.AddTrustedOrigin(s.cfg.PublicURL) // an invalid URL is never the origin of a page
	}
	protection.SetDenyHandler(s.Handler(func(http.ResponseWriter, *http.Request) error {
		return apperr.New(apperr.Forbidden, "This request came from another site, so nothing was changed.")
	}))
	return protection.Handler(next)
}

// Authenticate identifies the subject of a request by bearer token or session, and its
// project. It rejects a wrong token at once; a request with neither is anonymous.
func (s *Site) Authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject, ok, err := s.subject(w, r)
		if err == nil && ok {
			subject, err = s.inProject(subject, r)
		}
		if err != nil {
			s.Fail(w, r, err)
			return
		}
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		ctx, release := s.guarded(auth.WithSubject(r.Context(), subject), r)
		defer release()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (s *Site) subject(w http.ResponseWriter, r *http.Request) (auth.Subject, bool, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return s.cfg.Sessions.Subject(r)
	}
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return auth.Subject{}, false, apperr.New(apperr.Unauthenticated, "Send the API token as \"Authorization: Bearer …\".")
	}
	subject, err := s.cfg.Tokens.Verify(r.Context(), token)
	if apperr.Is(err, apperr.Unauthenticated) {
		if limited := s.LoginAllowed(w, r); limited != nil {
			return auth.Subject{}, false, limited
		}
		s.LoginFailed(w, r)
	}
	return subject, err == nil, err
}

// ProjectHeader selects the project of an API call by its id, its namespace, or its path
// such as team/project. The query parameter "project" does the same.
const ProjectHeader = "X-FlowForge-Project"

func (s *Site) inProject(subject auth.Subject, r *http.Request) (auth.Subject, error) {
	name := r.Header.Get(ProjectHeader)
	if name == "" && strings.HasPrefix(r.URL.Path, "/api/") {
		name = r.URL.Query().Get("project")
	}
	if name == "" || s.cfg.Users == nil {
		return subject, nil
	}
	return s.cfg.Users.InProject(subject, name) //nolint:wrapcheck // says enough
}
