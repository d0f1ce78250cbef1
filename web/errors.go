package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// Status returns the HTTP status of an error code.
func Status(code apperr.Code) int {
	switch code {
	case apperr.Invalid:
		return http.StatusUnprocessableEntity
	case apperr.Unauthenticated:
		return http.StatusUnauthorized
	case apperr.Forbidden:
		return http.StatusForbidden
	case apperr.NotFound:
		return http.StatusNotFound
	case apperr.Conflict:
		return http.StatusConflict
	case apperr.Gone:
		return http.StatusGone
	case apperr.Quota:
		return http.StatusTooManyRequests
	case apperr.Unavailable:
		return http.StatusServiceUnavailable
	case apperr.Internal:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// Problem is the body of a failed API call (RFC 9457) with the invalid fields.
type Problem struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail"`
	Code      apperr.Code    `json:"code"`
	RequestID string         `json:"request_id"`
	Errors    []apperr.Field `json:"errors,omitempty"`

	// Aliases with the field names of the design document's API.
	Error     string   `json:"error" doc:"Alias of detail"`
	Details   []string `json:"details,omitempty" doc:"The errors as strings"`
	QuotaInfo any      `json:"quota_info,omitempty" doc:"Quota that blocks the request, in the format of GET /tenants/{id}/quota"`
}

// Named returns p with the fields of the design document's API.
func (p Problem) Named() Problem {
	p.Error, p.Details = p.Detail, nil
	for _, f := range p.Errors {
		p.Details = append(p.Details, f.Path+": "+f.Message)
	}
	return p
}

// ProblemOf returns err as the body of an API response, without its cause.
func ProblemOf(err error, requestID string) Problem {
	code := apperr.CodeOf(err)
	status, detail := Status(code), apperr.MessageOf(err)
	if s := bodyStatus(err); s != 0 {
		code, status, detail = apperr.Invalid, s, bodyMessage(err)
	}
	p := Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail,
		Code: code, RequestID: requestID, Errors: apperr.FieldsOf(err),
	}
	return p.Named()
}

// LogFailure logs internal errors as errors and unreachable dependencies as warnings.
// It logs nothing when the client has disconnected.
func (s *Site) LogFailure(r *http.Request, err error) {
	if errors.Is(err, context.Canceled) || bodyStatus(err) != 0 {
		return
	}
	level := slog.LevelError
	switch apperr.CodeOf(err) {
	case apperr.Internal:
	case apperr.Unavailable:
		level = slog.LevelWarn
	case apperr.Invalid, apperr.Unauthenticated, apperr.Forbidden, apperr.NotFound, apperr.Conflict, apperr.Gone, apperr.Quota:
		return
	}
	s.cfg.Log.LogAttrs(r.Context(), level, "request failed",
		slog.String("request_id", RequestID(r.Context())), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.Any("error", err))
}

// Fail answers r with err: a redirect to the sign-in page for a browser without a
// session, problem+json for programs, and the error page otherwise. It writes nothing
// if the response has started, such as a stream, or if the client has disconnected.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	s.LogFailure(r, err)
	s.answer(w, r, ProblemOf(err, RequestID(r.Context())))
}

// WrongMethod answers a request with a method that its path does not support.
func (s *Site) WrongMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.answer(w, r, Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusMethodNotAllowed), Status: http.StatusMethodNotAllowed,
		Detail: "This URL accepts " + strings.Join(allowed, ", ") + ", not " + r.Method + ".", Code: apperr.Invalid, RequestID: RequestID(r.Context()),
	}.Named())
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request, p Problem) {
	if started(w) || r.Context().Err() != nil && p.Status != http.StatusRequestTimeout {
		return
	}
	if prefersJSON(r) {
		WriteJSON(w, p.Status, "application/problem+json", p)
		return
	}
	if p.Code == apperr.Unauthenticated && r.Method == http.MethodGet && r.URL.Path != "/login" {
		http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	view := ErrorView{Status: p.Status, Title: p.Title, Message: p.Detail, Fields: p.Errors, RequestID: p.RequestID}
	if r.Method == http.MethodGet {
		view.Path = r.URL.RequestURI()
	}
	if subject, ok := auth.SubjectOf(r.Context()); ok {
		view.User = subject.Name
	}
	if rerr := Render(w, r, p.Status, s.cfg.ErrorPage(r, view)); rerr != nil {
		s.cfg.Log.Error("error page failed", "request_id", p.RequestID, "error", rerr)
		http.Error(w, p.Title, p.Status)
	}
}

// WriteJSON writes v as the body of the response.
func WriteJSON(w http.ResponseWriter, status int, mediaType string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the response could not be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may have disconnected
}

// prefersJSON reports whether a program sent r: the paths below /api and /metaflow have no pages.
func prefersJSON(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/metaflow/") || strings.HasPrefix(r.URL.Path, "/hooks/") || strings.HasPrefix(r.Header.Get("Accept"), "application/json")
}
