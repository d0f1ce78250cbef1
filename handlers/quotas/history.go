package quotas

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	quotaChangesShown = 8
	historyTableRows  = 24
)

// quotaSpans are the selectable periods.
func quotaSpans() []struct {
	key, name, words string
	span             time.Duration
} {
	return []struct {
		key, name, words string
		span             time.Duration
	}{
		{"1h", "1 h", "the last hour", time.Hour},
		{"24h", "24 h", "the last 24 hours", 24 * time.Hour},
		{"7d", "7 d", "the last 7 days", 7 * 24 * time.Hour},
	}
}

// history is the chart of usage and limit over time.
func (p *quotaPage) history(ctx context.Context, group quotaGroup) (views.QuotaHistory, error) {
	h := views.QuotaHistory{Title: "History", Action: views.QuotasURL(nil)}
	if len(p.overview.Nodes) == 0 {
		h.Empty = "You cannot view any level."
		return h, nil
	}
	node, resource := p.charted(group)
	span := quotaSpans()[1]
	for _, s := range quotaSpans() {
		current := s.key == p.selection.span || p.selection.span == "" && s.key == span.key
		if current {
			span = s
		}
		h.Ranges = append(h.Ranges, ui.Choice{Name: s.name, Current: current, URL: p.selection.url(func(q *quotaSelection) { q.span = s.key }) + "#history"})
	}
	for _, n := range p.overview.Nodes {
		h.Nodes = append(h.Nodes, ui.Option{Value: shortNode(n.ID), Name: levelPath(n.Path, " › "), Selected: n.ID == node.ID})
	}
	for _, g := range quotaGroups(p.overview) {
		for _, r := range g.resources {
			h.Resources = append(h.Resources, ui.Option{Value: string(r), Name: amount.Name(r), Selected: r == resource})
		}
	}
	h.Keep = kept(p.selection.values(), "of", "resource")
	data, err := p.h.Quotas.Reader.History(ctx, node.ID, resource, span.span)
	if err != nil {
		return h, err
	}
	if len(data.Samples) == 0 {
		h.Empty = "Usage is recorded once a minute. There are no samples in " + span.words + "."
		return h, nil
	}
	p.draw(&h, data, amount.Unit(resource), fmt.Sprintf("%s of %s in %s", amount.Name(resource), levelName(node.Ref()), span.words))
	return h, nil
}

// charted is the node and the resource of the chart: the chosen ones, or the edited node, or
// the first.
func (p *quotaPage) charted(group quotaGroup) (*quota.Node, fair.Resource) {
	node, resource := &p.overview.Nodes[0], group.resources[0]
	for i := range p.overview.Nodes {
		n := &p.overview.Nodes[i]
		if p.selection.of == shortNode(n.ID) || p.selection.of == "" && n.ID == p.selection.edit {
			node = n
		}
	}
	for _, g := range quotaGroups(p.overview) {
		if slices.Contains(g.resources, fair.Resource(p.selection.resource)) {
			resource = fair.Resource(p.selection.resource)
		}
	}
	return node, resource
}

