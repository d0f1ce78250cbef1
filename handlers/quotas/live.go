package quotas

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// live is the part above the table.
func (p *quotaPage) live() views.QuotaLive {
	return views.QuotaLive{Figures: p.figures(), Advice: p.advice()}
}

// topNodes are the nodes without a visible parent.
func (p *quotaPage) topNodes() []*quota.Node {
	var tops []*quota.Node
	for i := range p.overview.Nodes {
		if len(p.overview.Nodes[i].Path) == 1 {
			tops = append(tops, &p.overview.Nodes[i])
		}
	}
	return tops
}

// figures are the key figures: GPUs in use by type, or CPU if there are no GPUs, and waiting
// nodes.
func (p *quotaPage) figures() []views.QuotaFigure {
	tops := p.topNodes()
	use := func(r fair.Resource) views.QuotaFigure {
		var used, limit int64
		for _, n := range tops {
			used += n.Resources[r].Used
			limit += n.Limits.Limit[r]
		}
		f := views.QuotaFigure{Name: amount.Name(r) + " in use", Value: amount.Unit(r).Amount(used)}
		if limit > 0 {
			f.Note = "of " + amount.Unit(r).Amount(limit)
		}
		if r == fair.CPU {
			f.Note += " cores"
		}
		return f
	}
	var figures []views.QuotaFigure
	for _, r := range p.overview.Resources {
		if r.GPUType() != "" && len(figures) < 6 {
			figures = append(figures, use(r))
		}
	}
	if len(figures) == 0 {
		figures = append(figures, use(fair.CPU))
	}
	waiting, gpus := 0, int64(0)
	for _, n := range tops {
		waiting += n.Waiting
		gpus += n.Resources[fair.GPU].Waiting
	}
	f := views.QuotaFigure{Name: "Waiting", Value: units.Number(int64(waiting)), Note: "nodes"}
	if waiting == 1 {
		f.Note = "node"
	}
	if gpus > 0 {
		f.Note += ", " + units.Plural(int(gpus), "GPU", "GPUs")
	}
	figures = append(figures, f)
	if l := p.overview.Longest; l != nil {
		f := views.QuotaFigure{Name: "Longest wait", Value: units.Duration(p.clock.Now.Sub(l.Since).Truncate(time.Minute))}
		if p.clock.Now.Sub(l.Since) < time.Minute {
			f.Value = units.Duration(p.clock.Now.Sub(l.Since).Truncate(time.Second))
		}
		if !l.Hidden() {
			f.Note, f.URL = label.QueuedName(*l), label.QueuedURL(l.Key, l.Name)
		}
		figures = append(figures, f)
	}
	return figures
}

const quotaAdviceShown = 3

// advice lists levels that wait next to ones with idle or borrowed capacity, and prepares a
// change that would help.
func (p *quotaPage) advice() []views.QuotaAdvice {
	var advice []views.QuotaAdvice
	for _, pair := range p.overview.Pairs {
		if len(advice) == quotaAdviceShown {
			break
		}
		advice = append(advice, p.advise(pair))
	}
	return advice
}

func (p *quotaPage) advise(pair fair.Pair) views.QuotaAdvice {
	starved, other, u := levelName(pair.Starved), levelName(pair.Other), amount.Unit(pair.Resource)
	if pair.Guaranteed {
		return views.QuotaAdvice{
			Strong: fmt.Sprintf("%s is waiting for %s of its guarantee while %s borrows %s.", starved, amount.Words(pair.Resource, pair.Demand), other, u.Amount(pair.Amount)),
			Text:   "Borrowed capacity is reclaimed automatically after a checkpoint. Work that cannot be interrupted ends first.",
		}
	}
	help := min(pair.Demand, pair.Amount)
	a := views.QuotaAdvice{
		Strong: fmt.Sprintf("%s is waiting for %s. %s has %s unused and does not lend them.", starved, amount.Words(pair.Resource, pair.Demand), other, u.Amount(pair.Amount)),
		Text:   fmt.Sprintf("Lending %s would help immediately.", amount.Words(pair.Resource, help)),
	}
	node := p.overview.Find(pair.Other.ID)
	if node == nil || !node.Writable {
		return a
	}
	lend, limited := node.Limits.Lend[pair.Resource]
	if !limited {
		return a
	}
	typed := url.Values{
		"lend." + string(pair.Resource): {typedAmount(pair.Resource, min(lend+help, node.Limits.Limit[pair.Resource]))},
		"reason":                        {starved + " is waiting for " + amount.Words(pair.Resource, pair.Demand)},
	}
	a.URL = quotaSelection{only: p.selection.only}.editURL(pair.Other.ID, typed)
	return a
}

