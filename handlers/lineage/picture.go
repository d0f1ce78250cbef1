package lineage

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/engine/lineage/graph"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// picture turns lineage into what the page shows.
type picture struct {
	lineage lineage.Lineage
	q       url.Values
	clock   ui.Clock
	byKey   map[graph.Key]int
}

func (p *picture) item(k graph.Key) lineage.Item {
	if p.byKey == nil {
		p.byKey = map[graph.Key]int{}
		for n, i := range p.lineage.Items {
			p.byKey[i.Key] = n
		}
	}
	return p.lineage.Items[p.byKey[k]]
}

// name is an item as users know it.
func (p *picture) name(i lineage.Item) string {
	switch {
	case i.Kind == lineage.KindFile:
		return "File " + i.Name[:8]
	case i.Removed && i.Kind == lineage.KindExecution || i.Kind == lineage.KindNode && i.Name == "":
		return "Execution " + label.ShortID(i.Execution)
	case i.Name == "":
		return "Removed item"
	case i.Kind == lineage.KindExecution:
		return i.Name + " " + label.ShortID(i.Execution)
	case i.Version != "" && i.Kind != lineage.KindNode:
		return i.Name + " " + i.Version
	}
	return i.Name
}

// note is the line below the name.
func note(i lineage.Item) string {
	switch {
	case i.Removed:
		return "removed"
	case i.Kind == lineage.KindNode:
		return i.Workflow + " " + label.ShortID(i.Execution)
	case i.Kind == lineage.KindArtifact:
		kind, _, _ := strings.Cut(i.Type, "(")
		return kind + ", " + units.Bytes(i.Size)
	case i.Stage != "":
		return label.LineageKind(i.Kind) + ", " + i.Stage
	}
	return label.LineageKind(i.Kind)
}

// executionOf names the execution of a node or an artifact; "" for other items.
func executionOf(i lineage.Item) string {
	if i.Removed || i.Kind != lineage.KindNode && i.Kind != lineage.KindArtifact {
		return ""
	}
	return i.Workflow + " " + label.ShortID(i.Execution)
}

func icon(i lineage.Item) string {
	switch i.Kind {
	case lineage.KindArtifact:
		kind, _, _ := strings.Cut(i.Type, "(")
		return views.KindIcon(kind)
	case lineage.KindDataset, lineage.KindFeatureSet:
		return "db"
	case lineage.KindModel:
		return "box"
	case lineage.KindNode:
		return "cpu"
	case lineage.KindExecution:
		return "runs"
	case lineage.KindFile:
	}
	return "file"
}

// state is the state that a box shows. A node in the lineage has always run, so only the state
// of its execution is informative.
func state(i lineage.Item) string {
	if i.Kind == lineage.KindExecution {
		return i.State
	}
	return ""
}

// draw arranges the items in columns by their distance, with a box for the items behind each.
func (p *picture) draw() dagview.Picture {
	least := 0
	for _, i := range p.lineage.Items {
		least = min(least, i.Step)
	}
	d := &boxes{picture: p, base: least - 1, index: map[graph.Key]int{}}
	for _, i := range p.lineage.Items {
		d.index[i.Key] = len(d.items)
		d.add(dagview.Item{Name: string(i.Key), Level: i.Step - d.base}, p.name(i), dagview.NodeState{State: state(i), Sub: note(i), Icon: icon(i)}, p.with(string(i.Key)))
	}
	for _, e := range p.lineage.Edges {
		d.link(d.index[e.From], d.index[e.To], label.RelationWords(e))
	}
	for _, i := range p.lineage.Items {
		d.behind(i, i.Before, graph.Up)
		d.behind(i, i.After, graph.Down)
	}
	d.compact()
	painter := dagview.Painter{
		ID: "lineage", Drawing: dagview.Layout(d.items, dagview.Right), States: d.states, Names: d.names, Selected: d.index[p.lineage.Focus.Key],
		Links: dagview.Links{Node: func(i int) string { return d.urls[i] }, Group: func(dagview.Box) string { return "#h-list" }},
	}
	return painter.Picture(fmt.Sprintf("Lineage of %s: %s", p.name(p.lineage.Focus), units.Plural(len(p.lineage.Items), "item", "items")))
}

