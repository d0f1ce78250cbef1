// Package triggers contains the pages of triggers and their deliveries.
package triggers

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Triggers  *trigger.Service
	Workflows *workflow.Service
	Secrets   *secret.Service

	Connections *connection.Service
	PublicURL   string
	Page        *page.Shell
}

// Pages are the pages of triggers. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/triggers", h.Page.Serve(h.list))
	r.Post("/triggers", h.Page.Serve(h.add))
	r.Get("/triggers/new", h.Page.Serve(h.newForm))
	r.Get("/triggers/{name}", h.Page.Serve(h.trigger))
	r.Post("/triggers/{name}", h.Page.Serve(h.change))
	r.Get("/triggers/{name}/edit", h.Page.Serve(h.editForm))
	r.Post("/triggers/{name}/switch", h.Page.Serve(h.turn))
	r.Post("/triggers/{name}/delete", h.Page.Serve(h.remove))
	r.Post("/triggers/{name}/poll", h.Page.Serve(h.pollNow))
	r.Post("/triggers/{name}/test", h.Page.Serve(h.test))
	r.Post("/triggers/{name}/deliveries/{delivery}/redeliver", h.Page.Serve(h.redeliver))
}

// list lists the triggers of the project.
func (h *Pages) list(w http.ResponseWriter, r *http.Request) error {
	list, err := h.Triggers.List(r.Context())
	if err != nil {
		return err
	}
	activities, err := h.Triggers.Activities(r.Context())
	if err != nil {
		return err
	}
	filter := triggerFilter{text: r.URL.Query().Get("q"), state: r.URL.Query().Get("state")}
	m := views.Triggers{Page: h.Page.Base(r, "Triggers", views.SectionTriggers), Query: filter.text, States: filter.states(), Back: r.URL.RawQuery, Total: len(list)}
	if mayLaunch(r) {
		m.NewURL = views.NewTriggerURL("")
	}
	polls, err := h.Triggers.Polls(r.Context())
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	for _, t := range list {
		row := rowOf(r, t)
		if !filter.matches(row) {
			continue
		}
		a := activities[t.ID]
		row.Launches = units.Number(int64(a.Launches))
		for _, p := range polls[t.ID] {
			row.Problem = cmp.Or(row.Problem, p.Error)
		}
		if t.Paused != "" {
			row.Problem = t.Paused
		}
		counts := map[trigger.Outcome]int{}
		for _, d := range a.Last {
			row.Outcomes = append(row.Outcomes, outcomeOf(clock, d))
			counts[d.Outcome]++
		}
		if len(row.Outcomes) > 0 {
			row.Last = new(row.Outcomes[0])
			slices.Reverse(row.Outcomes)
			row.Label = fmt.Sprintf("Last %d events: %d launched, %d skipped, %d failed, %d rejected", len(a.Last),
				counts[trigger.Launched], counts[trigger.Skipped], counts[trigger.Failed], counts[trigger.Rejected])
		}
		m.Rows = append(m.Rows, row)
	}
	return web.Render(w, r, http.StatusOK, views.TriggersPage(m))
}

// triggerFilter selects triggers of the list by text and state; "" selects all.
type triggerFilter struct{ text, state string }

func (f triggerFilter) states() []ui.Option {
	options := []ui.Option{{Name: "All states"}, {Value: "on", Name: "On"}, {Value: "off", Name: "Off"}, {Value: "paused", Name: "Paused"}}
	for i, o := range options {
		options[i].Selected = o.Value == f.state
	}
	return options
}

func (f triggerFilter) matches(t views.TriggerRow) bool {
	state := "off"
	switch {
	case t.Enabled:
		state = "on"
	case t.Paused:
		state = "paused"
	}
	text := strings.ToLower(strings.TrimSpace(f.text))
	return (f.state == "" || f.state == state) && strings.Contains(strings.ToLower(t.Name+"\n"+t.Workflow+"\n"+t.About), text)
}

