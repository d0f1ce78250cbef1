package dagview

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// layered builds a plan of width nodes on each of depth levels, each node depending
// on up to fan nodes of the level before.
func layered(depth, width, fan int) []Item {
	r := rand.New(rand.NewPCG(1, 2))
	var items []Item
	for level := range depth {
		for i := range width {
			it := Item{Name: fmt.Sprintf("l%dn%d_%d", level, r.IntN(1000), i), Level: level}
			if level > 0 {
				for range fan {
					it.Dependencies = append(it.Dependencies, (level-1)*width+r.IntN(width))
				}
			}
			items = append(items, it)
		}
	}
	return items
}

func diamond() []Item {
	return []Item{
		{Name: "load"},
		{Name: "left", Level: 1, Dependencies: []int{0}},
		{Name: "right", Level: 1, Dependencies: []int{0}},
		{Name: "join", Level: 2, Dependencies: []int{1, 2, 0}},
	}
}

func overlaps(a, b Box) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func TestBoxesNeverOverlapAndLieInside(t *testing.T) {
	t.Parallel()
	plans := map[string][]Item{
		"one": {{Name: "only"}}, "diamond": diamond(), "layers": layered(8, 6, 2), "wide": layered(3, 30, 3), "dense": layered(20, 10, 6),
	}
	for name, items := range plans {
		for _, direction := range []Direction{Down, Right} {
			d := Layout(items, direction)
			for i, a := range d.Boxes {
				if a.X < 0 || a.Y < 0 || a.X+a.W > d.Width || a.Y+a.H > d.Height {
					t.Errorf("%s: box %s at %d,%d lies outside %d×%d", name, a.Title, a.X, a.Y, d.Width, d.Height)
				}
				for _, b := range d.Boxes[i+1:] {
					if overlaps(a, b) {
						t.Errorf("%s: %s and %s overlap", name, a.Title, b.Title)
					}
				}
			}
		}
	}
}

func TestDependentsLieBelow(t *testing.T) {
	t.Parallel()
	d := Layout(layered(10, 7, 3), Down)
	for _, l := range d.Lines {
		from, to := d.Boxes[l.From], d.Boxes[l.To]
		if from.Y+from.H >= to.Y {
			t.Errorf("%s does not lie above %s", from.Title, to.Title)
		}
		if l.Path == "" || l.Arrow == "" {
			t.Errorf("line %s to %s is not drawn", from.Title, to.Title)
		}
	}
}

func TestDiamondIsSymmetric(t *testing.T) {
	t.Parallel()
	d := Layout(diamond(), Down)
	middle := func(b Box) int { return b.X + b.W/2 }
	if l, r := middle(d.Boxes[1]), middle(d.Boxes[2]); l >= r {
		t.Errorf("left at %d is not left of right at %d", l, r)
	}
	if d.Boxes[1].Y != d.Boxes[2].Y {
		t.Error("nodes of one level have different heights")
	}
}

func TestManyNodesStayASmallPicture(t *testing.T) {
	t.Parallel()
	chain := make([]Item, 10_000)
	for i := range chain {
		chain[i] = Item{Name: fmt.Sprintf("n%d", i), Level: i}
		if i > 0 {
			chain[i].Dependencies = []int{i - 1}
		}
	}
	fan := []Item{{Name: "list"}}
	for i := range 10_000 {
		fan = append(fan, Item{Name: fmt.Sprintf("tile_%d", i), Level: 1, Dependencies: []int{0}})
	}
	plans := map[string][]Item{"chain": chain, "fan": fan, "layers": layered(100, 100, 3), "random": layered(200, 41, 5)}
	for name, items := range plans {
		d := Layout(items, Down)
		if len(d.Boxes) > maxBoxes || len(d.Lines) > maxSpan {
			t.Errorf("%s: %d boxes and %d lines", name, len(d.Boxes), len(d.Lines))
		}
		members := 0
		for _, b := range d.Boxes {
			members += len(b.Members)
		}
		if members != len(items) {
			t.Errorf("%s: boxes represent %d of %d nodes", name, members, len(items))
		}
	}
	if d := Layout(fan, Down); len(d.Boxes) != 2 || d.Boxes[1].Stem != "tile" {
		t.Errorf("the fan-out has %d boxes, want the list and one group of tiles", len(d.Boxes))
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"tile_0042": "tile", "tile[42]": "tile", "tile-42": "tile", "train": "train", "42": "42", "a1b": "a1b"} {
		if got := stem(name); got != want {
			t.Errorf("stem(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestPaint(t *testing.T) {
	t.Parallel()
	items := diamond()
	p := Painter{
		ID: "dag", Drawing: Layout(items, Down), Names: []string{"load", "left", "right", "join"}, Selected: 1,
		States: []NodeState{{State: "SUCCEEDED", Sub: "1 s"}, {State: "RUNNING", Progress: 40}, {State: "SKIPPED"}, {State: "PENDING"}},
		Links:  Links{Node: func(i int) string { return "/n/" + items[i].Name }},
	}
	pic := p.Picture("Graph")
	if !pic.Boxes[1].Current || pic.Boxes[1].URL != "/n/left" || len(pic.Boxes[1].Bars) != 1 {
		t.Errorf("the running node is painted as %+v", pic.Boxes[1])
	}
	if got := pic.Boxes[1].Lines[0].Class; got != "edge edge-live" {
		t.Errorf("the line into the running node has class %q", got)
	}
	if got := pic.Boxes[2].Lines[0].Class; got != "edge edge-off" {
		t.Errorf("the line into the skipped node has class %q", got)
	}
}

func TestGroupLabelsItsStates(t *testing.T) {
	t.Parallel()
	items := []Item{{Name: "list"}}
	states := []NodeState{{State: "SUCCEEDED"}}
	for i := range 100 {
		items = append(items, Item{Name: fmt.Sprintf("tile_%d", i), Level: 1, Dependencies: []int{0}})
		state := "SUCCEEDED"
		if i >= 90 {
			state = "READY"
		}
		states = append(states, NodeState{State: state})
	}
	names := make([]string, len(items))
	p := Painter{ID: "dag", Drawing: Layout(items, Down), Names: names, States: states, Selected: -1, Links: Links{Group: func(b Box) string { return b.Stem }}}
	s := p.Shape(1)
	if s.Title != "tile × 100" || !strings.Contains(s.Sub, "90 done") || s.URL != "tile" || s.State != "READY" {
		t.Errorf("the group is painted as %+v", s)
	}
}

func BenchmarkLayout(b *testing.B) {
	for name, items := range map[string][]Item{"50": layered(10, 5, 2), "200": layered(20, 10, 2), "10000": layered(100, 100, 3)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Layout(items, Down)
			}
		})
	}
}
