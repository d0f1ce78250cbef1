package quotas

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	effectsNamed = 3 // nodes listed per effect
	barsCompared = 3 // nodes whose bars are compared
)

// previewLimits previews the effects of the submitted values. Invalid values have no effects;
// the service reports their errors.
func (f *quotaForm) previewLimits(ctx context.Context) (views.QuotaPreview, error) {
	if len(f.problems) > 0 && f.problem("confirm") == "" {
		return views.QuotaPreview{Invalid: "The effects appear here when the values are valid: " + f.problems[0].Message}, nil
	}
	if quota.Same(f.limits, f.saved.Limits) {
		return views.QuotaPreview{Unchanged: true, Bars: f.bars(nil)}, nil
	}
	p, err := f.page.h.Quotas.Editor.Preview(ctx, f.node.ID, f.limits)
	if apperr.Is(err, apperr.Invalid) {
		if len(f.problems) == 0 {
			f.problems = apperr.FieldsOf(err)
		}
		return views.QuotaPreview{Invalid: "This cannot be saved: " + apperr.MessageOf(err)}, nil
	}
	if err != nil {
		return views.QuotaPreview{}, err
	}
	v := views.QuotaPreview{Lines: f.effects(p), Bars: f.bars(p.Changed)}
	if n := p.Stopped(); n > 0 {
		v.Confirm = "Yes, interrupt 1 running node. It restarts from its last checkpoint."
		if n > 1 {
			v.Confirm = fmt.Sprintf("Yes, interrupt %d running nodes. They restart from their last checkpoints.", n)
		}
		v.Confirmed = f.typed.Get("confirm") == "yes" && f.typed.Get("confirmed") == v.Confirm
	}
	return v, nil
}

// effects describes the effects in sentences, the worst first.
func (f *quotaForm) effects(p quota.Preview) []views.QuotaEffect {
	lines := interruptions("Interrupted", levelName(p.Node)+" would exceed its limit", p.Lowered)
	lines = append(lines, interruptions("Interrupted", "work within its guarantee needs the capacity", p.Reclaimed)...)
	for _, s := range p.OverCeiling {
		lines = append(lines, views.QuotaEffect{Strong: levelName(s.Level) + " stays above its limit for now:", Text: fmt.Sprintf(
			"it uses %s and may use %s. Its running nodes cannot be interrupted. New nodes start when enough of them have ended.",
			amount.Words(s.Resource, s.Used), amount.Unit(s.Resource).Amount(s.Ceiling))})
	}
	for i, q := range p.Blocked {
		if i == effectsNamed {
			lines = append(lines, views.QuotaEffect{Text: fmt.Sprintf("%d more cannot run here.", len(p.Blocked)-i)})
			break
		}
		lines = append(lines, queuedEffect("Cannot run here:", q))
	}
	for _, warning := range f.page.h.Quotas.Editor.Warnings(f.limits) {
		lines = append(lines, views.QuotaEffect{Strong: "Above the current capacity:", Text: warning})
	}
	lines = append(lines, f.shifts(p)...)
	for i, q := range p.Admitted {
		if i == effectsNamed {
			lines = append(lines, views.QuotaEffect{Text: fmt.Sprintf("%d more start immediately.", len(p.Admitted)-i)})
			break
		}
		lines = append(lines, queuedEffect("Starts immediately:", q))
	}
	if p.StillWait > 0 {
		lines = append(lines, views.QuotaEffect{Text: units.Plural(p.StillWait, "node keeps", "nodes keep") + " waiting."})
	}
	if p.Stopped() == 0 {
		lines = append(lines, views.QuotaEffect{Strong: "No running node is interrupted."})
	}
	return lines
}

// interruptions lists the nodes that are stopped, with the reason.
func interruptions(strong, why string, stopped []quota.Running) []views.QuotaEffect {
	var lines []views.QuotaEffect
	for i, r := range stopped {
		if i == effectsNamed {
			return append(lines, views.QuotaEffect{Strong: fmt.Sprintf("%d more are interrupted.", len(stopped)-i)})
		}
		line := views.QuotaEffect{Strong: strong + ":", Text: fmt.Sprintf("a node of another project with %s, because %s.", amount.FormatRequest(r.Amount), why)}
		if !r.Hidden() {
			line.Text, line.LinkText, line.LinkURL = amount.FormatRequest(r.Amount)+", because "+why+".", label.NameOf(r.Key, r.Name), label.QueuedURL(r.Key, r.Name)
		}
		lines = append(lines, line)
	}
	return lines
}