func mayLaunch(r *http.Request) bool {
	subject, ok := auth.SubjectOf(r.Context())
	return ok && subject.May(auth.ExecutionLaunch, subject.ProjectID)
}

// mayChange reports whether the user may change a trigger: its owner, and those who may cancel the
// executions of others.
func mayChange(r *http.Request, t trigger.Trigger) bool {
	subject, ok := auth.SubjectOf(r.Context())
	return ok && mayLaunch(r) && (subject.ID == t.OwnerID || subject.May(auth.ExecutionCancelAny, subject.ProjectID))
}

func rowOf(r *http.Request, t trigger.Trigger) views.TriggerRow {
	row := views.TriggerRow{Name: t.Name, URL: views.TriggerURL(t.Name), About: about(t), Workflow: t.Workflow, Enabled: t.Enabled, Paused: t.Paused != "", SwitchLabel: "Turn off"}
	if !t.Enabled {
		row.SwitchLabel = "Turn on"
	}
	if mayChange(r, t) {
		row.SwitchURL = views.TriggerPartURL(t.Name, "switch")
	}
	return row
}

// about describes what a trigger waits for.
func about(t trigger.Trigger) string {
	sources := strings.Join(t.Sources, ", ")
	switch t.Kind {
	case trigger.OnWebhook:
		return "Webhook, " + signatureWord(t.Signature)
	case trigger.OnArtifact:
		return "New artifact " + sources
	case trigger.OnDataset:
		return "New version of dataset " + sources
	case trigger.OnModel:
		if len(t.Stages) > 0 {
			return "Model " + sources + " enters " + strings.Join(t.Stages, " or ")
		}
		return "New version of model " + sources
	case trigger.OnEvent:
		return "Event " + sources
	case trigger.OnHTTP, trigger.OnS3, trigger.OnAll:
		return aboutSettings(t)
	case trigger.OnExecution:
	}
	var words []string
	for _, s := range t.States {
		words = append(words, stateWord(s))
	}
	return sources + " " + strings.Join(words, " or ")
}

func stateWord(state string) string {
	switch state {
	case "SUCCEEDED":
		return "succeeds"
	case "FAILED":
		return "fails"
	default:
		return "is cancelled"
	}
}

func signatureWord(s trigger.Signature) string {
	switch s {
	case trigger.GitHub:
		return "signed as by GitHub"
	case trigger.GitLab:
		return "with a GitLab token"
	case trigger.Standard:
		return "signed as Standard Webhooks"
	case trigger.Bearer:
	}
	return "with a bearer token"
}

func outcomeOf(clock ui.Clock, d trigger.Delivery) views.TriggerOutcome {
	o := views.TriggerOutcome{At: clock.Moment(d.At)}
	o.State, o.Word = outcomeWord(d.Outcome)
	return o
}

// outcomeWord returns the state of executions whose icon suits an outcome, and the word for it.
func outcomeWord(o trigger.Outcome) (state, word string) {
	switch o {
	case trigger.Launched:
		return "SUCCEEDED", "Launched"
	case trigger.Skipped:
		return "SKIPPED", "Skipped"
	case trigger.Rejected:
		return "FAILED", "Rejected"
	case trigger.Failed:
	}
	return "FAILED", "Failed"
}

func (h *Pages) turn(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "name")
	if err := h.Triggers.Switch(r.Context(), name, r.FormValue("on") == "true"); err != nil {
		return err
	}
	to := views.TriggerURL(name)
	if r.FormValue("back") == "list" {
		to = views.TriggersURL()
		if query, err := url.ParseQuery(r.FormValue("query")); err == nil && len(query) > 0 {
			to += "?" + query.Encode()
		}
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

func (h *Pages) remove(w http.ResponseWriter, r *http.Request) error {
	if err := h.Triggers.Delete(r.Context(), request.PathValue(r, "name")); err != nil {
		return err
	}
	http.Redirect(w, r, views.TriggersURL(), http.StatusSeeOther)
	return nil
}
