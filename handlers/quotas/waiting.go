package quotas

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// waitingRows is the number of rows on one page.
const waitingRows = 50

// waitingScope is the scope of the queue on the page.
type waitingScope struct {
	place uuid.UUID // node of the tenancy tree
	param string    // from the address
	page  string    // token of the page
}

// scopeOf reads the scope that r requests: its project or "team".
func (h *Pages) scopeOf(r *http.Request) (waitingScope, error) {
	q := r.URL.Query()
	scope := waitingScope{param: q.Get("place"), page: q.Get("page")}
	switch scope.param {
	case "":
		subject, err := auth.SignedIn(r.Context())
		scope.place = subject.ProjectID
		return scope, err
	case "team":
		team, err := h.Quotas.Reader.TeamOf(r.Context())
		scope.place = team
		return scope, err
	}
	place, err := request.ParseID(scope.param, "place")
	scope.place = place
	return scope, err
}

// waiting shows all waiting nodes in the order of admission.
func (h *Pages) waiting(w http.ResponseWriter, r *http.Request) error {
	scope, err := h.scopeOf(r)
	if err != nil {
		return err
	}
	list, err := h.waitingList(r.Context(), h.Page.Clock(r), scope)
	if err != nil {
		return err
	}
	m := views.WaitingPage{
		Page: h.Page.Base(r, "Waiting", views.SectionWaiting), List: list, TeamURL: views.MyTeamURL(), StreamURL: views.WaitingStreamURL(scope.param, scope.page),
		Scopes: []ui.Choice{
			{Name: "This project", URL: views.WaitingURL("", ""), Current: scope.param == ""},
			{Name: "The team", URL: views.WaitingURL("team", ""), Current: scope.param == "team"},
		},
	}
	if subject, ok := auth.SubjectOf(r.Context()); ok && subject.May(auth.ExecutionRead, auth.Installation) {
		all := auth.Installation.String()
		m.Scopes = append(m.Scopes, ui.Choice{Name: "All", URL: views.WaitingURL(all, ""), Current: scope.param == all})
	}
	return web.Render(w, r, http.StatusOK, views.WaitingView(m))
}

// waitingStream sends the list whenever it changed.
func (h *Pages) waitingStream(w http.ResponseWriter, r *http.Request) error {
	scope, err := h.scopeOf(r)
	if err != nil {
		return err
	}
	may := func(ctx context.Context) error {
		_, err := h.Executions.Waits.Queue(ctx, scope.place, scope.page, 1)
		return err
	}
	if err := may(r.Context()); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, may)
	if err != nil {
		return err
	}
	clock, sent := h.Page.Clock(r), page.SentPieces{}
	hints := withInterval(r.Context(), h.Executions.Watches.WatchAll(r.Context()), waitingLook)
	h.Page.OnHints(r, stream, hints, page.ListInterval, func(ctx context.Context) error {
		clock.Now = h.Now()
		list, err := h.waitingList(ctx, clock, scope)
		if err != nil {
			return err
		}
		if !sent.Changed("list", stillWaiting(list)) {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.WaitingUpdate(list))
	})
	return nil
}

// stillWaiting is the list without the durations that the browser updates.
func stillWaiting(list views.WaitingList) views.WaitingList {
	rows := list.Rows
	list.Rows = nil
	for _, row := range rows {
		row.Waits = ""
		list.Rows = append(list.Rows, row)
	}
	list.Cluster.Rows, list.Others.Rows = stillLines(list.Cluster.Rows), stillLines(list.Others.Rows)
	return list
}

func stillLines(lines []views.ClusterWaitLine) []views.ClusterWaitLine {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].Waits = ""
	}
	return lines
}

