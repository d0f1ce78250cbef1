package dagview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a drawing. Beyond them nodes are collapsed into group boxes, so that a plan of
// 10,000 nodes stays a small drawing whose groups link to the paged node table.
const (
	maxBoxes = 240  // boxes of a drawing
	maxSpan  = 3000 // total layers that all lines span
	maxBands = 36   // boxes when runs of levels are collapsed
	maxGroup = 60   // groups; more than this are collapsed into bands
)

// collapse groups items into boxes: first similar nodes of crowded levels, with a
// decreasing threshold for crowded, then whole runs of levels.
func collapse(items []Item) ([]Box, []Line) {
	levels := byLevel(items)
	for _, crowded := range []int{40, 16, 6, 1} {
		boxes := foldLevels(items, levels, crowded)
		lines := linesOf(items, boxes)
		if len(boxes) <= maxBoxes && spanOf(boxes, lines) <= maxSpan && groupsOf(boxes) <= maxGroup {
			return boxes, lines
		}
	}
	boxes := foldBands(levels)
	return boxes, linesOf(items, boxes)
}

func byLevel(items []Item) [][]int {
	var levels [][]int
	for i, it := range items {
		for len(levels) <= it.Level {
			levels = append(levels, nil)
		}
		levels[it.Level] = append(levels[it.Level], i)
	}
	return levels
}

// foldLevels collapses each level with more than crowded nodes: nodes whose stem at least
// a fifth of the level shares form a group, and the rest form one group.
func foldLevels(items []Item, levels [][]int, crowded int) []Box {
	var boxes []Box
	for level, members := range levels {
		if len(members) <= crowded {
			for _, m := range members {
				boxes = append(boxes, single(items, m))
			}
			continue
		}
		stems := map[string][]int{}
		var order []string
		for _, m := range members {
			s := stem(items[m].Name)
			if _, seen := stems[s]; !seen {
				order = append(order, s)
			}
			stems[s] = append(stems[s], m)
		}
		var rest []int
		var folded []Box
		for _, s := range order {
			switch group := stems[s]; {
			case len(group) > max(2, len(members)/5):
				folded = append(folded, group0(s, group, level, level))
			default:
				rest = append(rest, group...)
			}
		}
		if len(rest) > crowded || len(rest) > 12 {
			folded = append(folded, group0("", rest, level, level))
		} else {
			for _, m := range rest {
				folded = append(folded, single(items, m))
			}
		}
		boxes = append(boxes, folded...)
	}
	return boxes
}

// foldBands collapses every run of levels into one box.
func foldBands(levels [][]int) []Box {
	size := max((len(levels)+maxBands-1)/maxBands, 1)
	var boxes []Box
	for from := 0; from < len(levels); from += size {
		to := min(from+size, len(levels)) - 1
		boxes = append(boxes, group0("", slices.Concat(levels[from:to+1]...), from, to))
	}
	return boxes
}

func single(items []Item, i int) Box {
	b := Box{
		Key: "n" + strconv.Itoa(i), Title: items[i].Name, Members: []int{i}, Expands: items[i].Expands, Final: items[i].Final,
		FromLevel: items[i].Level, ToLevel: items[i].Level, W: boxWidth, H: boxHeight,
	}
	if b.Expands {
		b.W, b.H = groupWidth, groupHeight
	}
	return b
}

// group0 returns a box of many nodes; stem is "" when their names share no prefix.
func group0(stem string, members []int, from, to int) Box {
	title := stem
	switch {
	case stem != "":
	case from == to:
		title = fmt.Sprintf("Level %d", from+1)
	default:
		title = fmt.Sprintf("Levels %d to %d", from+1, to+1)
	}
	return Box{
		Key: fmt.Sprintf("g%d-%d-%d", from, to, members[0]), Title: title, Stem: stem, Members: members,
		FromLevel: from, ToLevel: to, W: groupWidth, H: groupHeight,
	}
}

// stem is a name without its trailing index: "tile_0042", "tile[42]" and "tile-42" are "tile".
func stem(name string) string {
	s := strings.TrimRight(name, "])")
	s = strings.TrimRight(s, "0123456789")
	s = strings.TrimRight(s, "_-.[( #")
	if s == "" {
		return name
	}
	return s
}

// linesOf connects boxes by the dependencies of their members, each pair once.
func linesOf(items []Item, boxes []Box) []Line {
	owner := make([]int, len(items))
	for b, box := range boxes {
		for _, m := range box.Members {
			owner[m] = b
		}
	}
	seen := map[[2]int]bool{}
	var lines []Line
	for i, it := range items {
		for _, d := range it.Dependencies {
			pair := [2]int{owner[d], owner[i]}
			if pair[0] == pair[1] || seen[pair] {
				continue
			}
			seen[pair] = true
			line := Line{From: pair[0], To: pair[1]}
			for _, l := range it.Links {
				if l.On == d && !boxes[pair[0]].Group() && !boxes[pair[1]].Group() {
					line.Text, line.Failure = l.Text, l.Failure
				}
			}
			lines = append(lines, line)
		}
	}
	slices.SortFunc(lines, func(a, b Line) int {
		if a.To != b.To {
			return a.To - b.To
		}
		return a.From - b.From
	})
	return lines
}

func groupsOf(boxes []Box) int {
	n := 0
	for _, b := range boxes {
		if b.Group() {
			n++
		}
	}
	return n
}

func spanOf(boxes []Box, lines []Line) int {
	span := 0
	for _, l := range lines {
		span += boxes[l.To].FromLevel - boxes[l.From].FromLevel
	}
	return span
}
