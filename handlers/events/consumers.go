package events

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
	"github.com/flowforge/flowforge/engine/feed/sink"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	lettersShown = 20
	// reading is how recently a consumer that reads has read.
	reading = 2 * time.Minute
)

// refOf is the consumer that an address names.
func refOf(r *http.Request) consumer.Ref {
	return consumer.Ref{Name: request.PathValue(r, "name"), Installation: r.URL.Query().Get("all_projects") == "true"}
}

// consumers lists the consumers that the user may use.
func (h *Pages) consumers(w http.ResponseWriter, r *http.Request) error {
	list, err := h.Consumers.List(r.Context())
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	m := views.Consumers{Page: h.Page.Base(r, "Consumers", views.SectionEvents, feedCrumb()), Tabs: tabs(r, true), NewURL: views.NewConsumerURL()}
	for _, c := range list {
		m.Rows = append(m.Rows, h.consumerRow(clock, c))
	}
	return web.Render(w, r, http.StatusOK, views.ConsumersPage(m))
}

func feedCrumb() views.Crumb      { return views.Crumb{Name: "Events", URL: views.FeedURL(nil)} }
func consumersCrumb() views.Crumb { return views.Crumb{Name: "Consumers", URL: views.ConsumersURL()} }

func (h *Pages) consumerRow(clock ui.Clock, c consumer.Consumer) views.ConsumerRow {
	row := views.ConsumerRow{
		Name: c.Name, URL: views.ConsumerURL(c.Name, c.Installation, ""), About: about(c), Lag: lag(c), Behind: "–",
		DeadLetters: units.Number(c.DeadLetters), Dead: c.DeadLetters > 0,
	}
	if c.Oldest != nil {
		row.Behind = units.Compact(clock.Now.Sub(*c.Oldest))
	}
	if c.AcknowledgedAt != nil {
		at := clock.Moment(*c.AcknowledgedAt)
		row.Last = &at
	}
	row.State, row.Word = h.state(c)
	return row
}

func lag(c consumer.Consumer) string {
	if c.LagMore {
		return units.Number(c.Lag) + "+"
	}
	return units.Number(c.Lag)
}

// state returns the state of executions whose icon suits a consumer, and the word for it.
func (h *Pages) state(c consumer.Consumer) (state, word string) {
	recent := c.ReadAt != nil && h.Now().Sub(*c.ReadAt) < reading
	switch {
	case c.Stopped():
		return "FAILED", "Stopped"
	case c.Problem != "":
		return "FAILED", "Not accepted"
	case c.Failing > 0:
		return "RETRYING", "Retrying"
	case c.ReadAt == nil:
		return "PENDING", "Not read yet"
	case c.Lag == 0:
		return "SUCCEEDED", "Up to date"
	case recent:
		return "RUNNING", "Reading"
	}
	return "PAUSED", "Behind"
}

// about says which events a consumer receives.
func about(c consumer.Consumer) string {
	words := "All topics but audit"
	if len(c.Topics) > 0 {
		words = strings.Join(c.Topics, ", ")
	}
	if len(c.Types) > 0 {
		words = strings.Join(c.Types, ", ")
		if len(c.Topics) > 0 {
			words += " of " + strings.Join(c.Topics, ", ")
		}
	}
	if c.Installation {
		words += ", all projects"
	}
	if c.Sink {
		words += ", sent to " + sink.System(c.Name).String()
	}
	return words
}