func queuedEffect(strong string, q quota.Queued) views.QuotaEffect {
	e := views.QuotaEffect{Strong: strong, Text: "a node of another project with " + amount.FormatRequest(q.Amount)}
	if !q.Hidden() {
		e.Text, e.LinkText, e.LinkURL = amount.FormatRequest(q.Amount)+",", label.QueuedName(q), label.QueuedURL(q.Key, q.Name)
	}
	return e
}

// shifts describes which part of the current usage becomes guaranteed or borrowed.
func (f *quotaForm) shifts(p quota.Preview) []views.QuotaEffect {
	var lines []views.QuotaEffect
	if len(p.Changed) == 0 || p.Changed[0].After.ID != f.node.ID {
		return nil
	}
	before, after, name := p.Changed[0].Before, p.Changed[0].After, levelName(f.node.Ref())
	for _, r := range f.group.resources {
		was, will := before.Resources[r], after.Resources[r]
		switch {
		case will.Borrowed < was.Borrowed && will.Used >= was.Used:
			lines = append(lines, views.QuotaEffect{Text: fmt.Sprintf("%s borrowed by %s become guaranteed.", amount.Words(r, was.Borrowed-will.Borrowed), name)})
		case will.Borrowed > was.Borrowed && will.Used <= was.Used:
			lines = append(lines, views.QuotaEffect{Text: fmt.Sprintf("%s used by %s become borrowed and can be reclaimed.", amount.Words(r, will.Borrowed-was.Borrowed), name)})
		}
		if most, bounded := after.Most[r]; bounded && most != before.Most[r] {
			lines = append(lines, views.QuotaEffect{Text: fmt.Sprintf("%s may use at most %s%s.", name, amount.Words(r, most), f.previousMaximum(before, r))})
		}
	}
	return lines
}

func (f *quotaForm) previousMaximum(before quota.Node, r fair.Resource) string {
	if most, ok := before.Most[r]; ok {
		return ", was " + amount.Unit(r).Amount(most)
	}
	return ""
}

// bars compares the edited node and other affected nodes, before and after.
func (f *quotaForm) bars(changed []quota.Compared) []views.QuotaCompare {
	var bars []views.QuotaCompare
	scale := func(r fair.Resource, nodes ...*quota.Node) int64 {
		most := int64(1)
		for _, n := range nodes {
			most = max(most, n.Most[r], n.Resources[r].Used, n.Limits.Limit[r])
		}
		return most
	}
	if len(changed) == 0 {
		for _, r := range f.group.resources {
			bars = append(bars, compareBar(f.node, r, scale(r, f.node), "now"))
		}
		return bars
	}
	shown := 0
	for i, c := range changed {
		if shown == barsCompared {
			break
		}
		above := slices.ContainsFunc(f.node.Path, func(l fair.LevelRef) bool { return l.ID == c.After.ID })
		if i > 0 && above { // levels above change by the sum of the levels below
			continue
		}
		shown++
		for _, r := range f.group.resources {
			was, will := quotaFigures(&c.Before, r, 0), quotaFigures(&c.After, r, 0)
			if was == will && c.Before.Limits.Lend[r] == c.After.Limits.Lend[r] {
				continue
			}
			s := scale(r, &c.Before, &c.After)
			if i == 0 {
				bars = append(bars, compareBar(&c.Before, r, s, "now"))
			}
			bars = append(bars, compareBar(&c.After, r, s, "after"))
		}
	}
	return bars
}

func compareBar(n *quota.Node, r fair.Resource, scale int64, when string) views.QuotaCompare {
	f := quotaFigures(n, r, scale)
	note := f.Unit.Amount(f.Used) + " in use"
	if f.Limit >= 0 {
		note = f.Unit.Amount(f.Limit) + " guaranteed, " + note
	}
	name := strings.TrimSpace(levelName(n.Ref()) + " " + when)
	f.Who = name
	return views.QuotaCompare{Name: name + " · " + amount.Name(r), Note: note, Bar: ui.NewQuotaBar(f)}
}
