// Package planview draws the plans of versions and describes their operators.
package planview

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// Drawings caches the layouts of versions in use. A version never changes, so its drawing
// does not change either.
type Drawings struct {
	mu   sync.Mutex
	kept map[drawingKey]*dagview.Drawing
}

type drawingKey struct {
	version   uuid.UUID
	graph     string
	direction dagview.Direction
}

const maxDrawings = 256

// NewDrawings returns an empty cache.
func NewDrawings() *Drawings { return &Drawings{kept: map[drawingKey]*dagview.Drawing{}} }

// Of returns the drawing of a graph of v, which it lays out at the first use. "" is the
// workflow itself.
func (d *Drawings) Of(v workflow.Version, graph string, direction dagview.Direction) *dagview.Drawing {
	key := drawingKey{v.ID, graph, direction}
	d.mu.Lock()
	drawing, ok := d.kept[key]
	d.mu.Unlock()
	if ok {
		return drawing
	}
	drawing = dagview.Layout(planItems(v, graph), direction)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) >= maxDrawings {
		clear(d.kept) // rare, and cheaper than tracking the order of use
	}
	d.kept[key] = drawing
	return drawing
}

// Best draws top-down unless that is too wide and left-to-right is narrower, because pages
// scroll down more easily than sideways.
func (d *Drawings) Best(v workflow.Version, graph string) *dagview.Drawing {
	const frame = 760 // CSS pixels next to a panel
	down := d.Of(v, graph, dagview.Down)
	if down.Width <= frame {
		return down
	}
	if right := d.Of(v, graph, dagview.Right); right.Width < down.Width {
		return right
	}
	return down
}

// planItems are the operators of a graph in drawing order: exit handlers are last.
func planItems(v workflow.Version, graph string) []dagview.Item {
	plan, operators := GraphOf(v, graph)
	if plan == nil {
		return nil
	}
	deepest := -1
	for _, n := range plan.Nodes {
		if !n.Final {
			deepest = max(deepest, n.Level)
		}
	}
	items := make([]dagview.Item, len(plan.Nodes))
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		items[i] = dagview.Item{
			Name: n.Name, Level: n.Level, Dependencies: n.Dependencies, Expands: n.Expands, Final: n.Final, Links: planLinks(plan, n, &operators[i]),
		}
		if n.Final {
			items[i].Level += deepest + 1
		}
	}
	return items
}

// planLinks are the dependencies of a node whose condition is not plain success.
func planLinks(plan *dag.Plan, n *dag.Node, op *workflow.Operator) []dagview.Link {
	if n.Depends == "" {
		return nil
	}
	var links []dagview.Link
	for _, d := range n.Dependencies {
		requested := n.RuleStatuses(d)
		if len(requested) == 0 || slices.Equal(requested, []dag.Status{dag.HasSucceeded}) {
			continue
		}
		words := make([]string, len(requested))
		for k, s := range requested {
			words[k] = plan.Nodes[d].Name + "." + string(s)
		}
		text := n.Name + " starts on " + strings.Join(words, " or ")
		if rule := op.Depends; rule != "" && rule != strings.Join(words, " || ") {
			text += ", rule: " + ui.Short(rule, 200)
		}
		links = append(links, dagview.Link{On: d, Text: text, Failure: dag.OfFailure(requested)})
	}
	return links
}

// GraphOf returns the plan and the operators of a graph of v, or nil if it has no such
// graph. "" is the workflow itself.
func GraphOf(v workflow.Version, graph string) (*dag.Plan, []workflow.Operator) {
	g, ok := v.Definition.Graph(graph)
	if graph == "" {
		return v.Plan, g.Operators
	}
	plan := v.Plans[graph]
	if !ok || plan == nil {
		return nil, nil
	}
	return plan, g.Operators
}