// consumer shows a consumer with its dead letters.
func (h *Pages) consumer(w http.ResponseWriter, r *http.Request) error {
	ref, q := refOf(r), r.URL.Query()
	c, err := h.Consumers.Get(r.Context(), ref)
	if err != nil {
		return err
	}
	letters, err := h.Consumers.DeadLetters(r.Context(), ref, q.Get("after"), lettersShown)
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	m := views.Consumer{
		Page: h.Page.Base(r, c.Name, views.SectionEvents, feedCrumb(), consumersCrumb()), Row: h.consumerRow(clock, c), Facts: consumerFacts(clock, c),
		DeleteURL: views.ConsumerURL(c.Name, c.Installation, "delete"), RedeliverURL: views.ConsumerURL(c.Name, c.Installation, "redeliver"), DiscardURL: views.ConsumerURL(c.Name, c.Installation, "discard"),
	}
	if !c.Sink {
		m.Command = "flowforge events consume " + c.Name
		if c.Installation {
			m.Command += " --all-projects"
		}
	}
	m.Notice = notice(q)
	m.Problem, m.ProblemText = trouble(c)
	for _, d := range letters.Letters {
		letter := views.DeadLetter{FeedRow: rowOf(r, clock, d.Event), Tries: units.Plural(d.Tries, "try", "tries"), Error: d.Error}
		if d.FailedAt != nil {
			at := clock.Moment(*d.FailedAt)
			letter.FailedAt = &at
		}
		m.Letters = append(m.Letters, letter)
	}
	m.Pager = ui.Pager{Text: units.Plural(c.DeadLetters, "dead letter", "dead letters"), InOrder: true}
	if q.Get("after") != "" {
		m.Pager.Newer = m.Row.URL
	}
	if letters.Next != "" {
		m.Pager.Older = with(m.Row.URL, url.Values{"after": {letters.Next}})
	}
	return web.Render(w, r, http.StatusOK, views.ConsumerPage(m))
}

// with adds parameters to an address that may have some.
func with(address string, q url.Values) string {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + q.Encode()
}

func notice(q url.Values) string {
	n, _ := strconv.Atoi(q.Get("events")) // 0 for an address that a user typed
	switch q.Get("done") {
	case "created":
		return "The consumer was created."
	case "redeliver":
		return units.Plural(n, "event is", "events are") + " delivered again."
	case "discard":
		return units.Plural(n, "dead letter was", "dead letters were") + " discarded."
	}
	return ""
}

// trouble describes what is wrong with a consumer, and what to do about it.
func trouble(c consumer.Consumer) (title, text string) {
	switch {
	case c.Stopped():
		return "The consumer receives no events.", "It has " + units.Number(c.DeadLetters) + " dead letters, the maximum. Redeliver or discard them."
	case c.Problem != "":
		return "The broker does not accept events. They wait in the feed.", c.Problem
	case c.Missed > 0:
		return "The consumer may have missed events. The feed removed " + units.Plural(c.Missed, "event", "events") + " before it was read, of all types and projects.", "Events are kept for a limited time. Read more often, or raise FLOWFORGE_RETENTION_EVENTS."
	}
	return "", ""
}

func consumerFacts(clock ui.Clock, c consumer.Consumer) []ui.Fact {
	list := []ui.Fact{
		{Name: "Lag", Value: lag(c)}, {Name: "Being processed", Value: units.Number(c.Taken - c.Failing)}, {Name: "Retrying", Value: units.Number(c.Failing)},
		{Name: "Acknowledged", Value: units.Number(c.Acknowledged)}, {Name: "Cursor", Value: c.Cursor, Mono: true},
	}
	moment := func(name string, at *time.Time) {
		fact := ui.Fact{Name: name, Value: "Never"}
		if at != nil {
			m := clock.Moment(*at)
			fact = ui.Fact{Name: name, Moment: &m}
		}
		list = append(list, fact)
	}
	if c.Oldest != nil {
		moment("Oldest event", c.Oldest)
	}
	moment("Last acknowledged", c.AcknowledgedAt)
	moment("Last read", c.ReadAt)
	list = append(list, ui.Fact{Name: "Maximum tries", Value: strconv.Itoa(c.MaxTries)})
	return append(list, ui.Fact{Name: "Created", Value: "by " + c.CreatedBy, Note: clock.Moment(c.CreatedAt).Text})
}

func (h *Pages) newConsumer(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.EventConsume); err != nil {
		return err
	}
	return h.renderForm(w, r, http.StatusOK, url.Values{"start": {consumer.Newest}, "max_tries": {strconv.Itoa(consumer.DefaultTries)}}, nil)
}

