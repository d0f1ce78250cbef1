package quota

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Preview describes the immediate effects of new limits of a node.
type Preview struct {
	Node        fair.LevelRef
	Lowered     []Running // stop, because a level would be above its maximum
	Reclaimed   []Running // stop, because a request within its guarantee needs the capacity
	Admitted    []Queued  // start at once
	Blocked     []Queued  // wait and could never start
	StillWait   int       // the others that wait before and after
	OverCeiling []fair.Shortfall
	Changed     []Compared // nodes whose limits or use change, the edited one first
}

// Compared is a node before and after an edit.
type Compared struct{ Before, After Node }

// Stopped returns the number of running attempts that it would stop.
func (p Preview) Stopped() int { return len(p.Lowered) + len(p.Reclaimed) }

// Preview predicts the effects of saving limits of a node, and changes nothing. It
// requires the same right as Put, and rejects the same values.
func (ed *Editor) Preview(ctx context.Context, node uuid.UUID, limits fair.Limits) (Preview, error) {
	level, err := ed.authorize(ctx, node)
	if err != nil {
		return Preview{}, err
	}
	found, err := ed.previewLimits(level, limits)
	if err != nil {
		return Preview{}, err
	}
	subject, _ := auth.SubjectOf(ctx)
	p := Preview{Node: level.Ref(), StillWait: found.StillWait, OverCeiling: found.OverCeiling}
	for _, part := range []struct {
		from []fair.Victim
		to   *[]Running
	}{{found.Excess, &p.Lowered}, {found.Reclaimed, &p.Reclaimed}} {
		var held []fair.Held
		for _, v := range part.from {
			held = append(held, v.Held)
		}
		if *part.to, err = ed.reader.running(ctx, subject, held); err != nil {
			return Preview{}, err
		}
	}
	if p.Admitted, err = ed.reader.queued(ctx, subject, found.Admitted); err != nil {
		return Preview{}, err
	}
	if p.Blocked, err = ed.reader.queued(ctx, subject, found.Blocked); err != nil {
		return Preview{}, err
	}
	p.Changed = compared(found, level.ID, func(id uuid.UUID) bool { return subject.May(auth.QuotaRead, id) })
	return p, nil
}

// compared returns the nodes that an edit changes, the edited one first.
func compared(p fair.Preview, edited uuid.UUID, may func(uuid.UUID) bool) []Compared {
	before := map[uuid.UUID]Node{}
	for _, n := range arrange(p.Before.Levels) {
		before[n.ID] = n
	}
	var changed []Compared
	for _, n := range arrange(p.After.Levels) {
		was := before[n.ID]
		switch {
		case n.ID == edited:
			changed = append([]Compared{{was, n}}, changed...)
		case may(n.ID) && !reflect.DeepEqual(figures(was), figures(n)):
			changed = append(changed, Compared{was, n})
		}
	}
	return changed
}

// figures are the numbers that the bars of a node show.
func figures(n Node) map[fair.Resource][4]int64 {
	out := map[fair.Resource][4]int64{}
	for r, s := range n.Resources {
		out[r] = [4]int64{s.Used, s.Borrowed, s.Lent, n.Most[r]}
	}
	return out
}

// previewLimits predicts the effects of limits of level, and returns their problems.
func (ed *Editor) previewLimits(level fair.Level, limits fair.Limits) (fair.Preview, error) {
	capacity := ed.levels.bounds()
	limits = today(limits, capacity)
	if level.Parent == uuid.Nil {
		whole := maps.Clone(capacity)
		maps.Copy(whole, limits.Limit)
		limits.Limit = whole
	}
	p, err := ed.fair.Preview([]fair.Edit{{Level: level.ID, Limits: limits}})
	if err != nil {
		return fair.Preview{}, ed.faults(level, err)
	}
	return p, nil
}

// faults converts the problems of a tree to problems of the limits of one level: a
// child above its parent's limit is a problem of the lowered limit of the parent.
func (ed *Editor) faults(level fair.Level, err error) error {
	fields := apperr.FieldsOf(err)
	if len(fields) == 0 {
		return err
	}
	var own []apperr.Field
	seen := map[string]bool{}
	for _, f := range fields {
		id, path, _ := strings.Cut(f.Path, ".")
		message := f.Message
		if id != level.ID.String() {
			kind, resource, _ := strings.Cut(path, ".")
			child, known := ed.fair.Tree().Level(uuid.MustParse(id))
			if !known || kind != "limit" {
				return err
			}
			r := fair.Resource(resource)
			message = fmt.Sprintf("%s below it has a higher limit, %s. Lower that limit first.", child.Ref(), r.Format(child.Limits.Limit[r]))
		}
		if !seen[path] {
			seen[path] = true
			own = append(own, apperr.Field{Path: path, Message: message})
		}
	}
	return apperr.InvalidFields(own[0].Message, own)
}