func kept(q url.Values, but ...string) []views.Hidden {
	var keep []views.Hidden
	for name, values := range q {
		if slices.Contains(but, name) {
			continue
		}
		for _, v := range values {
			keep = append(keep, views.Hidden{Name: name, Value: v})
		}
	}
	slices.SortFunc(keep, func(a, b views.Hidden) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	return keep
}

// draw draws the chart with its table and its description.
func (p *quotaPage) draw(h *views.QuotaHistory, data quota.History, unit ui.Unit, about string) {
	scale := max(unit.Divisor, 1)
	samples := make([]chart.Sample, len(data.Samples))
	var low, high, waiting float64
	stride := (len(samples) + historyTableRows - 1) / historyTableRows
	for i, s := range data.Samples {
		limit := -1.0
		if s.Limit != nil {
			limit = float64(*s.Limit) / scale
		}
		samples[i] = chart.Sample{At: s.At, Used: s.Used / scale, Waiting: s.Waiting / scale, Limit: limit}
		if i == 0 {
			low = samples[i].Used
		}
		low, high, waiting = min(low, samples[i].Used), max(high, samples[i].Used), max(waiting, samples[i].Waiting)
		if i%stride == 0 {
			row := views.QuotaHistoryRow{At: p.clock.Moment(s.At), Used: ui.Float(round2(samples[i].Used)), Waiting: ui.Float(round2(samples[i].Waiting)), Limit: "–"}
			if limit >= 0 {
				row.Limit = ui.Float(limit)
			}
			h.Table = append(h.Table, row)
		}
	}
	h.Chart = chart.NewHistory(samples, chart.HistoryOptions{From: data.From, To: data.To, Gap: 3 * data.Step, Zone: p.clock.Zone, Format: ui.Float})
	h.Label = fmt.Sprintf("%s: %s to %s %s in use", about, ui.Float(round2(low)), ui.Float(round2(high)), unit.Word)
	if last := samples[len(samples)-1]; last.Limit >= 0 {
		h.Label += ", guarantee " + ui.Float(last.Limit)
	}
	if waiting > 0 {
		h.Label += ", at most " + ui.Float(round2(waiting)) + " waiting"
	}
}

func round2(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }

// changes are the latest changes of limits in the audit log.
func (p *quotaPage) changes(ctx context.Context) ([]views.QuotaChange, error) {
	list, err := p.h.Quotas.Reader.Changes(ctx, quotaChangesShown)
	if err != nil {
		return nil, err
	}
	var out []views.QuotaChange
	for _, c := range list {
		out = append(out, views.QuotaChange{
			Who: c.Actor, Node: levelName(c.Node), Text: changeText(c), At: p.clock.Ago(c.At), Reason: c.Reason, UndoURL: p.undoURL(c),
		})
	}
	return out, nil
}

// changeText describes a change: "A100 guarantee: 8 → 10, weight: 1 → 2".
func changeText(c quota.Change) string {
	text := ""
	add := func(s string) {
		if text != "" {
			text += ", "
		}
		text += s
	}
	words := map[string][2]string{"limit": {"guarantee", "none"}, "borrow": {"borrowing", "none"}, "lend": {"lending", "all"}, "default": {"default request", "inherited"}}
	for _, name := range quotaParts() {
		for _, r := range changedResources(part(c.Old, name), part(c.New, name)) {
			show := func(l fair.Limits) string {
				if v, ok := part(l, name)[r]; ok {
					return strings.TrimSpace(amount.Unit(r).Amount(v) + " " + unitAfter(r, v))
				}
				return words[name][1]
			}
			add(fmt.Sprintf("%s %s: %s → %s", amount.Name(r), words[name][0], show(c.Old), show(c.New)))
		}
	}
	if was, is := max(c.Old.Weight, 0), max(c.New.Weight, 0); was != is && was != 0 && is != 0 {
		add("weight: " + ui.Float(was) + " → " + ui.Float(is))
	}
	if text == "" {
		return "saved without a change"
	}
	return text
}

// unitAfter is the unit that follows an amount; "" for a count.
func unitAfter(r fair.Resource, v int64) string {
	unit := amount.Unit(r)
	switch {
	case unit.Divisor == 0:
		return ""
	case r == fair.CPU && v == int64(unit.Divisor):
		return "core"
	}
	return unit.Short
}

// changedResources are the resources in which two vectors differ.
func changedResources(a, b fair.Vector) []fair.Resource {
	all := fair.Vector{}
	for _, v := range []fair.Vector{a, b} {
		for r := range v {
			x, okA := a[r]
			y, okB := b[r]
			if x != y || okA != okB {
				all[r] = 1
			}
		}
	}
	return all.Resources()
}

// undoURL prepares the inverse of a change, which is previewed and saved like any other. It is
// "" if the reader may not change it.
func (p *quotaPage) undoURL(c quota.Change) string {
	node := p.overview.Find(c.Node.ID)
	if node == nil || !node.Writable {
		return ""
	}
	typed := url.Values{"reason": {"Undo of " + p.clock.Moment(c.At).Exact}}
	for _, name := range quotaParts() {
		for _, r := range changedResources(part(c.Old, name), part(c.New, name)) {
			typed.Set(name+"."+string(r), savedText(c.Old, name, r))
		}
	}
	if c.Old.Weight != c.New.Weight && c.Old.Weight > 0 {
		typed.Set("weight", ui.Float(c.Old.Weight))
	}
	return quotaSelection{}.editURL(c.Node.ID, typed)
}