// boxes are the boxes of a picture.
type boxes struct {
	picture *picture
	base    int // level 0
	items   []dagview.Item
	names   []string
	states  []dagview.NodeState
	urls    []string
	index   map[graph.Key]int
}

func (d *boxes) add(item dagview.Item, name string, s dagview.NodeState, url string) int {
	d.items, d.names, d.states, d.urls = append(d.items, item), append(d.names, name), append(d.states, s), append(d.urls, url)
	return len(d.items) - 1
}

// link draws a line from left to right. Items of the same step are not linked: the list describes how they
// are connected.
func (d *boxes) link(from, to int, _ string) {
	if d.items[from].Level < d.items[to].Level {
		d.items[to].Dependencies = append(d.items[to].Dependencies, from)
	}
}

// behind adds a box for the neighbours of an item that the graph omits.
func (d *boxes) behind(i lineage.Item, m graph.More, dir graph.Direction) {
	texts := moreText(m)
	if len(texts) == 0 {
		return
	}
	at := d.index[i.Key]
	address := ""
	if m.Items > 0 {
		address = d.picture.expand(i.Key)
		if d.border(i, dir) {
			address = d.picture.with(string(i.Key))
		}
	}
	sub := "made from " + d.picture.name(i)
	if dir == graph.Up {
		sub = "before " + d.picture.name(i)
	}
	box := d.add(dagview.Item{Name: "more " + string(i.Key) + fmt.Sprint(dir), Level: i.Step - d.base + int(dir)}, joinText(texts), dagview.NodeState{Sub: sub, Icon: "dots"}, address)
	if dir == graph.Up {
		d.link(box, at, "")
	} else {
		d.link(at, box, "")
	}
}

// border reports whether an item is at the end of the traversal: no item of the graph lies
// behind it.
func (d *boxes) border(i lineage.Item, dir graph.Direction) bool {
	for _, e := range d.picture.lineage.Edges {
		if dir == graph.Up && e.To == i.Key || dir == graph.Down && e.From == i.Key {
			return false
		}
	}
	return true
}

// compact removes the empty columns at the left.
func (d *boxes) compact() {
	least := d.items[0].Level
	for _, i := range d.items {
		least = min(least, i.Level)
	}
	for i := range d.items {
		d.items[i].Level -= least
	}
}

// rows are the items of the list.
func (p *picture) rows() []views.LineageRow {
	how := map[graph.Key][]string{}
	for _, e := range p.lineage.Edges {
		from, to := p.item(e.From), p.item(e.To)
		if to.Step > 0 && to.Step >= from.Step {
			how[e.To] = append(how[e.To], p.relation(e, from, true))
		} else {
			how[e.From] = append(how[e.From], p.relation(e, to, false))
		}
	}
	var rows []views.LineageRow
	for _, i := range p.lineage.Items {
		row := views.LineageRow{
			LineageLink: views.LineageLink{Icon: icon(i), Name: p.name(i), Of: executionOf(i)}, OpenURL: label.LineageItemURL(i), Kind: label.LineageKind(i.Kind),
			Step: stepText(i.Step), How: joinText(how[i.Key]), By: i.By, NotShown: joinText(append(moreText(i.Before), moreText(i.After)...)), Current: i.Key == p.lineage.Focus.Key,
		}
		if row.NotShown != "" && i.Before.Items+i.After.Items > 0 {
			row.URL = p.expand(i.Key)
		}
		if !i.At.IsZero() {
			row.When = p.clock.Moment(i.At)
		}
		rows = append(rows, row)
	}
	return rows
}

// relation describes an edge to the item from or to which it leads. The other end is where the edge
// begins if from is set.
func (p *picture) relation(e graph.Edge, other lineage.Item, from bool) string {
	words, name := label.RelationWords(e), p.name(other)
	switch {
	case e.Relation == graph.Output && !from:
		return words // the artifact has its own row
	case e.Relation == graph.Registered && from:
		return "registered from " + name
	case e.Relation == graph.Registered || e.Relation == graph.SameBytes || e.Relation == graph.After:
		return words + " " + name
	case e.Relation == graph.Output || !from:
		return words + " of " + name
	}
	return words + " from " + name
}

func stepText(step int) string {
	switch {
	case step < 0:
		return units.Plural(-step, "step", "steps") + " upstream"
	case step > 0:
		return units.Plural(step, "step", "steps") + " downstream"
	}
	return "This item"
}