func (h *Pages) waitingList(ctx context.Context, clock ui.Clock, scope waitingScope) (views.WaitingList, error) {
	page, err := h.Executions.Waits.Queue(ctx, scope.place, scope.page, waitingRows)
	if err != nil {
		return views.WaitingList{}, err
	}
	list := views.WaitingList{Lead: "No node is waiting for a limit or for capacity."}
	var oldest time.Time
	for _, e := range page.Entries {
		list.Rows = append(list.Rows, waitingLine(clock, e, scope.param != ""))
		if oldest.IsZero() || e.Since.Before(oldest) {
			oldest = e.Since
		}
	}
	if n := len(list.Rows); n > 0 {
		list.Lead = fmt.Sprintf("%s waiting. The longest has waited for %s.", units.Plural(n, "node", "nodes"), units.Duration(clock.Now.Sub(oldest).Truncate(time.Minute)))
		if clock.Now.Sub(oldest) < time.Minute {
			list.Lead = units.Plural(n, "node", "nodes") + " waiting."
		}
	}
	if page.Next != "" {
		list.Pager.Older = views.WaitingURL(scope.param, page.Next)
		list.Lead = fmt.Sprintf("The next %d, in the order in which they start.", len(list.Rows))
	}
	if scope.page != "" {
		list.Pager.Newer = views.WaitingURL(scope.param, "")
		return list, nil
	}
	if scope.param == "" {
		if list.Others, err = h.otherWaits(ctx, clock); err != nil {
			return list, err
		}
	}
	list.Cluster, err = h.clusterWaits(ctx, clock, scope.place)
	if n := len(list.Cluster.Rows); n > 0 && len(list.Rows) == 0 {
		list.Lead = "No node is waiting for a limit. The nodes below are within their limits and are waiting for the cluster."
	}
	return list, err
}

const holdersInList = 2

// waitingLine is one entry of the queue. With owners, it names the team and the project, because the list
// contains several.
func waitingLine(clock ui.Clock, e query.QueueEntry, owners bool) views.WaitingLine {
	line := views.WaitingLine{
		Position: label.PositionText(e.Position), Requests: e.Amount.String(), Waits: units.Duration(clock.Now.Sub(e.Since)), Since: e.Since.Format(time.RFC3339),
		Starts: "unknown", Why: e.Reason.Message, Code: e.Reason.Code,
	}
	if e.Hidden() {
		line.Title, line.Why, line.Starts = "another project", "", ""
		return line
	}
	line.Title, line.URL = label.QueuedName(e.Queued), label.QueuedURL(e.Key, e.Name)
	line.Sub = e.Name.Workflow
	if e.Name.Execution != "" {
		line.Sub += " · " + e.Name.Execution
	}
	if e.Priority != query.Normal {
		line.Sub += " · priority " + e.Priority.String()
	}
	if e.Node == fair.ExecutionItself {
		line.Sub, line.Requests = "the execution itself", "to start"
	}
	if owners {
		line.Sub = ownerText(e.Path) + " · " + line.Sub
	}
	if e.Offered {
		line.Why, line.Starts = "Capacity is reserved for it.", "about to start"
		return line
	}
	if starts, note := label.StartBand(clock, e.Reason.StartsFrom, e.Reason.StartsTo); starts != "" {
		line.Starts, line.StartsNote = starts, note
	}
	for _, holder := range e.Reason.Holders[:min(len(e.Reason.Holders), holdersInList)] {
		line.Holders = append(line.Holders, shortHolder(e.Reason, holder, owners))
	}
	return line
}

// ownerText is the team and the project at the end of a path from the tenant.
func ownerText(path []fair.LevelRef) string {
	var names []string
	for _, level := range path[max(len(path)-2, 0):] {
		names = append(names, level.Name)
	}
	return strings.Join(names, " / ")
}

// shortHolder names a holder only by its execution, with owners also by its team.
func shortHolder(r query.Reason, h fair.Holder, owners bool) views.WaitHolder {
	out := views.WaitHolder{Title: "another team"}
	if h.Owner.Name != "" {
		out.Title = h.Owner.String()
	}
	if h.Execution != uuid.Nil {
		out.Title, out.URL = label.ShortID(h.Execution), views.ExecutionURL(h.Execution.String())
		if owners && h.Owner.Name != "" {
			out.Title += " of " + h.Owner.String()
		}
	}
	if r.Resource != "" {
		out.Amount = r.Resource.Format(h.Amount)
	}
	return out
}
