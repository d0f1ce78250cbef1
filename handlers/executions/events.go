package executions

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/sentence"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	eventRows     = 15  // on the page of the execution
	eventsLooked  = 200 // events read for these rows; items share a row
	eventPageSize = 200
)

// events shows all events of an execution, newest first.
func (h *Pages) events(w http.ResponseWriter, r *http.Request) error {
	e, _, err := h.executionAndVersion(r)
	if err != nil {
		return err
	}
	q, id := r.URL.Query(), e.ID.String()
	here := views.EventsURL(id)
	title := label.ExecutionTitle(e) + " " + label.ShortID(e.ID)
	m := views.EventsPage{
		Page:  h.Page.Base(r, "Events", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: title, URL: views.ExecutionURL(id)}),
		State: string(e.Status), Back: views.ExecutionURL(id), Action: here, Node: strings.TrimSpace(q.Get("node")), Kinds: eventKindOptions(q.Get("kind")),
	}
	m.Title = "Events: " + title
	f := query.EventFilter{Node: m.Node, Kinds: eventKinds(q.Get("kind")), Limit: eventPageSize + 1}
	if before := q.Get("after"); before != "" {
		if f.Before, err = strconv.ParseInt(before, 10, 64); err != nil {
			return apperr.New(apperr.Invalid, "The page token is not valid.")
		}
		m.Pager.Newer = label.ListURL(here, q, "after", "")
	}
	if m.Node != "" || len(f.Kinds) > 0 {
		m.Clear = here
	}
	list, err := h.Executions.Events.Latest(r.Context(), e.ID, f)
	if err != nil && !apperr.Is(err, apperr.NotFound) { // an unknown node has no events
		return err
	}
	if len(list) > eventPageSize {
		list = list[:eventPageSize]
		m.Pager.Older = label.ListURL(here, q, "after", strconv.FormatInt(list[eventPageSize-1].Seq, 10))
	}
	m.Pager.Text = units.Plural(len(list), "event", "events")
	m.Rows = eventLines(h.Page.Clock(r), id, list)
	return web.Render(w, r, http.StatusOK, views.EventsOwnPage(m))
}

// events are the last events, newest first.
func (x *executionView) events(ctx context.Context) (views.Events, error) {
	list, err := x.h.Executions.Events.Latest(ctx, x.ID, query.EventFilter{Limit: eventsLooked})
	if err != nil {
		return views.Events{}, err
	}
	rows := eventLines(x.clock, x.ID.String(), list)
	return views.Events{Rows: rows[:min(len(rows), eventRows)], MoreURL: views.EventsURL(x.ID.String())}, nil
}

// eventLines formats events, newest first. It merges the events of one kind of the items
// of one fan-out into one line, at the position of the latest.
func eventLines(clock ui.Clock, id string, list []query.Event) []views.EventRow {
	var rows []views.EventRow
	lines := map[[2]string]int{} // row by fan-out and kind
	counts := map[int]int{}
	for _, ev := range list {
		row := views.EventRow{Icon: sentence.State(ev.Kind), Text: sentence.Event(ev), At: clock.Exactly(ev.At)}
		if ev.Node != "" {
			row.URL = views.NodeURL(id, ev.Node)
		}
		parent, item := fanOutOf(ev.Node)
		if !item {
			rows = append(rows, row)
			continue
		}
		key := [2]string{parent, ev.Kind}
		at, seen := lines[key]
		if !seen {
			at, lines[key] = len(rows), len(rows)
			rows = append(rows, row)
		}
		if counts[at]++; counts[at] > 1 {
			rows[at].Text = parent + ": " + units.Plural(counts[at], "item", "items") + " " + itemsWords(ev.Kind, counts[at])
			rows[at].URL = views.NodeURL(id, parent)
		}
	}
	return rows
}

// fanOutOf returns the fan-out that a node is an item of: "train" of "train[3]".
func fanOutOf(node string) (string, bool) {
	open := strings.LastIndexByte(node, '[')
	if open <= 0 || !strings.HasSuffix(node, "]") {
		return "", false
	}
	return node[:open], true
}

// itemsWords is the plural of an event's text, for several items.
func itemsWords(kind string, n int) string {
	words := sentence.Words(kind)
	if n > 1 {
		if rest, ok := strings.CutPrefix(words, "was "); ok {
			return "were " + rest
		}
		if rest, ok := strings.CutPrefix(words, "is "); ok {
			return "are " + rest
		}
	}
	return words
}

// eventKind is a choice of the filter.
type eventKind struct {
	key, name string
	kinds     []query.EventKind
}

func eventKindList() []eventKind {
	return []eventKind{
		{"failures", "Failures and retries", []query.EventKind{query.EventNodeFailed, query.EventNodeRetrying, query.EventNodeHalted, query.EventExecutionHalted, query.EventExecutionFailed, query.EventBreakerOpened, query.EventMetricFailed}},
		{"waits", "Waiting and preemption", []query.EventKind{query.EventExecutionWaiting, query.EventNodeWaiting, query.EventNodePodWaiting, query.EventNodeHeld, query.EventNodeReleased, query.EventNodePreempting, query.EventNodePreempted}},
		{"people", "Commands and approvals", []query.EventKind{query.EventExecutionLaunched, query.EventExecutionCancelRequested, query.EventExecutionCancelled, query.EventExecutionPaused, query.EventExecutionUnpaused, query.EventNodeApproved, query.EventNodeRejected, query.EventNodeHeld, query.EventNodeReleased, query.EventNodeOrdered, query.EventNodeReopened}},
		{"ends", "Starts and ends", []query.EventKind{query.EventExecutionStarted, query.EventExecutionSucceeded, query.EventExecutionFailed, query.EventExecutionCancelled, query.EventNodeStarted, query.EventNodeSucceeded, query.EventNodeFailed, query.EventNodeSkipped, query.EventNodeCancelled}},
	}
}

func eventKinds(key string) []query.EventKind {
	list := eventKindList()
	if i := slices.IndexFunc(list, func(k eventKind) bool { return k.key == key }); i >= 0 {
		return list[i].kinds
	}
	return nil
}

func eventKindOptions(chosen string) []ui.Option {
	options := []ui.Option{{Name: "All events", Selected: len(eventKinds(chosen)) == 0}}
	for _, k := range eventKindList() {
		options = append(options, ui.Option{Value: k.key, Name: k.name, Selected: k.key == chosen})
	}
	return options
}
