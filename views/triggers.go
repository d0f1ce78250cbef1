package views

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// TriggersURL is the list of triggers.
func TriggersURL() string { return "/triggers" }

// NewTriggerURL is the form of a new trigger of a kind, "" for the first kind.
func NewTriggerURL(kind string) string {
	if kind == "" {
		return TriggersURL() + "/new"
	}
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
	Query  string
	States []ui.Option
	Back   string // the query of the page, for the switches
	Total  int    // of the project, without the filters
	Rows   []TriggerRow
	NewURL string // form of a new trigger; "" without permission
}

// TriggerRow is a trigger in the list.
type TriggerRow struct {
	Name, URL   string
	About       string // what it waits for
	Kind        string
	Workflow    string // to launch
	Enabled     bool
	Paused      bool   // FlowForge turned it off
	Problem     string // why the last poll failed
	Last        *TriggerOutcome
	Outcomes    []TriggerOutcome // the last ones, oldest first
	Label       string           // of Outcomes, for screen readers
	Launches    string           // in 7 days
	SwitchURL   string           // "" without permission
	SwitchLabel string
}

// triggerToggle is the switch of a trigger in the list with the query back.
func triggerToggle(r TriggerRow, back string) ListSwitch {
	return ListSwitch{
		Name: "Trigger " + r.Name, Title: r.SwitchLabel + " " + r.Name, URL: r.SwitchURL, On: r.Enabled,
		Hidden: [][2]string{{"on", boolText(!r.Enabled)}, {"back", "list"}, {"query", back}},
	}
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
	Paused     string // why FlowForge turned it off
	Polls      *TriggerPolls
	Joins      *TriggerJoins
	Conditions *TriggerConditions // of a join
	Pending    []TriggerPending
	More       string // "and 3 more", of Pending
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

// TriggerPolls is the state of a trigger that polls.
type TriggerPolls struct {
	Facts    []ui.Fact
	Error    string // of the last poll
	Attempts string // "3 failed polls in a row"
	PollURL  string // "" without permission, and for a trigger that is off
}

// TriggerConditions are the conditions of a join.
type TriggerConditions struct {
	Rows    []TriggerCondition
	PollURL string // "" without permission or polls, and for a trigger that is off
}

// TriggerCondition is what a condition waits for and what it received last.
type TriggerCondition struct {
	Name, About, Filter, Key string
	HookURL                  string // "" for other kinds
	Joined                   *TriggerArrival
	Ignored                  *TriggerOutcome // of the newest event that no join contains
	Why                      string          // of Ignored
	Polls                    *TriggerPolls
}

// TriggerJoins are the joins of a trigger that wait for more events.
type TriggerJoins struct {
	Rows []TriggerJoin
	More string // "and 3 more"
}

// TriggerJoin is a join with the events that have arrived.
type TriggerJoin struct {
	Key        string
	Expires    ui.Moment
	Conditions []TriggerArrival
}

// TriggerArrival is a condition of a join. Subject is "" if its event is missing.
type TriggerArrival struct {
	Name, Subject, URL string
	At                 ui.Moment
}

// TriggerPending is an event whose launch is repeated.
type TriggerPending struct {
	Subject, URL, Message string
	Next                  ui.Moment
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
	Problems     []ui.Action   // the errors with links to their fields
	Kinds        []TriggerKind // of a new trigger
	Kind         string
	Webhook      bool
	Poll         *TriggerPollForm
	Join         *TriggerJoinForm
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

// TriggerKind is a kind of triggers to choose.
type TriggerKind struct {
	Name, Help, URL string
	Current         bool
}

// TriggerPollForm are the fields of a trigger that polls.
type TriggerPollForm struct {
	Bucket      bool // it lists a bucket; otherwise it requests an address
	Connections []ui.Option
	NewURL      string // form of a new connection
	Address     string
	When        []ui.Option
	BucketName  string
	Prefix      string
	Pattern     string
	Every       string
	Existing    []ui.Option
	Restarts    string // said when a stored trigger is edited
}

// TriggerJoinForm are the fields of a trigger on several events.
type TriggerJoinForm struct {
	Conditions []TriggerConditionForm
	CanAdd     bool
	Within, By string
}

// TriggerConditionForm are the fields of a condition.
type TriggerConditionForm struct {
	Index, Title              string
	Name, Sources, Filter, By string
	Waits                     []ui.Option
	CanRemove                 bool

	Signatures, Secrets                         []ui.Option // of a webhook
	Portals, Buckets                            []ui.Option // connections of the kinds http and s3
	Address, BucketName, Prefix, Pattern, Every string
	Existing                                    []ui.Option
}

// field is the name of a field of the condition.
func (c TriggerConditionForm) field(name string) string { return "all." + c.Index + "." + name }

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

func triggerConnectionHelp(p TriggerPollForm) string {
	if p.Bucket {
		return "The bucket and its credentials."
	}
	return "For an address that needs credentials."
}

func triggerExistingHelp(p TriggerPollForm) string {
	if p.Restarts != "" {
		return p.Restarts
	}
	if p.Bucket {
		return "Whether objects that already exist in the bucket also launch the workflow."
	}
	return "Whether the first response also launches the workflow."
}
