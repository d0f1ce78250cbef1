package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const auditPageSize = 50

// auditFilter reads the filter of the page. Days are in the reader's time zone.
func auditFilter(q url.Values, zone *time.Location) (audit.Filter, error) {
	f := audit.Filter{Actor: q.Get("actor"), Action: q.Get("action"), Kind: q.Get("kind"), Object: q.Get("object"), After: q.Get("after"), Limit: auditPageSize}
	var fields []apperr.Field
	day := func(name string, last bool) time.Time {
		if q.Get(name) == "" {
			return time.Time{}
		}
		t, err := time.ParseInLocation(time.DateOnly, q.Get(name), zone)
		if err != nil {
			fields = append(fields, apperr.Field{Path: name, Message: "Enter the day as 2026-11-21."})
		}
		if last {
			t = t.AddDate(0, 0, 1)
		}
		return t
	}
	f.From, f.To = day("from", false), day("to", true)
	if text := q.Get("tenant"); text != "" {
		id, err := uuid.Parse(text)
		if err != nil {
			fields = append(fields, apperr.Field{Path: "tenant", Message: "Choose a tenant."})
		}
		f.TenantID = id
	}
	return f, apperr.InvalidFields("Enter days as 2026-11-21, and choose a tenant from the list.", fields)
}

// auditLog shows the audit log.
func (h *Pages) auditLog(w http.ResponseWriter, r *http.Request) error {
	ctx, q, clock := r.Context(), r.URL.Query(), h.Page.Clock(r)
	f, problem := auditFilter(q, clock.Zone)
	if problem != nil {
		f = audit.Filter{Limit: auditPageSize}
	}
	page, err := h.Audit.List(ctx, f)
	if err != nil {
		return err
	}
	m := views.AuditPage{
		Page: h.Page.Base(r, "Audit log", views.SectionAudit), Tabs: h.tabs(r, views.SectionAudit, false),
		Actor: q.Get("actor"), Object: q.Get("object"), From: q.Get("from"), To: q.Get("to"), Zone: clock.Zone.String(),
	}
	for name := range q {
		m.Filtered = m.Filtered || name != "after" && q.Get(name) != ""
	}
	status := http.StatusOK
	if problem != nil {
		m.Problem, status = apperr.MessageOf(problem), http.StatusUnprocessableEntity
	}
	actions, err := h.Audit.Actions(ctx)
	if err != nil {
		return err
	}
	m.Actions = actionOptions(actions, f.Action)
	if m.Tenants, err = h.tenantOptions(r, f.TenantID); err != nil {
		return err
	}
	subject, _ := auth.SubjectOf(ctx)
	for _, c := range page.Changes {
		m.Rows = append(m.Rows, auditRow(clock, c, subject.May(auth.Administer, auth.Installation)))
	}
	export := url.Values{}
	for name, values := range q {
		if name != "after" {
			export[name] = values
		}
	}
	export.Set("format", "csv")
	m.CSVURL = views.AuditURL() + "/export?" + export.Encode()
	export.Set("format", "jsonl")
	m.JSONURL = views.AuditURL() + "/export?" + export.Encode()
	if page.Next != "" {
		q.Set("after", page.Next)
		m.Pager = ui.Pager{Text: units.Plural(len(m.Rows), "change", "changes"), Older: views.AuditURL() + "?" + q.Encode()}
	}
	return web.Render(w, r, status, views.AuditLogPage(m))
}

// actionOptions offers each noun with all its verbs, and each verb.
func actionOptions(actions []string, chosen string) []ui.Option {
	if chosen != "" && !slices.Contains(actions, chosen) {
		actions = append(actions, chosen)
		slices.Sort(actions)
	}
	options := []ui.Option{{Name: "All actions", Selected: chosen == ""}}
	last := ""
	for _, a := range actions {
		noun, _, _ := strings.Cut(a, ".")
		if noun != last && noun != a {
			options = append(options, ui.Option{Value: noun, Name: nounName(noun) + ": all", Selected: chosen == noun})
		}
		last = noun
		if a != noun || a == chosen {
			if len(options) > 0 && options[len(options)-1].Value == a {
				continue
			}
			options = append(options, ui.Option{Value: a, Name: "– " + a, Selected: chosen == a})
		}
	}
	return options
}

// tenantOptions are the tenants that the reader can choose; none if there is only one.
func (h *Pages) tenantOptions(r *http.Request, chosen uuid.UUID) ([]ui.Option, error) {
	tenants, err := h.Tenancy.List(r.Context(), tenancy.Filter{Kind: tenancy.Tenant, Archived: true, Limit: 500})
	if err != nil || len(tenants.Items) < 2 {
		return nil, err
	}
	options := []ui.Option{{Name: "All tenants", Selected: chosen == uuid.Nil}}
	for _, t := range tenants.Items {
		options = append(options, ui.Option{Value: t.ID.String(), Name: t.Name, Selected: t.ID == chosen})
	}
	return options, nil
}

func auditRow(clock ui.Clock, c audit.Change, administrator bool) views.AuditRow {
	row := views.AuditRow{
		ID: c.ID.String(), At: clock.Moment(c.At), Actor: c.Actor, Action: c.Action, ActionText: actionText(c.Action), Kind: strings.ReplaceAll(c.Kind, "_", " "),
		Object: cmp.Or(c.ObjectName, c.ObjectID), Reason: c.Reason, Diff: auditDiff(c.Old, c.New),
	}
	if administrator && c.ActorKind != string(auth.RoleSystem) && c.ActorID != uuid.Nil {
		row.ActorURL = views.AdminUserURL(c.ActorID.String())
	}
	switch c.Kind {
	case "tenant", "department", "team", "project":
		row.ObjectU = views.AdminNodeURL(c.ObjectID)
	case "execution":
		row.ObjectU = views.ExecutionURL(c.ObjectID)
	case "workflow":
		row.ObjectU = views.WorkflowURL(cmp.Or(c.ObjectName, c.ObjectID))
	case "user":
		if administrator {
			row.ObjectU = views.AdminUserURL(c.ObjectID)
		}
	}
	if noun, _, _ := strings.Cut(c.Action, "."); noun == "session" || noun == "login_link" {
		row.Object, row.ObjectU, row.Kind = "", "", "" // the action names the object
	}
	row.Summary = diffSummary(row.Diff)
	at := clock.Exactly(c.At)
	row.Facts = []ui.Fact{{Name: "When", Moment: &at}, {Name: "As", Value: c.ActorKind, Note: c.Credential}}
	for _, f := range []ui.Fact{
		{Name: "From", Value: c.Address, Mono: true}, {Name: "Request", Value: c.RequestID, Mono: true},
		{Name: "Object", Value: c.ObjectID, Mono: true}, {Name: "Reason", Value: c.Reason},
	} {
		if f.Value != "" {
			row.Facts = append(row.Facts, f)
		}
	}
	return row
}

// auditExport streams the filtered entries as CSV or as JSON lines.
func (h *Pages) auditExport(w http.ResponseWriter, r *http.Request) error {
	f, err := auditFilter(r.URL.Query(), h.Page.Clock(r).Zone)
	if err != nil {
		return err
	}
	return h.Content.ExportAudit(w, r, f, r.URL.Query().Get("format"))
}