// create creates the consumer of the form. A refused form keeps what was typed.
func (h *Pages) create(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.New(apperr.Invalid, "The form could not be read.")
	}
	f := r.PostForm
	sp := consumer.Spec{Ref: consumer.Ref{Name: strings.TrimSpace(f.Get("name")), Installation: f.Get("scope") == "all"}, Topics: f["topics"], Start: f.Get("start"), Types: strings.Fields(f.Get("types"))}
	tries, err := strconv.Atoi(strings.TrimSpace(f.Get("max_tries")))
	if err != nil || tries < 1 {
		tries = -1 // the service says what is allowed
	}
	sp.MaxTries = tries
	c, err := h.Consumers.Create(r.Context(), sp)
	switch apperr.CodeOf(err) { //nolint:exhaustive // the others are error pages
	case apperr.Invalid:
		return h.renderForm(w, r, http.StatusUnprocessableEntity, f, err)
	case apperr.Conflict:
		return h.renderForm(w, r, http.StatusConflict, f, err)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, withDone(views.ConsumerURL(c.Name, c.Installation, ""), "created", 0), http.StatusSeeOther)
	return nil
}

func (h *Pages) renderForm(w http.ResponseWriter, r *http.Request, status int, f url.Values, failed error) error {
	m := views.ConsumerForm{
		Page: h.Page.Base(r, "New consumer", views.SectionEvents, feedCrumb(), consumersCrumb()), Name: f.Get("name"), Types: f.Get("types"), MaxTries: f.Get("max_tries"),
		Starts: []ui.Option{{Value: consumer.Newest, Name: "New events", Selected: f.Get("start") != consumer.Oldest}, {Value: consumer.Oldest, Name: "The oldest event that is kept", Selected: f.Get("start") == consumer.Oldest}},
	}
	subject := subjectOf(r)
	for _, t := range feed.Topics() {
		if t != "audit" || subject.May(auth.AuditRead, subject.ProjectID) {
			m.Topics = append(m.Topics, views.NotificationChoice{Value: t, Label: topicName(t), Chosen: slices.Contains(f["topics"], t)})
		}
	}
	if subject.May(auth.Administer, auth.Installation) {
		m.Scopes = []ui.Option{{Value: "project", Name: "This project", Selected: f.Get("scope") != "all"}, {Value: "all", Name: "All projects", Selected: f.Get("scope") == "all"}}
	}
	if failed != nil {
		m.Failed, m.Errors = apperr.MessageOf(failed), map[string]string{}
		for _, field := range apperr.FieldsOf(failed) {
			m.Errors[field.Path] = strings.TrimSpace(m.Errors[field.Path] + " " + field.Message)
		}
	}
	return web.Render(w, r, status, views.ConsumerFormPage(m))
}

func (h *Pages) remove(w http.ResponseWriter, r *http.Request) error {
	if err := h.Consumers.Delete(r.Context(), refOf(r)); err != nil {
		return err
	}
	http.Redirect(w, r, views.ConsumersURL(), http.StatusSeeOther)
	return nil
}

func (h *Pages) redeliver(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Consumers.Redeliver(r.Context(), refOf(r), chosen(r))
	return settled(w, r, "redeliver", a, err)
}

func (h *Pages) discard(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Consumers.Discard(r.Context(), refOf(r), chosen(r))
	return settled(w, r, "discard", a, err)
}

// chosen is the dead letter of a form; none means all.
func chosen(r *http.Request) []string {
	if id := r.PostFormValue("event"); id != "" {
		return []string{id}
	}
	return nil
}

func settled(w http.ResponseWriter, r *http.Request, done string, a consumer.Answer, err error) error {
	if err != nil {
		return err
	}
	ref := refOf(r)
	http.Redirect(w, r, withDone(views.ConsumerURL(ref.Name, ref.Installation, ""), done, len(a.Done)), http.StatusSeeOther)
	return nil
}

func withDone(address, done string, events int) string {
	return with(address, url.Values{"done": {done}, "events": {strconv.Itoa(events)}})
}
