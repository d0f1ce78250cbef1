package failures

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// maySettle reports whether the reader may rerun failed nodes of the current project.
func maySettle(r *http.Request) bool {
	subject, ok := auth.SubjectOf(r.Context())
	return ok && subject.May(auth.ExecutionLaunch, subject.ProjectID)
}

// deadLetters lists the final failures of the current project.
func (h *Pages) deadLetters(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	filter := execution.DeadLetterFilter{Class: protect.Class(q.Get("class"))}
	if before := q.Get("before"); before != "" {
		id, err := request.ParseID(before, "before")
		if err != nil {
			return err
		}
		filter.Before = id
	}
	page, err := h.Executions.DeadLetters.List(r.Context(), filter)
	if err != nil {
		return err
	}
	deliveries, err := h.Executions.DeadLetters.Deliveries(r.Context())
	if err != nil {
		return err
	}
	m := views.DeadLetters{
		Page: h.Page.Base(r, "Failures", views.SectionFailures), Open: countText(page.Open), Lead: deadLettersSummary(page.Open, len(deliveries)),
		Notice: failureNotice(q.Get("done")),
	}
	if n, err := strconv.Atoi(q.Get("dismissed")); err == nil {
		m.Notice = &views.AdminNotice{Kind: "ok", Strong: units.Plural(n, "task", "tasks") + " dismissed.", Text: "The failures remain in the audit log and on the pages of their executions."}
	}
	if page.Open > 0 || filter.Class != "" {
		m.Classes = classChoices(filter.Class)
	}
	clock, settles := h.Page.Clock(r), maySettle(r)
	for _, l := range page.DeadLetters {
		m.DeadLetters = append(m.DeadLetters, deadLetterLine(clock, l, settles))
	}
	if settles && page.Matching > 1 && filter.Before == uuid.Nil && len(m.DeadLetters) > 0 {
		m.DismissAll = &views.DismissAll{Count: page.Matching, Class: string(filter.Class), Newest: m.DeadLetters[0].ID}
		if filter.Class != "" {
			m.DismissAll.Kind = filter.Class.Words()
		}
	}
	for _, d := range deliveries {
		m.Deliveries = append(m.Deliveries, deliveryLine(clock, d, settles))
	}
	if page.Next != uuid.Nil {
		m.Pager.Older = views.DeadLettersURL(string(filter.Class), page.Next.String())
	}
	if filter.Before != uuid.Nil {
		m.Pager.Newer = views.DeadLettersURL(string(filter.Class), "")
	}
	return web.Render(w, r, http.StatusOK, views.DeadLettersPage(m))
}

// countText is a count next to a name, "" for zero.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return units.Number(int64(n))
}

func deadLettersSummary(letters, deliveries int) string {
	lead := "This project has no dead letters."
	if letters > 0 {
		lead = units.Plural(letters, "task failed after its", "tasks failed after their") + " last retry."
	}
	if deliveries > 0 {
		lead += " " + units.Plural(deliveries, "event was", "events were") + " not delivered."
	}
	return lead
}

func classChoices(current protect.Class) []ui.Choice {
	choices := []ui.Choice{{Name: "All", URL: views.DeadLettersURL("", ""), Current: current == ""}}
	for _, c := range protect.Classes() {
		choices = append(choices, ui.Choice{Name: label.SentenceCase(c.Words()), URL: views.DeadLettersURL(string(c), ""), Current: current == c})
	}
	return choices
}

func deadLetterLine(clock ui.Clock, l execution.DeadLetter, settles bool) views.DeadLetterLine {
	id := l.Execution.String()
	line := views.DeadLetterLine{
		ID: l.ID.String(), Node: l.Node, URL: views.NodeURL(id, l.Node), Sub: l.Workflow + " " + l.Version + " · " + label.ShortID(l.Execution),
		SubURL: views.ExecutionURL(id), Class: l.Class.Words(), Attempts: units.Plural(l.Attempt, "attempt", "attempts"), Message: l.Failure.Message,
		When: clock.Moment(l.At),
	}
	if !settles {
		return line
	}
	line.DismissTo = views.DeadLetterDismissURL(line.ID)
	switch {
	case l.Status == "": // its execution was removed
	case l.Status.Ended():
		line.RequeueTo, line.Requeue = views.DeadLetterRequeueURL(line.ID), "Resume from here"
	default:
		line.RequeueTo, line.Requeue = views.DeadLetterRequeueURL(line.ID), "Run again"
	}
	return line
}

