package triggers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const deliveriesShown = 20

// trigger shows a trigger with its deliveries.
func (h *Pages) trigger(w http.ResponseWriter, r *http.Request) error {
	t, err := h.Triggers.Get(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	m, err := h.model(r, t)
	if err != nil {
		return err
	}
	switch r.URL.Query().Get("done") {
	case "saved":
		m.Notice = "The trigger was saved."
	case "polls":
		m.Notice = "The trigger polls within a few seconds. Reload the page to see the result."
	case "delivered":
		m.Notice = "The event was delivered again. The newest delivery shows the result."
	}
	return web.Render(w, r, http.StatusOK, views.TriggerPage(m))
}

func (h *Pages) model(r *http.Request, t trigger.Trigger) (views.Trigger, error) {
	m := views.Trigger{
		Page: h.Page.Base(r, t.Name, views.SectionTriggers, views.Crumb{Name: "Triggers", URL: views.TriggersURL()}),
		Row:  rowOf(r, t), Facts: facts(t, h.Page.Clock(r)), Inputs: pretty(t.Inputs), TestURL: views.TriggerPartURL(t.Name, "test") + "#test",
		EventHelp: wordsOf(t.Kind).event,
	}
	may := mayChange(r, t)
	if may {
		m.EditURL, m.DeleteURL = views.TriggerPartURL(t.Name, "edit"), views.TriggerPartURL(t.Name, "delete")
	}
	if t.Kind == trigger.OnWebhook {
		m.HookURL = t.HookURL(h.PublicURL, "")
	}
	before, err := beforeOf(r)
	if err != nil {
		return m, err
	}
	deliveries, err := h.Triggers.Deliveries(r.Context(), t.Name, before, deliveriesShown)
	if err != nil {
		return m, err
	}
	clock := h.Page.Clock(r)
	for _, d := range deliveries.Deliveries {
		m.Deliveries = append(m.Deliveries, deliveryOf(clock, t, d, may))
		if m.Event == "" && d.Payload != nil {
			m.Event = indented(d.Payload)
		}
	}
	if m.Event == "" {
		m.Event = pretty(exampleOf(t))
	}
	if err := h.standing(r, t, &m, before == nil); err != nil {
		return m, err
	}
	m.Pager.Text = units.Plural(len(m.Deliveries), "delivery", "deliveries")
	if before != nil {
		m.Pager.Newer = views.TriggerURL(t.Name) + "#deliveries"
	}
	if deliveries.Next != nil {
		m.Pager.Older = views.TriggerBeforeURL(t.Name, deliveries.Next.String())
	}
	return m, nil
}

func beforeOf(r *http.Request) (*uuid.UUID, error) {
	text := r.URL.Query().Get("before")
	if text == "" {
		return nil, nil //nolint:nilnil // the first page
	}
	id, err := request.ParseID(text, "delivery")
	return &id, err
}

func facts(t trigger.Trigger, clock ui.Clock) []ui.Fact {
	list := []ui.Fact{{Name: "Waits for", Value: about(t)}}
	if t.Kind == trigger.OnWebhook {
		list = append(list, ui.Fact{Name: "Secret", Value: t.Secret, Mono: true})
	}
	list = append(list, settingFacts(t)...)
	filter := ui.Fact{Name: "Filter", Value: "none"}
	if t.Filter != "" {
		filter.Value, filter.Mono = t.Filter, true
	}
	version, priority := t.Version, "that of the workflow"
	if version == "" {
		version = "latest"
	}
	if t.Priority != nil {
		priority = strconv.Itoa(*t.Priority)
	}
	return append(list, filter, ui.Fact{Name: "Launches", Value: t.Workflow, URL: views.WorkflowURL(t.Workflow), Note: version},
		ui.Fact{Name: "Priority", Value: priority}, ui.Fact{Name: "Owner", Value: t.Owner}, ui.Fact{Name: "Changed", Moment: new(clock.Moment(t.UpdatedAt))},
		ui.Fact{Name: "Chain", Value: "at most " + strconv.Itoa(trigger.MaxDepth) + " triggers"})
}

func deliveryOf(clock ui.Clock, t trigger.Trigger, d trigger.Delivery, may bool) views.TriggerDelivery {
	out := views.TriggerDelivery{TriggerOutcome: outcomeOf(clock, d), Subject: d.Subject, Message: d.Message}
	if d.SourceID != nil {
		out.SourceURL = views.ExecutionURL(d.SourceID.String())
	}
	if d.ExecutionID != nil {
		out.ExecutionURL, out.Execution = views.ExecutionURL(d.ExecutionID.String()), t.Workflow+" "+label.ShortID(*d.ExecutionID)
	}
	if d.Payload != nil {
		out.Payload = indented(d.Payload)
		if may {
			out.RedeliverURL = views.RedeliverTriggerURL(t.Name, d.ID.String())
		}
	}
	return out
}

func indented(raw []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return string(raw)
	}
	return out.String()
}

func pretty(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return indented(raw)
}

// test shows how the trigger would handle the event in the form.
func (h *Pages) test(w http.ResponseWriter, r *http.Request) error {
	t, err := h.Triggers.Get(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	m, err := h.model(r, t)
	if err != nil {
		return err
	}
	m.Event = r.FormValue("event")
	event, problem := readObject(m.Event)
	if problem != "" {
		m.EventError = problem
		return web.Render(w, r, http.StatusUnprocessableEntity, views.TriggerPage(m))
	}
	trial, err := h.Triggers.Try(r.Context(), t.Name, event)
	if apperr.Is(err, apperr.Invalid) {
		m.EventError = fieldsText(err)
		return web.Render(w, r, http.StatusUnprocessableEntity, views.TriggerPage(m))
	}
	if err != nil {
		return err
	}
	m.Trial = &views.TriggerTrial{Message: trial.Message}
	m.Trial.State, m.Trial.Word = outcomeWord(trial.Outcome)
	switch trial.Outcome { //nolint:exhaustive // a test is never rejected
	case trigger.Launched:
		m.Trial.Word, m.Trial.Inputs = "Would launch", pretty(trial.Inputs)
	case trigger.Skipped:
		m.Trial.Word = "Would not launch"
	default:
		m.Trial.Word = "Would fail"
	}
	return web.Render(w, r, http.StatusOK, views.TriggerPage(m))
}

func fieldsText(err error) string {
	var parts []string
	for _, f := range apperr.FieldsOf(err) {
		parts = append(parts, f.Path+": "+f.Message)
	}
	return strings.Join(parts, " ")
}

// readObject decodes a JSON object, and reports the position of errors. Empty text is an empty
// object.
func readObject(text string) (out map[string]any, problem string) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, ""
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&out)
	if err == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, "There is text after the JSON object."
		}
		return out, ""
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := text[:min(int(syntax.Offset), len(text))]
		return nil, "This is not JSON. The mistake is in line " + strconv.Itoa(1+strings.Count(before, "\n")) + ": " + syntax.Error() + "."
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, "This is not JSON. It ends too early: a bracket or a quotation mark is missing."
	}
	return nil, `Enter a JSON object, such as {"name": "value"}.`
}

func (h *Pages) redeliver(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "name")
	id, err := request.ParseID(request.PathValue(r, "delivery"), "delivery")
	if err != nil {
		return err
	}
	if _, err := h.Triggers.Redeliver(r.Context(), name, id); err != nil {
		return err
	}
	http.Redirect(w, r, views.TriggerURL(name)+"?done=delivered#deliveries", http.StatusSeeOther)
	return nil
}
