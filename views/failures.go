package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// DeadLettersURL lists what failed for good; class and before may be "".
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

// DeadLetterRequeueURL lets the node of a dead letter run again, by POST.
func DeadLetterRequeueURL(id string) string {
	return "/dead-letters/" + url.PathEscape(id) + "/requeue"
}

// DeadLetterDismissURL settles a dead letter, by POST.
func DeadLetterDismissURL(id string) string {
	return "/dead-letters/" + url.PathEscape(id) + "/put-away"
}

// DeliveryRequeueURL tries a delivery again, by POST.
func DeliveryRequeueURL(id string) string {
	return "/dead-deliveries/" + url.PathEscape(id) + "/requeue"
}

// BreakersURL lists the circuit breakers of the project.
func BreakersURL() string { return "/breakers" }

// BreakerResetURL closes a breaker, by POST.
func BreakerResetURL(id string) string { return BreakersURL() + "/" + url.PathEscape(id) + "/reset" }

// RetryBudgetsURL shows the retry budgets; by POST it takes that of the tenant.
func RetryBudgetsURL() string { return "/retry-budgets" }

// failureTabs are the three pages of failures.
func failureTabs(current string, letters string) []ui.Tab {
	return []ui.Tab{
		{Name: "Dead letters", URL: DeadLettersURL("", ""), Count: letters, Current: current == "letters"},
		{Name: "Circuit breakers", URL: BreakersURL(), Current: current == "breakers"},
		{Name: "Retry budgets", URL: RetryBudgetsURL(), Current: current == "budgets"},
	}
}

// DeadLetters is the page of what failed for good.
type DeadLetters struct {
	Page
	Lead        string
	Open        string // how many are open
	Classes     []ui.Choice
	DeadLetters []DeadLetterLine
	Pager       ui.Pager
	Deliveries  []DeliveryLine
	Notice      *AdminNotice
}

// DeadLetterLine is a node that failed for good.
type DeadLetterLine struct {
	ID        string
	Node, URL string
	Sub       string // workflow and execution
	SubURL    string
	Class     string
	Attempts  string
	Message   string
	When      ui.Moment
	RequeueTo string // by POST, "" for who may not
	Requeue   string // what that does
	DismissTo string // by POST, "" for who may not
}

// DeliveryLine is news that could not be told.
type DeliveryLine struct {
	What, URL string
	Sub       string
	Tries     string
	Message   string
	When      ui.Moment
	RequeueTo string
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
	Waiting   string // what it keeps back, "" for nothing
	Last      string // the last failure
	LastURL   string
	When      ui.Moment
	ResetTo   string // by POST, "" for who may not
}

// RetryBudgets is the page of the retry budgets.
type RetryBudgets struct {
	Page
	Tenant    []ui.Fact // nothing when its retries are not limited
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
	Set      bool // there is one that can be taken away
}