// failureNotice confirms the previous action.
func failureNotice(done string) *views.AdminNotice {
	texts := map[string]views.AdminNotice{
		"dismissed":   {Kind: "ok", Strong: "Dismissed.", Text: "The failure remains in the audit log and on the page of its execution."},
		"delivery":    {Kind: "ok", Strong: "Delivery restarted.", Text: "If it fails again, the event is listed here again."},
		"undelivered": {Kind: "ok", Strong: "Dismissed.", Text: "The event is not delivered. The audit log records who dismissed it."},
		"reset":       {Kind: "ok", Strong: "The breaker is closed.", Text: "The nodes that waited for it start now."},
		"saved":       {Kind: "ok", Strong: "Saved.", Text: "The budget is in effect. Waiting retries are checked again."},
		"unlimited":   {Kind: "ok", Strong: "Retries of the tenant are no longer limited.", Text: "Waiting retries continue."},
	}
	if n, ok := texts[done]; ok {
		return &n
	}
	return nil
}

// requeueDeadLetter reruns the node of a dead letter.
func (h *Pages) requeueDeadLetter(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(chi.URLParam(r, "id"), "id")
	if err != nil {
		return err
	}
	in, err := h.Executions.DeadLetters.Requeue(r.Context(), id, r.FormValue("reason"))
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.ExecutionURL(in.String()), http.StatusSeeOther)
	return nil
}

// dismissDeadLetter dismisses a dead letter.
func (h *Pages) dismissDeadLetter(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(chi.URLParam(r, "id"), "id")
	if err != nil {
		return err
	}
	if err := h.Executions.DeadLetters.Dismiss(r.Context(), id, r.FormValue("reason")); err != nil {
		return err
	}
	http.Redirect(w, r, views.DeadLettersURL("", "")+"?done=dismissed", http.StatusSeeOther)
	return nil
}

// dismissDeadLetters dismisses the dead letters that the list showed.
func (h *Pages) dismissDeadLetters(w http.ResponseWriter, r *http.Request) error {
	newest, err := request.ParseID(r.FormValue("newest"), "newest")
	if err != nil {
		return err
	}
	n, err := h.Executions.DeadLetters.DismissAll(r.Context(), protect.Class(r.FormValue("class")), newest, r.FormValue("reason"))
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.DeadLettersURL("", "")+"?dismissed="+strconv.Itoa(n), http.StatusSeeOther)
	return nil
}

// breakers lists the circuit breakers of the current project.
func (h *Pages) breakers(w http.ResponseWriter, r *http.Request) error {
	list, err := h.Executions.Protection.Breakers(r.Context())
	if err != nil {
		return err
	}
	m := views.Breakers{Page: h.Page.Base(r, "Circuit breakers", views.SectionFailures), Notice: failureNotice(r.URL.Query().Get("done"))}
	open, waiting := 0, 0
	for _, b := range list {
		if b.State == protect.Open || b.State == protect.HalfOpen {
			open++
			waiting += b.Waiting
		}
		m.Rows = append(m.Rows, breakerLine(r.Context(), h.Page.Clock(r), b, maySettle(r)))
	}
	m.Lead = "No circuit breaker of this project is open."
	if open > 0 {
		m.Lead = fmt.Sprintf("%s open. %s.",
			units.Plural(open, "circuit breaker is", "circuit breakers are"), waitingText(waiting))
	}
	return web.Render(w, r, http.StatusOK, views.BreakersPage(m))
}

