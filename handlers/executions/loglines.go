package executions

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	hitsInTable = 5  // lines below the table of executions
	hitsOnPage  = 50 // on the page of lines
	lineShown   = 400
)

// lines lists the lines that a query finds in the logs of executions.
func (h *lists) lines(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	where := q.Get("where")
	m := views.LogLinesPage{Page: h.Page.Base(r, "Log lines", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()})}
	m.TableURL = label.ListURL(views.ExecutionsURL(), url.Values{}, "where", where)
	names, e, err := h.Table.Parse(r.Context(), where, h.Now())
	problem, mistaken := index.Problem(err)
	down := apperr.Is(err, apperr.Unavailable)
	if err != nil && !mistaken && !down {
		return err
	}
	m.Query = queryBar(url.Values{"where": {where}}, names, problem)
	m.Query.Action = views.ExecutionsURL() + "/lines"
	status := http.StatusOK
	switch {
	case mistaken:
		status = http.StatusUnprocessableEntity
	case down:
		m.Hits, status = h.logHits(r, index.LineQuery{Texts: search.LogTextsOf(where), Limit: hitsOnPage}), http.StatusServiceUnavailable
	default:
		m.Hits = h.logHits(r, index.LineQuery{Query: index.Query{Where: where}, Texts: search.LogTexts(e), After: q.Get("after"), Limit: hitsOnPage})
	}
	return web.Render(w, r, status, views.ExecutionLinesPage(m))
}

// logHits reads lines for a page. If they cannot be read, the page shows the reason in their
// place.
func (h *lists) logHits(r *http.Request, q index.LineQuery) views.LogHits {
	m := views.LogHits{Text: quotedTexts(q.Texts)}
	where := q.Query.Where
	found, err := h.Table.Lines(r.Context(), q)
	if err != nil {
		m.Text, m.Failed = "text", apperr.MessageOf(err)
		if !apperr.Is(err, apperr.Invalid) && !apperr.Is(err, apperr.Unavailable) {
			h.Log.Warn("lines of many logs cannot be read", "error", err)
		}
		return m
	}
	clock := h.Page.Clock(r)
	switch {
	case found.Partial:
		m.Note = "ClickHouse is not responding. The search covers only the latest lines on this server's disk, from all executions of the project."
		if found.Newest {
			m.Note += " There are too many lines: earlier ones were not searched."
		}
	case found.Bare:
		m.Note = "Line numbers and surrounding lines are missing, because these logs are too long to number within 10 s."
	}
	if !found.From.IsZero() {
		m.Range = "Logs of executions launched since " + clock.Moment(found.From).Text + ". Add since:90d to search further back."
	}
	if q.Limit == hitsInTable {
		m.AllURL = views.LogHitsURL(where, "")
	} else if found.Next != "" {
		m.MoreURL = views.LogHitsURL(where, found.Next)
	}
	for _, hit := range found.Hits {
		m.Hits = append(m.Hits, logHit(clock, found, hit, q.Texts))
	}
	return m
}

func quotedTexts(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = "“" + text + "”"
	}
	return strings.Join(quoted, " or ")
}

func logHit(clock ui.Clock, found table.Lines, hit index.Hit, texts []string) views.LogHit {
	id := hit.ExecutionID.String()
	at := clock.Moment(hit.Time)
	line := telemetry.LogLine{NodeIndex: hit.NodeIndex, Attempt: hit.Attempt, Stream: hit.Stream, Seq: hit.Seq, Time: hit.Time}
	one := views.LogHit{
		URL:   views.LogsURL(id, url.Values{"at": {string(telemetry.At(line))}}) + "#" + lineID(line),
		Title: "Execution", Short: label.ShortID(hit.ExecutionID), ExecutionURL: views.ExecutionURL(id),
		Node: hit.Node, Attempt: fmt.Sprintf("attempt %d", hit.Attempt), When: at.Text, Exact: at.Exact,
	}
	if e, ok := found.Executions[hit.ExecutionID]; ok {
		one.Title, one.State = label.ExecutionTitle(e), string(e.Status)
	}
	if hit.Number > 0 {
		one.Number = units.Number(int64(hit.Number))
	}
	for _, l := range hit.Before {
		one.Lines = append(one.Lines, hitLine(l, ""))
	}
	text := foundText(hit.Text(), texts)
	shown := hitLine(hit.Line, text)
	shown.Found = true
	one.Lines = append(one.Lines, shown)
	for _, l := range hit.Behind {
		one.Lines = append(one.Lines, hitLine(l, ""))
	}
	return one
}

// foundText is the text that a message contains.
func foundText(message string, texts []string) string {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(message), strings.ToLower(text)) {
			return text
		}
	}
	return ""
}

// hitLine shows a line; of a long one, the part with the text.
func hitLine(l index.Line, text string) views.LogHitLine {
	whole := l.Text()
	message := []rune(whole)
	if len(message) > lineShown {
		from := 0
		if at := strings.Index(strings.ToLower(whole), strings.ToLower(text)); at > 0 && at <= len(whole) {
			from = min(max(0, len([]rune(whole[:at]))-lineShown/4), len(message)-lineShown)
		}
		cut := string(message[from : from+lineShown])
		if from > 0 {
			cut = "…" + cut
		}
		if from+lineShown < len(message) {
			cut += "…"
		}
		message = []rune(cut)
	}
	one := views.LogHitLine{Level: l.Level, Parts: views.LogParts(string(message), text)}
	if l.Number > 0 {
		one.Number = units.Number(int64(l.Number))
	}
	return one
}
