package curve

import (
	"bytes"
	"hash/fnv"
	"slices"

	"github.com/google/uuid"
)

// The sizes of the palette and of the list of dash patterns. tokens.css and compare.js have as many.
const (
	Colors = 6
	Dashes = 6
)

// Gray is the color of groups after the first ones, which have no color of the palette.
const Gray = -1

// Style is how charts and legends draw an execution or a group. Both numbers start at 0.
type Style struct{ Color, Dash int }

// ColorOf returns the color of an execution. It depends on the ID alone, so that an execution has the
// same color on every page.
func ColorOf(id uuid.UUID) int {
	h := fnv.New32a()
	_, _ = h.Write(id[:]) // it never fails
	return int(h.Sum32() % Colors)
}

// Styles returns the styles of executions that are drawn together. Executions with the same color
// differ in their dash: the newest has a solid line. The order of ids does not matter.
func Styles(ids []uuid.UUID) []Style {
	newest := slices.Clone(ids)
	slices.SortFunc(newest, func(a, b uuid.UUID) int { return bytes.Compare(b[:], a[:]) })
	var used [Colors]int
	dashes := make(map[uuid.UUID]int, len(ids))
	for _, id := range newest {
		color := ColorOf(id)
		dashes[id] = used[color] % Dashes
		used[color]++
	}
	styles := make([]Style, len(ids))
	for i, id := range ids {
		styles[i] = Style{Color: ColorOf(id), Dash: dashes[id]}
	}
	return styles
}

// Part is the style of one of the n curves of an execution: a dash for each.
func (s Style) Part(i, n int) Style {
	s.Dash = (s.Dash*n + i) % Dashes
	return s
}

// groupStyle is the style of a group. Only the first groups have a color and a dash.
func groupStyle(i int) Style {
	if i >= Colors {
		return Style{Color: Gray}
	}
	return Style{Color: i, Dash: i}
}