// waitingText says how many nodes wait for the breakers.
func waitingText(n int) string {
	if n == 0 {
		return "No nodes are waiting"
	}
	return units.Plural(n, "node is waiting", "nodes are waiting")
}

func breakerLine(ctx context.Context, clock ui.Clock, b execution.Breaker, resets bool) views.BreakerLine {
	line := views.BreakerLine{
		Operator: b.Operator, Workflow: b.Workflow + " " + b.Version, URL: views.WorkflowURL(request.WorkflowRef(ctx, b.Workflow, b.WorkflowID)),
		Rule:     units.Plural(b.Rule.Failures, "failure", "failures") + " within " + units.Duration(b.Rule.Window),
		Failures: units.Plural(len(b.Failures), "failure", "failures") + " since the last success", Last: cmp.Or(b.LastError, "none"), When: clock.Moment(b.ChangedAt),
	}
	if b.LastExecution != nil {
		line.LastURL = views.NodeURL(b.LastExecution.String(), b.LastNode)
	}
	if b.Waiting > 0 {
		line.Waiting = units.Plural(b.Waiting, "node is waiting", "nodes are waiting")
	}
	switch b.State {
	case protect.Open:
		line.State, line.StateText = "FAILED", "open; next trial at "+clock.Exactly(b.Until).Text
		if !clock.Now.Before(b.Until) {
			line.StateText = "open; the next attempt is a trial"
		}
	case protect.HalfOpen:
		line.State, line.StateText = "RETRYING", "half open; one trial is running"
	case protect.Closed:
		line.State, line.StateText = "SUCCEEDED", "closed"
	}
	if resets && (b.State != protect.Closed || len(b.Failures) > 0) {
		line.ResetTo = views.BreakerResetURL(b.ID.String())
	}
	return line
}

// resetBreaker closes a breaker.
func (h *Pages) resetBreaker(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(chi.URLParam(r, "id"), "id")
	if err != nil {
		return err
	}
	if _, err := h.Executions.Protection.ResetBreaker(r.Context(), id, r.FormValue("reason")); err != nil {
		return err
	}
	http.Redirect(w, r, views.BreakersURL()+"?done=reset", http.StatusSeeOther)
	return nil
}

// retryBudgets shows the retry budgets of the tenant and of the project's workflows.
func (h *Pages) retryBudgets(w http.ResponseWriter, r *http.Request) error {
	return h.renderBudgets(w, r, http.StatusOK, nil)
}

func (h *Pages) renderBudgets(w http.ResponseWriter, r *http.Request, status int, form *views.RetryBudgetForm) error {
	tenant, workflows, err := h.Executions.Protection.RetryBudgets(r.Context())
	if err != nil {
		return err
	}
	m := views.RetryBudgets{Page: h.Page.Base(r, "Retry budgets", views.SectionFailures), Notice: failureNotice(r.URL.Query().Get("done"))}
	if tenant.Rule.On() {
		m.Tenant = []ui.Fact{
			{Name: "Retries", Value: fmt.Sprintf("%s in each %s", units.Number(int64(tenant.Rule.Retries)), units.Duration(tenant.Rule.Per)), Note: "at once " + units.Number(int64(tenant.Rule.Burst))},
			{Name: "Left now", Value: units.Number(int64(tenant.Left))},
			{Name: "Delayed so far", Value: units.Number(tenant.Delayed)},
			{Name: "Set by", Value: tenant.ChangedBy, Note: h.Page.Clock(r).Moment(tenant.ChangedAt).Text},
		}
	}
	if subject, ok := auth.SubjectOf(r.Context()); ok && subject.May(auth.QuotaWrite, subject.TenantID) {
		if form == nil {
			form = budgetForm(budgetTyped(tenant), nil)
		}
		if status == http.StatusConflict { // shown again over the current budget
			form.Version = budgetTyped(tenant).version
		}
		form.Set = tenant.Rule.On()
		m.Form = form
	}
	for _, b := range workflows {
		line := views.WorkflowBudgetLine{
			Workflow: b.Workflow, URL: views.WorkflowURL(request.WorkflowRef(r.Context(), b.Workflow, b.WorkflowID)),
			Rule: units.Plural(b.Rule.Retries, "retry", "retries") + " in " + units.Duration(b.Rule.Window), Left: units.Number(int64(b.Left)), Delayed: units.Number(b.Delayed),
		}
		if b.Left == 0 {
			line.Next = h.Page.Clock(r).Exactly(b.NextAt)
		}
		m.Workflows = append(m.Workflows, line)
	}
	return web.Render(w, r, status, views.RetryBudgetsPage(m))
}

