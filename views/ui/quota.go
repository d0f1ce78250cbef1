package ui

import (
	"math"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
)

// Unit is the unit of a resource, with its words.
type Unit struct {
	Word    string  // "A100", "CPU cores", "GiB of memory", "executions": after a number in a sentence
	One     string  // the word after exactly one: "CPU core"; "": Word
	Short   string  // next to a figure: "cores", "GiB", "" for counts
	Divisor float64 // displayed value = stored value ÷ Divisor: 1000 for millicores, 1024 for MiB
}

// Amount formats a stored amount: 12, 0.5, 2,650.
func (u Unit) Amount(v int64) string {
	d := u.Divisor
	if d == 0 {
		d = 1
	}
	x := float64(v) / d
	switch {
	case x == math.Trunc(x):
		return units.Number(int64(x))
	case x > 0 && x < 0.005:
		return "< 0.01"
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(x, 'f', 2, 64), ".")
	fraction = strings.TrimRight(fraction, "0")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || fraction == "" {
		return whole
	}
	return units.Number(n) + "." + fraction
}

// Figure formats a stored amount with its short unit, if it has one: "0.2 GiB", "1 core", "12".
func (u Unit) Figure(v int64) string {
	amount, short := u.Amount(v), u.Short
	if amount == "1" {
		short = strings.TrimSuffix(short, "s")
	}
	return strings.TrimSpace(amount + " " + short)
}

// Quantity formats a stored amount with its unit: "1 CPU core", "12 A100".
func (u Unit) Quantity(v int64) string {
	amount := u.Amount(v)
	if amount == "1" && u.One != "" {
		return amount + " " + u.One
	}
	return amount + " " + u.Word
}

// QuotaFigures is the usage of one resource by a tenancy node, in stored
type QuotaFigures struct {
	Who      string // "Vision"
	Resource string // "A100"
	Unit     Unit
	Used     int64
	Limit    int64 // the guarantee; negative: none
	Most     int64 // the maximum; negative: unlimited
	Borrowed int64 // the part of Used above Limit
	Lent     int64 // the unused part of Limit that others use
	Free     int64 // unused guarantee
	Scale    int64 // the width of the bar; all bars of a column share it
}

// Over is the usage above the maximum, after a limit was lowered.
func (f QuotaFigures) Over() int64 {
	if f.Most < 0 {
		return 0
	}
	return max(f.Used-f.Most, 0)
}

// QuotaWord is a piece of the text below a bar. Kind is "", "strong", "borrowed",
// "lent" or "over".
type QuotaWord struct{ Text, Kind string }

// Class is the CSS class of the piece.
func (w QuotaWord) Class() string {
	switch w.Kind {
	case "borrowed", "lent", "over":
		return "t-" + w.Kind
	default:
		return ""
	}
}

// Span is a part of a bar in percent of its width.
type Span struct{ X, Width string }

// QuotaBar is a stacked bar with the same information as text. Missing parts are empty.
type QuotaBar struct {
	Label     string // accessible description
	Used      Span   // guaranteed, in use
	Borrowed  Span
	Over      Span
	Lent      Span
	Guarantee string // positions of the marks
	Most      string
	Words     []QuotaWord
}

// NewQuotaBar computes one stacked bar: guaranteed usage from the left, lent amounts up to
// the guarantee, and borrowed amounts beyond it.
func NewQuotaBar(f QuotaFigures) QuotaBar {
	if f.Scale <= 0 && f.Limit < 0 && f.Most < 0 {
		return QuotaBar{Label: f.label(), Words: f.words()} // there is nothing to compare the use with
	}
	scale := float64(max(f.Scale, f.Limit, f.Most, f.Used, 1))
	at := func(v int64) float64 { return min(float64(v)*100/scale, 100) }
	span := func(from, to int64) Span {
		if to <= from {
			return Span{}
		}
		x := at(from)
		return Span{X: percent(x), Width: percent(max(at(to)-x, 0.5))}
	}
	over := f.Over()
	own := f.Used - max(f.Borrowed, over)
	if f.Limit < 0 {
		own = f.Used - over
	}
	b := QuotaBar{
		Label: f.label(), Words: f.words(), Used: span(0, own),
		Borrowed: span(own, f.Used-over), Over: span(f.Used-over, f.Used),
	}
	if f.Limit >= 0 {
		b.Lent = span(max(f.Limit-f.Lent, own), f.Limit)
		b.Guarantee = mark(f.Limit, scale)
	}
	if f.Most >= 0 && f.Most != f.Limit {
		b.Most = mark(f.Most, scale)
	}
	return b
}

// mark is the position of a line; "" at the end of the bar.
func mark(v int64, scale float64) string {
	if float64(v) >= scale {
		return ""
	}
	return percent(float64(v) * 100 / scale)
}

func (f QuotaFigures) words() []QuotaWord {
	words := []QuotaWord{{Text: f.Unit.Amount(f.Used), Kind: "strong"}}
	if f.Limit >= 0 {
		words = append(words, QuotaWord{Text: "of " + f.Unit.Figure(f.Limit)})
	} else {
		words[0].Text = f.Unit.Figure(f.Used)
		words = append(words, QuotaWord{Text: "used"})
	}
	over := f.Over()
	if borrowed := f.Borrowed - over; borrowed > 0 {
		words = append(words, QuotaWord{Text: "+" + f.Unit.Amount(borrowed) + " borrowed", Kind: "borrowed"})
	}
	if over > 0 {
		words = append(words, QuotaWord{Text: f.Unit.Amount(over) + " over", Kind: "over"})
	}
	if f.Lent > 0 {
		words = append(words, QuotaWord{Text: f.Unit.Amount(f.Lent) + " lent", Kind: "lent"})
	}
	if f.Limit >= 0 && f.Free > 0 {
		words = append(words, QuotaWord{Text: f.Unit.Amount(f.Free) + " free"})
	}
	if f.Limit < 0 {
		words = append(words, QuotaWord{Text: "no limit set"})
	}
	return words
}

func (f QuotaFigures) label() string {
	u := f.Unit.Amount
	var b strings.Builder
	b.WriteString(f.Who + ", " + f.Resource + ": ")
	over := f.Over()
	if f.Limit >= 0 {
		b.WriteString(u(f.Used-f.Borrowed) + " of " + u(f.Limit) + " guaranteed in use")
		b.WriteString(", " + u(max(f.Borrowed-over, 0)) + " borrowed, " + u(f.Lent) + " lent, " + u(f.Free) + " free")
	} else {
		b.WriteString(u(f.Used) + " used, no limit set")
	}
	if over > 0 {
		b.WriteString(", " + u(over) + " over the maximum")
	}
	if f.Most >= 0 {
		b.WriteString("; maximum " + u(f.Most))
	}
	return b.String()
}
