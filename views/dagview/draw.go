package dagview

import (
	"fmt"
	"math"
	"strings"

	"github.com/flowforge/flowforge/views/chart"
)

// draw turns the centres along the layers into the boxes and lines of d.
func (g *layers) draw(d *Drawing, xs []float64, direction Direction) {
	low, high := math.Inf(1), math.Inf(-1)
	for c, x := range xs {
		low, high = min(low, x-g.cells[c].across/2), max(high, x+g.cells[c].across/2)
	}
	top, deep := make([]float64, len(g.rows)), make([]float64, len(g.rows))
	at, exit := float64(margin), -1.0
	for r, row := range g.rows {
		if exit < 0 && r > 0 && g.final(row, d.Boxes) {
			exit = at - g.layerGap(direction)/2 + exitGap/3
			at += exitGap
		}
		top[r] = at
		for _, c := range row {
			deep[r] = max(deep[r], g.cells[c].depth)
		}
		at += deep[r] + g.layerGap(direction)
	}
	length := at - g.layerGap(direction) + margin
	for c, x := range xs {
		xs[c] = math.Round(x - low + margin)
	}
	for c, cl := range g.cells {
		if cl.box < 0 {
			continue
		}
		b := &d.Boxes[cl.box]
		along, across := int(xs[c]-cl.across/2), int(top[cl.layer]+(deep[cl.layer]-cl.depth)/2)
		b.X, b.Y = along, across
		if direction == Right {
			b.X, b.Y = across, along
		}
	}
	for i, chain := range g.chains {
		p := pen{right: direction == Right}
		for k, c := range chain {
			cl := g.cells[c]
			near := top[cl.layer] + (deep[cl.layer]-cl.depth)/2
			far := near + cl.depth
			if cl.box < 0 {
				near, far = top[cl.layer], top[cl.layer]+deep[cl.layer]
			}
			switch k {
			case 0:
				p.move(xs[c], far)
			case len(chain) - 1:
				p.curve(xs[c], near-6)
			default:
				p.curve(xs[c], near)
				p.line(xs[c], far)
			}
		}
		last := chain[len(chain)-1]
		end := top[g.cells[last].layer] + (deep[g.cells[last].layer]-g.cells[last].depth)/2
		d.Lines[i].Path, d.Lines[i].Arrow = p.path.String(), p.arrow(xs[last], end)
	}
	if exit >= 0 {
		d.Exit = divide(int(exit), int(high-low)+2*margin, direction)
	}
	// Groups are drawn with two sheets behind them, which need room.
	d.Width, d.Height = int(high-low)+2*margin+10, int(length)+10
	if direction == Right {
		d.Width, d.Height = d.Height, d.Width
	}
}

// exitGap is the space for the line before the exit nodes.
const exitGap = 30

// final reports whether a row contains exit nodes only.
func (g *layers) final(row []int, boxes []Box) bool {
	found := false
	for _, c := range row {
		if b := g.cells[c].box; b >= 0 {
			if !boxes[b].Final {
				return false
			}
			found = true
		}
	}
	return found
}

// divide is a line across the layers.
func divide(along, across int, direction Direction) *Divide {
	if direction == Right {
		return &Divide{X1: along, Y1: 0, X2: along, Y2: across + 10, LabelX: along + 6, LabelY: 13}
	}
	return &Divide{X1: 0, Y1: along, X2: across + 10, Y2: along, LabelX: margin, LabelY: along - 6}
}

// layerGap leaves more space where many lines cross between layers.
func (g *layers) layerGap(direction Direction) float64 {
	if direction == Right {
		return layerGap + 12
	}
	return layerGap
}

// pen writes path data in coordinates along and across the layers.
type pen struct {
	path   strings.Builder
	right  bool
	ax, ay float64
}

func (p *pen) point(along, across float64) string {
	if p.right {
		along, across = across, along
	}
	return chart.Fixed(along, 1) + " " + chart.Fixed(across, 1)
}

func (p *pen) move(along, across float64) {
	p.path.WriteString("M" + p.point(along, across))
	p.ax, p.ay = along, across
}

func (p *pen) line(along, across float64) {
	if across != p.ay || along != p.ax {
		p.path.WriteString("L" + p.point(along, across))
	}
	p.ax, p.ay = along, across
}

func (p *pen) curve(along, across float64) {
	if along == p.ax {
		p.line(along, across)
		return
	}
	mid := (p.ay + across) / 2
	p.path.WriteString("C" + p.point(p.ax, mid) + " " + p.point(along, mid) + " " + p.point(along, across))
	p.ax, p.ay = along, across
}

func (p *pen) arrow(along, across float64) string {
	if p.right {
		return fmt.Sprintf("M%s %sv7l6-3.5z", chart.Fixed(across-6, 1), chart.Fixed(along-3.5, 1))
	}
	return fmt.Sprintf("M%s %sh7l-3.5 6z", chart.Fixed(along-3.5, 1), chart.Fixed(across-6, 1))
}