// typedBudget contains the submitted values of the tenant's budget.
type typedBudget struct{ retries, per, burst, reason, version string }

func budgetTyped(b execution.TenantBudget) typedBudget {
	t := typedBudget{version: strconv.FormatInt(b.Version, 10)}
	if b.Rule.On() {
		t.retries, t.per, t.burst = strconv.Itoa(b.Rule.Retries), units.Compact(b.Rule.Per), strconv.Itoa(b.Rule.Burst)
	}
	return t
}

func budgetForm(t typedBudget, problems []apperr.Field) *views.RetryBudgetForm {
	wrong := map[string]string{}
	for _, p := range problems {
		wrong[p.Path] = p.Message
	}
	f := &views.RetryBudgetForm{Version: t.version, Fields: []views.AdminField{
		{ID: "budget-retries", Name: "retries", Label: "Retries", Help: "Limit for the executions of all projects together.", Value: t.retries, Error: wrong["retries"]},
		{ID: "budget-per", Name: "per", Label: "In each", Help: "For example: 1m, 1h or 24h.", Value: t.per, Error: wrong["per"]},
		{ID: "budget-burst", Name: "burst", Label: "At once", Help: "Maximum number of unused retries that accumulate.", Value: t.burst, Error: wrong["burst"]},
		{ID: "budget-reason", Name: "reason", Label: "Reason", Help: "For the audit log.", Value: t.reason, Optional: true},
	}}
	if len(problems) > 0 {
		f.Problems = &views.AdminProblems{Title: "The budget was not saved"}
		for _, p := range problems {
			f.Problems.Links = append(f.Problems.Links, ui.Crumb{Name: p.Message, URL: "#budget-" + p.Path})
		}
	}
	return f
}

// saveRetryBudget saves the budget of the tenant.
func (h *Pages) saveRetryBudget(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.New(apperr.Invalid, "The form could not be read.")
	}
	f := r.PostForm
	t := typedBudget{f.Get("retries"), f.Get("per"), f.Get("burst"), f.Get("reason"), f.Get("version")}
	version, err := strconv.ParseInt(t.version, 10, 64)
	if err != nil {
		version = -1 // matches no budget: a conflict
	}
	var rule protect.BucketRule
	done := "unlimited"
	if f.Get("do") != "remove" {
		done = "saved"
		// An unreadable value becomes one that the service rejects at its field.
		rule.Retries, rule.Burst = typedNumber(t.retries), typedNumber(t.burst)
		if rule.Per, err = units.ParseDuration(t.per); err != nil {
			rule.Per = -1
		}
	}
	_, err = h.Executions.Protection.SetTenantBudget(r.Context(), rule, version, t.reason)
	if problems := apperr.FieldsOf(err); len(problems) > 0 {
		return h.renderBudgets(w, r, http.StatusUnprocessableEntity, budgetForm(t, problems))
	}
	if apperr.Is(err, apperr.Conflict) {
		form := budgetForm(t, nil)
		form.Problems = &views.AdminProblems{Title: "Another user changed the budget in the meantime. Check it above, and save again to replace it."}
		return h.renderBudgets(w, r, http.StatusConflict, form)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.RetryBudgetsURL()+"?done="+done, http.StatusSeeOther)
	return nil
}

func typedNumber(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return -1
	}
	return n
}
