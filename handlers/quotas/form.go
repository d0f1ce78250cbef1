package quotas

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// quotaParts are the amounts that a node can set for a resource.
func quotaParts() []string { return []string{"limit", "borrow", "lend", "default"} }

// applies reports whether a part exists for a resource: only CPU and memory have a
// default request.
func applies(name string, r fair.Resource) bool {
	return name != "default" || r == fair.CPU || r == fair.Memory
}

// part returns the vector of a part, possibly nil.
func part(l fair.Limits, name string) fair.Vector {
	switch name {
	case "limit":
		return l.Limit
	case "borrow":
		return l.Borrow
	case "default":
		return l.Default
	default:
		return l.Lend
	}
}

// typedQuota returns the values of q that belong to the form of an edit.
func typedQuota(q url.Values) url.Values {
	typed := url.Values{}
	for name, values := range q {
		head, _, _ := strings.Cut(name, ".")
		switch head {
		case "limit", "borrow", "lend", "default", "weight", "reason", "version", "confirm", "confirmed", "was", "back":
			typed[name] = values
		}
	}
	return typed
}

// quotaForm is the form of one node: the saved values, the submitted values and the errors.
type quotaForm struct {
	page     *quotaPage
	node     *quota.Node
	saved    quota.Setting
	group    quotaGroup
	typed    url.Values
	limits   fair.Limits // submitted values over the saved ones
	problems []apperr.Field
	conflict *views.QuotaConflict
}

// form starts the form of a node.
func (p *quotaPage) form(ctx context.Context, id uuid.UUID, typed url.Values) (*quotaForm, error) {
	saved, err := p.h.Quotas.Editor.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	node := p.overview.Find(id)
	if node == nil {
		return nil, apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
	}
	if !node.Writable {
		return nil, apperr.New(apperr.Forbidden, "You cannot change the limits of %s. Ask an administrator of the level above it.", levelName(node.Ref()))
	}
	f := &quotaForm{page: p, node: node, saved: saved, typed: typed, group: p.selection.pick(quotaGroups(p.overview), typed)}
	f.read()
	return f, nil
}

// read decodes the submitted values over the saved ones. Resources that the form does not show
// are unchanged.
func (f *quotaForm) read() {
	f.limits = fair.Limits{Weight: f.saved.Limits.Weight, Default: fair.Vector{}, Limit: fair.Vector{}, Borrow: fair.Vector{}, Lend: fair.Vector{}}
	for _, name := range quotaParts() {
		to := part(f.limits, name)
		maps.Copy(to, part(f.saved.Limits, name))
		for _, r := range f.group.resources {
			values, ok := f.typed[name+"."+string(r)]
			if !ok {
				continue
			}
			delete(to, r)
			text := strings.TrimSpace(values[0])
			if text == "" {
				continue
			}
			n, problem := amount.Parse(r, text)
			if problem != "" {
				f.problems = append(f.problems, apperr.Field{Path: name + "." + string(r), Message: problem})
				continue
			}
			to[r] = n
		}
	}
	if values, ok := f.typed["weight"]; ok && f.weighted() {
		w, err := strconv.ParseFloat(strings.TrimSpace(values[0]), 64)
		if err != nil || !(w > 0 && w <= 1000) {
			f.problems = append(f.problems, apperr.Field{Path: "weight", Message: "Enter a weight above 0 and at most 1000."})
			return
		}
		f.limits.Weight = w
	}
}

// weighted reports whether the node has siblings, so that its weight matters.
func (f *quotaForm) weighted() bool { return f.node.Kind != "installation" }

// version is the version from which the form was drawn.
func (f *quotaForm) version() int64 {
	if v, err := strconv.ParseInt(f.typed.Get("version"), 10, 64); err == nil {
		return v
	}
	return f.saved.Version
}

// draw is the form with the effects of its values.
func (f *quotaForm) draw(ctx context.Context) (*views.QuotaEdit, error) {
	id, name := f.node.ID.String(), levelName(f.node.Ref())
	back := f.page.selection.values()
	e := &views.QuotaEdit{
		ID: id, Name: name, Kind: f.node.Kind, Action: views.QuotaEditURL(id), PreviewURL: views.QuotaPreviewURL(id),
		CancelURL: views.QuotasURL(back) + "#q-" + shortNode(f.node.ID), Version: strconv.FormatInt(f.version(), 10), Back: back.Encode(),
		SaveText: "Save for " + name, Conflict: f.conflict,
		Reason: views.QuotaField{ID: "reason", Name: "reason", Label: "Reason", Help: "Recorded in the audit log.", Value: f.typed.Get("reason"), Error: f.problem("reason")},
	}
	if f.conflict != nil {
		e.Version = strconv.FormatInt(f.saved.Version, 10)
	}
	for i, r := range f.group.resources {
		e.Sets = append(e.Sets, f.set(i, r))
	}
	if f.weighted() {
		e.Weight = &views.QuotaField{
			ID: "weight", Name: "weight", Label: "Weight", Help: "Share of unused capacity relative to siblings.",
			Value: f.value("weight", ui.Float(f.saved.Limits.Weight)), Unit: "× siblings", Decimal: true, Error: f.problem("weight"),
		}
	}
	var err error
	if e.Preview, err = f.previewLimits(ctx); err != nil {
		return nil, err
	}
	if e.Preview.Confirm != "" {
		e.Preview.ConfirmError = f.problem("confirm")
	}
	e.Base = f.base()
	return e, nil
}

