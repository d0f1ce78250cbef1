package handlers

import (
	"sync"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/dag"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/workflow"
)

// drawings keeps the layouts of versions in use: a version never changes, so
// neither does its drawing.
type drawings struct {
	mu   sync.Mutex
	kept map[drawingKey]*dagview.Drawing
}

type drawingKey struct {
	version   uuid.UUID
	direction dagview.Direction
}

const maxDrawings = 256

func newDrawings() *drawings { return &drawings{kept: map[drawingKey]*dagview.Drawing{}} }

// of returns the drawing of v, laid out at its first use.
func (d *drawings) of(v workflow.Version, direction dagview.Direction) *dagview.Drawing {
	key := drawingKey{v.ID, direction}
	d.mu.Lock()
	drawing, ok := d.kept[key]
	d.mu.Unlock()
	if ok {
		return drawing
	}
	drawing = dagview.Layout(planItems(v.Plan), direction)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) >= maxDrawings {
		clear(d.kept) // rare, and cheaper than an order of use
	}
	d.kept[key] = drawing
	return drawing
}

// best runs down unless that is wide and running to the right is narrower: a page
// scrolls down more easily than sideways.
func (d *drawings) best(v workflow.Version) *dagview.Drawing {
	const frame = 760 // CSS pixels beside a panel
	down := d.of(v, dagview.Down)
	if down.Width <= frame {
		return down
	}
	if right := d.of(v, dagview.Right); right.Width < down.Width {
		return right
	}
	return down
}

func planItems(plan *dag.Plan) []dagview.Item {
	items := make([]dagview.Item, len(plan.Nodes))
	for i, n := range plan.Nodes {
		items[i] = dagview.Item{Name: n.Name, Level: n.Level, Dependencies: n.Dependencies}
	}
	return items
}
