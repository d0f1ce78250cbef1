package views

import (
	"net/url"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/ui"
)

// DeadLettersURL lists the dead letters; class and before may be "".
func DeadLettersURL(class, before string) string {
	q := url.Values{}
	if class != "" {
		q.Set("class", class)
	}
	if before != "" {
		q.Set("before", before)
	}
	if len(q) == 0 {
		return "/dead-letters"
	}
	return "/dead-letters?" + q.Encode()
}

// DeadLetterRequeueURL retries the node of a dead letter by POST.
func DeadLetterRequeueURL(id string) string {
	return "/dead-letters/" + url.PathEscape(id) + "/requeue"
}

// DeadLetterDismissURL dismisses a dead letter by POST.
func DeadLetterDismissURL(id string) string {
	return "/dead-letters/" + url.PathEscape(id) + "/dismiss"
}

// DeadLettersDismissURL dismisses the dead letters of the list by POST.
func DeadLettersDismissURL() string { return "/dead-letters/dismiss" }

// DeliveryRequeueURL retries a delivery by POST.
func DeliveryRequeueURL(id string) string {
	return "/dead-deliveries/" + url.PathEscape(id) + "/requeue"
}

// DeliveryDismissURL dismisses a delivery by POST.
func DeliveryDismissURL(id string) string {
	return "/dead-deliveries/" + url.PathEscape(id) + "/dismiss"
}

// BreakersURL lists the circuit breakers of the project.
func BreakersURL() string { return "/breakers" }

// BreakerResetURL closes a breaker by POST.
func BreakerResetURL(id string) string { return BreakersURL() + "/" + url.PathEscape(id) + "/reset" }

// RetryBudgetsURL shows the retry budgets; a POST sets the budget of the tenant.
func RetryBudgetsURL() string { return "/retry-budgets" }

// failureTabs are the three pages of failures.
func failureTabs(current, open string) []ui.Tab {
	return []ui.Tab{
		{Name: "Dead letters", URL: DeadLettersURL("", ""), Count: open, Current: current == "dead-letters"},
		{Name: "Circuit breakers", URL: BreakersURL(), Current: current == "breakers"},
		{Name: "Retry budgets", URL: RetryBudgetsURL(), Current: current == "budgets"},
	}
}

// DeadLetters is the page of permanently failed tasks and deliveries.
type DeadLetters struct {
	Page
	Lead        string
	Open        string // how many are open
	Classes     []ui.Choice
	DeadLetters []DeadLetterLine
	DismissAll  *DismissAll // nil without permission, and on older pages
	Pager       ui.Pager
	Deliveries  []DeliveryLine
	Notice      *AdminNotice
}

// DismissAll dismisses the listed dead letters, and those of the next pages.
type DismissAll struct {
	Count  int
	Class  string // of the filter, or ""
	Kind   string // Class in words
	Newest string // id of the newest one that the reader saw
}

func (d DismissAll) confirmation() ui.Confirmation {
	c := ui.Confirmation{
		ID: "dismiss-all", Title: "Dismiss " + units.Plural(d.Count, "failed task", "failed tasks") + "?",
		Text: "Their failures remain in the audit log and on the pages of their executions. This cannot be undone.",
		Keep: "Keep them", Button: "Dismiss all", URL: DeadLettersDismissURL(),
	}
	if d.Kind != "" {
		c.Text = "Dismisses the failures of the kind “" + d.Kind + "”. They remain in the audit log and on the pages of their executions. This cannot be undone."
	}
	return c
}

// DeadLetterLine is a node that failed permanently.
type DeadLetterLine struct {
	ID        string
	Node, URL string
	Sub       string // workflow and execution
	SubURL    string
	Class     string
	Attempts  string
	Message   string
	When      ui.Moment
	RequeueTo string // POST; "" without permission
	Requeue   string // label of the retry
	DismissTo string // POST; "" without permission
}

// DeliveryLine is an undelivered event.
type DeliveryLine struct {
	ID        string
	What, URL string
	Sub       string
	Message   string
	When      ui.Moment
	RequeueTo string // POST; "" without permission, like DismissTo
	DismissTo string
}

// dialog is the id of the dialog that asks before the event is dismissed.
func (d DeliveryLine) dialog() string { return "dismiss-delivery-" + d.ID }

func (d DeliveryLine) confirmation() ui.Confirmation {
	return ui.Confirmation{
		ID: d.dialog(), Title: "Dismiss this event?",
		Text: d.What + " is never delivered: FlowForge does not send the messages about the end of the execution, and does not launch the workflows that wait for it. This cannot be undone.",
		Keep: "Keep it", Button: "Dismiss", URL: d.DismissTo,
	}
}

// Breakers is the page of the circuit breakers.
type Breakers struct {
	Page
	Lead   string
	Rows   []BreakerLine
	Notice *AdminNotice
}

// BreakerLine is a circuit breaker.
type BreakerLine struct {
	Operator  string
	Workflow  string
	URL       string // of the workflow
	State     string // icon and colour
	StateText string
	Rule      string
	Failures  string
	Waiting   string // nodes that it blocks, or ""
	Last      string // the last failure
	LastURL   string
	When      ui.Moment
	ResetTo   string // POST; "" without permission
}

// RetryBudgets is the page of the retry budgets.
type RetryBudgets struct {
	Page
	Tenant    []ui.Fact // empty without a limit
	Form      *RetryBudgetForm
	Workflows []WorkflowBudgetLine
	Notice    *AdminNotice
}

// WorkflowBudgetLine is the budget of a workflow.
type WorkflowBudgetLine struct {
	Workflow, URL string
	Rule          string
	Left          string
	Next          ui.Moment
	Delayed       string
}

// RetryBudgetForm changes the budget of the tenant.
type RetryBudgetForm struct {
	Version  string
	Fields   []AdminField
	Problems *AdminProblems
	Set      bool // there is a budget that can be removed
}
