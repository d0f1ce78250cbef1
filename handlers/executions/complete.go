package executions

import (
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// complete suggests what can follow at the cursor of the query bar, in the project of its view.
func (h *lists) complete(w http.ResponseWriter, r *http.Request) error {
	r = h.inProjectOf(r, r.URL.Query().Get("view"))
	before := r.URL.Query().Get("before")
	if utf8.RuneCountInString(before) > search.MaxLength {
		return apperr.New(apperr.Invalid, "The query is too long. It can have at most 4,000 characters.")
	}
	before = strings.ToValidUTF8(before, "\uFFFD")
	found, err := h.Table.Index.Complete(r.Context(), before)
	if apperr.Is(err, apperr.Unavailable) {
		return web.Render(w, r, http.StatusOK, views.QuerySuggestionList(views.QuerySuggestions{Failed: apperr.MessageOf(err)}))
	}
	if err != nil {
		return err
	}
	m := views.QuerySuggestions{From: utf16Length([]rune(before[:found.From]))}
	for _, s := range found.Suggestions {
		m.List = append(m.List, suggestion(s, found.Typed))
	}
	return web.Render(w, r, http.StatusOK, views.QuerySuggestionList(m))
}

func suggestion(s index.Suggestion, typed string) views.QuerySuggestion {
	out := views.QuerySuggestion{Text: s.Text, Before: s.Label, Help: s.Help}
	at := strings.Index(strings.ToLower(s.Label), strings.ToLower(typed))
	if end := at + len(typed); at >= 0 && end <= len(s.Label) {
		out.Before, out.Hit, out.After = s.Label[:at], s.Label[at:end], s.Label[end:]
	}
	if s.Count >= 0 {
		out.Count = units.Plural(s.Count, "execution", "executions")
	}
	if s.Field.Name == "" {
		return out
	}
	types := make([]string, len(s.Field.Types))
	for i, t := range s.Field.Types {
		types[i] = string(t)
	}
	out.Type = strings.Join(types, " or ")
	if part := partNames()[s.Field.Part]; part != "" {
		out.Help = strings.TrimSuffix(part+" · "+s.Help, " · ")
	}
	return out
}

func partNames() map[search.Part]string {
	return map[search.Part]string{search.Inputs: "Input", search.Outputs: "Output", search.Metrics: "Metric", search.Metadata: "Metadata"}
}

func utf16Length(text []rune) int { return len(utf16.Encode(text)) }
