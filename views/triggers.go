package views

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// TriggersURL is the list of triggers.
func TriggersURL() string { return "/triggers" }

// NewTriggerURL is the form of a new trigger of a kind.
func NewTriggerURL(kind string) string {
	return withQuery(TriggersURL()+"/new", url.Values{"kind": {kind}})
}

// TriggerURL is the page of a trigger.
func TriggerURL(name string) string { return TriggersURL() + "/" + url.PathEscape(name) }

// TriggerPartURL is a page or an action of a trigger: edit, switch, delete or test.
func TriggerPartURL(name, part string) string { return TriggerURL(name) + "/" + part }

// TriggerBeforeURL shows the deliveries of a trigger before one.
func TriggerBeforeURL(name, before string) string {
	return withQuery(TriggerURL(name), url.Values{"before": {before}}) + "#deliveries"
}

// RedeliverTriggerURL delivers an event again.
func RedeliverTriggerURL(name, delivery string) string {
	return TriggerURL(name) + "/deliveries/" + delivery + "/redeliver"
}

// Triggers is the list of triggers.
type Triggers struct {
	Page
	Rows []TriggerRow
	News []ui.Action // forms of new triggers; none without permission
}

// TriggerRow is a trigger in the list.
type TriggerRow struct {
	Name, URL   string
	About       string // what it waits for
	Kind        string
	Workflow    string // to launch
	Enabled     bool
	Last        *TriggerOutcome
	Outcomes    []TriggerOutcome // the last ones, oldest first
	Label       string           // of Outcomes, for screen readers
	Launches    string           // in 7 days
	SwitchURL   string           // "" without permission
	SwitchLabel string
}

// TriggerLink names the trigger that launched an execution, and the execution whose end it waited for.
type TriggerLink struct {
	Name, URL         string
	Source, SourceURL string // "" for a webhook
}

// TriggerOutcome is what an event caused.
type TriggerOutcome struct {
	State, Word string // icon and text
	At          ui.Moment
}

// Trigger is the page of a trigger.
type Trigger struct {
	Page
	Row        TriggerRow
	EditURL    string // "" without permission
	DeleteURL  string
	HookURL    string // where the sender sends its requests; "" for other kinds
	Facts      []ui.Fact
	Inputs     string // JSON
	Deliveries []TriggerDelivery
	Pager      ui.Pager
	Notice     string
	Event      string // of the test, as it was typed
	EventHelp  string
	EventError string
	TestURL    string
	Trial      *TriggerTrial
}

// TriggerDelivery is an event that reached the trigger.
type TriggerDelivery struct {
	TriggerOutcome
	Subject      string
	SourceURL    string // the execution that ended
	Message      string
	ExecutionURL string
	Execution    string // "#8c6804"
	Payload      string // JSON, or ""
	RedeliverURL string // "" without permission or payload
}

// TriggerTrial is what the trigger would do about the event of the test.
type TriggerTrial struct {
	TriggerOutcome
	Message string
	Inputs  string // JSON, or ""
}

// TriggerForm is the form of a trigger.
type TriggerForm struct {
	Page
	Heading      string
	Action       string
	Cancel       string
	Failed       string
	Errors       map[string]string
	Kinds        []ui.Choice // of a new trigger
	Kind         string
	Webhook      bool
	Name         string
	Sources      string // one for each line
	SourcesLabel string
	SourcesHelp  string
	States       []NotificationChoice // of triggers after an execution
	Stages       []NotificationChoice // of triggers on models
	Signatures   []ui.Option
	Secrets      []ui.Option
	Filter       string
	FilterHelp   string
	Workflow     string
	Workflows    []string // to choose from; others can be typed
	Version      string
	Inputs       string // JSON
	InputsHelp   string
	Priority     string
	Enabled      bool
}

// triggerControl are the attributes that every control of the form has.
func triggerControl(f TriggerForm, field string) templ.Attributes {
	described := "trigger-" + field + "-help"
	a := templ.Attributes{"id": "trigger-" + field, "name": field}
	if f.Errors[field] != "" {
		a["aria-invalid"] = "true"
		described += " trigger-" + field + "-error"
	}
	a["aria-describedby"] = described
	return a
}
