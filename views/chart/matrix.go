package chart

import (
	"fmt"
	"math"
	"strconv"
)

// Matrix is a confusion matrix ready for a template.
type Matrix struct {
	Width, Height, Size, Label, Caption string // sizes in pixels
	Cells                               []MatrixCell
	Labels                              []MatrixLabel
}

// MatrixCell is one cell; Dark cells have light text.
type MatrixCell struct {
	X, Y, TextX, TextY, Opacity, Text, Title string
	Dark                                     bool
}

// MatrixLabel names a row or column.
type MatrixLabel struct{ X, Y, Text string }

// NewMatrix lays out counts: rows are actual classes, columns predicted classes. The shade
// is the share within the row, so that rare classes stay visible.
func NewMatrix(labels []string, counts [][]float64) Matrix {
	const field, gap, head = 27.0, 1.0, 34.0
	n := len(counts)
	side := float64(n) * (field + gap)
	m := Matrix{Width: Fixed(head+side, 0), Height: Fixed(side+20, 0), Size: Fixed(field, 0)}
	name := func(i int) string {
		if i < len(labels) {
			return labels[i]
		}
		return strconv.Itoa(i)
	}
	right, total, worst, worstAt := 0.0, 0.0, 0.0, ""
	for r, row := range counts {
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		y := float64(r) * (field + gap)
		m.Labels = append(m.Labels, MatrixLabel{X: Fixed(head/2, 1), Y: Fixed(y+field/2+4, 1), Text: shorten(name(r))})
		for c, v := range row {
			x := head + float64(c)*(field+gap)
			share := 0.0
			if sum > 0 {
				share = v / sum
			}
			total += v
			if r == c {
				right += v
			} else if v > worst {
				worst, worstAt = v, fmt.Sprintf("%s predicted as %s", name(r), name(c))
			}
			cell := MatrixCell{
				X: Fixed(x, 1), Y: Fixed(y, 1), TextX: Fixed(x+field/2, 1), TextY: Fixed(y+field/2+4, 1),
				Opacity: Fixed(0.03+0.97*math.Sqrt(share), 2), Dark: share > 0.3,
				Title: fmt.Sprintf("%s, predicted %s: %s", name(r), name(c), Fixed(v, 2)),
			}
			if v != 0 {
				cell.Text = Fixed(v, 1)
			}
			m.Cells = append(m.Cells, cell)
		}
	}
	for c := range n {
		m.Labels = append(m.Labels, MatrixLabel{X: Fixed(head+float64(c)*(field+gap)+field/2, 1), Y: Fixed(side+14, 1), Text: shorten(name(c))})
	}
	if total > 0 {
		m.Caption = fmt.Sprintf("%s of %s correct.", Fixed(right, 1), Fixed(total, 1))
	}
	m.Label = "Confusion matrix. " + m.Caption
	if worstAt != "" {
		m.Caption += fmt.Sprintf(" Most frequent mistake: %s, %s times.", worstAt, Fixed(worst, 1))
		m.Label = "Confusion matrix. " + m.Caption
	}
	return m
}

func shorten(s string) string {
	runes := []rune(s)
	if len(runes) > 5 {
		return string(runes[:4]) + "…"
	}
	return s
}