// quotaStream sends bars, figures and notes whenever they changed.
func (h *Pages) quotaStream(w http.ResponseWriter, r *http.Request) error {
	may := func(ctx context.Context) error {
		_, err := h.Quotas.Reader.Overview(ctx, uuid.Nil)
		return err
	}
	if err := may(r.Context()); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, may)
	if err != nil {
		return err
	}
	sent := page.SentPieces{}
	q := quotaPage{h: h, clock: h.Page.Clock(r), selection: quotaSelected(r.URL.Query())}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		o, err := h.Quotas.Reader.Overview(ctx, uuid.Nil)
		if err != nil {
			return err
		}
		q.overview, q.clock.Now = o, h.Now()
		update, changed := q.update(sent)
		if !changed {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.QuotaUpdateBlock(update))
	})
	return nil
}

// update contains the changes since the previous message.
func (p *quotaPage) update(sent page.SentPieces) (u views.QuotaUpdate, changed bool) {
	group := p.selection.pick(quotaGroups(p.overview), nil)
	if figures := p.figures(); sent.Changed("figures", figures) {
		u.Figures, changed = figures, true
	}
	if advice := p.advice(); sent.Changed("advice", advice) {
		u.Advice, changed = &advice, true
	}
	for _, row := range p.tree(group).Rows {
		for _, c := range row.Cells {
			if sent.Changed(c.ID, c) {
				u.Cells, changed = append(u.Cells, c), true
			}
		}
		if sent.Changed(row.Waiting.ID, row.Waiting) {
			u.Waiting, changed = append(u.Waiting, row.Waiting), true
		}
		if sent.Changed(row.NotesID(), row.Notes) {
			u.Rows, changed = append(u.Rows, row), true
		}
	}
	return u, changed
}

// quotaCSV is the complete tree with its usage, one line per node and resource.
func (h *Pages) quotaCSV(w http.ResponseWriter, r *http.Request) error {
	o, err := h.Quotas.Reader.Overview(r.Context(), uuid.Nil)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="quotas-`+h.Now().UTC().Format("2006-01-02-1504")+`.csv"`)
	out := csv.NewWriter(w)
	_ = out.Write([]string{"node_id", "kind", "path", "resource", "unit", "limit", "borrow", "lend", "most", "used", "borrowed", "lent", "free", "waiting", "weight"})
	for _, n := range o.Nodes {
		for _, r := range o.Resources {
			_ = out.Write(quotaRecord(n, r))
		}
	}
	out.Flush()
	return nil // the client may have disconnected
}

func quotaRecord(n quota.Node, r fair.Resource) []string {
	number := func(v fair.Vector) string {
		if x, ok := v[r]; ok {
			return strconv.FormatInt(x, 10)
		}
		return ""
	}
	state := n.Resources[r]
	record := []string{
		n.ID.String(), n.Kind, content.CSVText(levelPath(n.Path, "/")), string(r), map[bool]string{true: "count", false: r.Unit()}[r.Unit() == ""],
		number(n.Limits.Limit), number(n.Limits.Borrow), number(n.Limits.Lend), number(n.Most),
	}
	for _, v := range []int64{state.Used, state.Borrowed, state.Lent, state.Free, state.Waiting} {
		record = append(record, strconv.FormatInt(v, 10))
	}
	return append(record, strconv.FormatFloat(n.Limits.Weight, 'f', -1, 64))
}

// levelPath is the path of a node from the top, separated by sep. Only the path of the
// installation contains the installation.
func levelPath(path []fair.LevelRef, sep string) string {
	var names []string
	for i, l := range path {
		if l.Kind != "installation" || i == len(path)-1 {
			names = append(names, levelName(l))
		}
	}
	return strings.Join(names, sep)
}