// base contains the values from which the form was drawn, to show them in a conflict.
func (f *quotaForm) base() []views.Hidden {
	var base []views.Hidden
	for _, name := range quotaParts() {
		for _, r := range f.group.resources {
			if !applies(name, r) {
				continue
			}
			path := name + "." + string(r)
			base = append(base, views.Hidden{Name: "was." + path, Value: f.value("was."+path, savedText(f.saved.Limits, name, r))})
		}
	}
	return base
}

// value is the submitted value of a field, else the saved one.
func (f *quotaForm) value(name, saved string) string {
	if values, ok := f.typed[name]; ok {
		return values[0]
	}
	return saved
}

func (f *quotaForm) problem(path string) string {
	for _, p := range f.problems {
		if p.Path == path {
			return p.Message
		}
	}
	return ""
}

// typedAmount formats an amount for the form.
func typedAmount(r fair.Resource, n int64) string {
	return strings.ReplaceAll(amount.Unit(r).Amount(n), ",", "")
}

// savedText is a saved amount as the form shows it, "" for an absent one.
func savedText(l fair.Limits, name string, r fair.Resource) string {
	if v, ok := part(l, name)[r]; ok {
		return typedAmount(r, v)
	}
	return ""
}

// set contains the fields of one resource.
func (f *quotaForm) set(i int, r fair.Resource) views.QuotaSet {
	s := views.QuotaSet{Resource: string(r), Legend: amount.Name(r), Distributed: f.allocatedText(r)}
	unit := amount.Unit(r).Short
	for _, about := range []struct{ name, label, help, empty string }{
		{"limit", "Guaranteed", "Always available here. Lent while idle.", "no limit"},
		{"borrow", "May borrow", "Idle capacity of others, returned on demand.", "0"},
		{"lend", "Lends at most", "The rest is reserved, even if unused.", "all"},
		{"default", "Default request", "For each pod of a task that sets none.", "inherited"},
	} {
		if !applies(about.name, r) || f.node.Kind == "installation" && about.name != "limit" && about.name != "default" {
			continue // the installation has no level above to borrow from or lend to
		}
		path := about.name + "." + string(r)
		saved := savedText(f.saved.Limits, about.name, r)
		field := views.QuotaField{
			ID: fmt.Sprintf("%s-%d", about.name, i), Name: path, Label: about.label, Help: about.help, Placeholder: about.empty,
			Value: f.value(path, saved), Unit: unit, Error: f.problem(path), Decimal: amount.Unit(r).Divisor > 0,
		}
		if about.name == "limit" && f.node.Kind == "installation" {
			field.Help, field.Placeholder = "Empty: the capacity of the machines.", typedAmount(r, f.node.Limits.Limit[r])
		}
		if field.Value != saved {
			field.Was = "was " + saved
			if saved == "" {
				field.Was = "was " + about.empty
			}
		}
		s.Fields = append(s.Fields, field)
	}
	return s
}

// allocatedText states the capacity of the parent and the guarantees below it.
func (f *quotaForm) allocatedText(r fair.Resource) string {
	parent := f.page.overview.Find(f.node.Parent)
	if parent == nil {
		return ""
	}
	u, name := amount.Unit(r), levelName(parent.Ref())
	promised := u.Amount(parent.Distributed[r]) + " guaranteed below it"
	if limit, ok := parent.Limits.Limit[r]; ok {
		text := fmt.Sprintf("%s has %s; %s.", name, u.Amount(limit), promised)
		if parent.Distributed[r] > limit {
			text = fmt.Sprintf("%s has %s; %s: the guarantees exceed the capacity.", name, u.Amount(limit), promised)
		}
		return text
	}
	if most, ok := parent.Most[r]; ok {
		return fmt.Sprintf("%s has no limit and can use up to %s; %s.", name, u.Amount(most), promised)
	}
	return fmt.Sprintf("%s has no limit; %s.", name, promised)
}
