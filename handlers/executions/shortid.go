package executions

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// ShortIDs accepts the end of an execution's id in addresses, as pages show it. It redirects
// pages and requests of the API to the full address.
func (h *Pages) ShortIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, text := executionSegment(r.URL.Path)
		if at < 0 {
			next.ServeHTTP(w, r)
			return
		}
		ids, err := h.Executions.EndingWith(r.Context(), text)
		switch {
		case err != nil || len(ids) == 0: // the route itself reports the error
			next.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, request.APIPrefix):
			if len(ids) > 1 {
				h.Site.Fail(w, r, h.ambiguous(r.Context(), text, ids))
				return
			}
			http.Redirect(w, r, withSegment(r.URL, at, ids[0]).RequestURI(), http.StatusTemporaryRedirect)
		case len(ids) == 1 && r.Method == http.MethodGet:
			http.Redirect(w, r, withSegment(r.URL, at, ids[0]).RequestURI(), http.StatusFound)
		case r.Method == http.MethodGet:
			h.Page.Serve(func(w http.ResponseWriter, r *http.Request) error { return h.chooseExecution(w, r, text, ids) })(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// maxChoices is the maximum number of executions that an error names.
const maxChoices = 5

// ambiguous is the error of a suffix of several ids, with the executions to choose from.
func (h *Pages) ambiguous(ctx context.Context, text string, ids []uuid.UUID) error {
	var choices []string
	for _, id := range ids[:min(len(ids), maxChoices)] {
		e, err := h.Executions.Get(ctx, id)
		if err != nil {
			return err
		}
		choices = append(choices, fmt.Sprintf("%s (%s, %s)", id, e.WorkflowName, e.Status))
	}
	if len(ids) > maxChoices {
		choices = append(choices, "and others")
	}
	return apperr.New(apperr.Conflict, "Several executions have an ID that ends with %q: %s. Enter more of its last characters, or the full ID.",
		strings.TrimPrefix(text, "#"), strings.Join(choices, ", "))
}

// executionSegment finds the part of a path that is the end of an execution's id; at is -1 if
// there is none.
func executionSegment(path string) (at int, text string) {
	parts := strings.Split(path, "/")
	at = 2
	if strings.HasPrefix(path, request.APIPrefix+"/") {
		at = strings.Count(request.APIPrefix, "/") + 2
	}
	if len(parts) <= at || parts[at-1] != "executions" {
		return -1, ""
	}
	if _, ok := query.ShortID(parts[at]); !ok {
		return -1, ""
	}
	return at, parts[at]
}

// withSegment is u with one part of its path replaced by an id.
func withSegment(u *url.URL, at int, id uuid.UUID) *url.URL {
	replace := func(path string) string {
		parts := strings.Split(path, "/")
		parts[at] = id.String()
		return strings.Join(parts, "/")
	}
	full := *u
	full.Path = replace(u.Path)
	if u.RawPath != "" {
		full.RawPath = replace(u.RawPath)
	}
	return &full
}

// chooseExecution lists executions whose ids have the same end.
func (h *Pages) chooseExecution(w http.ResponseWriter, r *http.Request, text string, ids []uuid.UUID) error {
	m := views.ChooseExecution{
		Page: h.Page.Base(r, "Choose an execution", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}),
		Text: "#" + strings.TrimPrefix(text, "#"),
	}
	var list []query.Execution
	for _, id := range ids {
		e, err := h.Executions.Get(r.Context(), id)
		if err != nil {
			return err
		}
		list = append(list, e)
	}
	rows, err := h.Rows.Of(r.Context(), h.Page.Clock(r), list)
	if err != nil {
		return err
	}
	m.Rows = rows
	return web.Render(w, r, http.StatusMultipleChoices, views.ChooseExecutionPage(m))
}
