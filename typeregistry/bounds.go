package typeregistry

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds limit a number; "" is no bound. An open bound is not itself allowed.
type Bounds struct {
	Low, High         json.Number
	LowOpen, HighOpen bool
}

// Bounds returns the limits of an Integer or a Float.
func (p *Params) Bounds() Bounds {
	return newBounds(p.Min, p.ExclusiveMin, p.Max, p.ExclusiveMax)
}

func newBounds(least, above, most, below json.Number) Bounds {
	b := Bounds{Low: least, High: most}
	if above != "" {
		b.Low, b.LowOpen = above, true
	}
	if below != "" {
		b.High, b.HighOpen = below, true
	}
	return b
}

func (b Bounds) open() bool { return b.LowOpen || b.HighOpen }

// Words describes bounds of which at least one is open, such as "more than 0 and at most 1";
// otherwise it returns "".
func (b Bounds) Words(unit string) string {
	if !b.open() {
		return ""
	}
	var parts []string
	add := func(bound json.Number, open bool, openWords, closedWords string) {
		if bound == "" {
			return
		}
		if open {
			closedWords = openWords
		}
		parts = append(parts, closedWords+" "+bound.String()+unit)
	}
	add(b.Low, b.LowOpen, "more than", "at least")
	add(b.High, b.HighOpen, "less than", "at most")
	return strings.Join(parts, " and ")
}

// hint describes the bounds, or is "" without bounds.
func (b Bounds) hint(unit string) string {
	if unit != "" {
		unit = " " + unit
	}
	switch {
	case b.open():
		return "Enter a number that is " + b.Words(unit) + "."
	case b.Low != "" && b.High != "":
		return fmt.Sprintf("Enter %s to %s%s.", b.Low, b.High, unit)
	case b.Low != "":
		return fmt.Sprintf("Enter %s%s or more.", b.Low, unit)
	case b.High != "":
		return fmt.Sprintf("Enter %s%s or less.", b.High, unit)
	}
	return ""
}

// outside returns which bound n violates, or "".
func (b Bounds) outside(n json.Number) string {
	if b.Low != "" {
		switch order := compareNumbers(n, b.Low); {
		case order == 0 && b.LowOpen:
			return fmt.Sprintf("%s is not more than %s.", n, b.Low)
		case order < 0:
			return fmt.Sprintf("%s is less than %s.", n, b.Low)
		}
	}
	if b.High != "" {
		switch order := compareNumbers(n, b.High); {
		case order == 0 && b.HighOpen:
			return fmt.Sprintf("%s is not less than %s.", n, b.High)
		case order > 0:
			return fmt.Sprintf("%s is more than %s.", n, b.High)
		}
	}
	return ""
}

// jsonSchema adds the bounds to a JSON Schema.
func (b Bounds) jsonSchema(schema map[string]any) {
	set := func(bound json.Number, open bool, key, openKey string) {
		if open {
			key = openKey
		}
		if bound != "" {
			schema[key] = bound
		}
	}
	set(b.Low, b.LowOpen, "minimum", "exclusiveMinimum")
	set(b.High, b.HighOpen, "maximum", "exclusiveMaximum")
}

// problem returns why no number lies within the bounds, or nil.
func (b Bounds) problem() error {
	if b.Low == "" || b.High == "" {
		return nil
	}
	order := compareNumbers(b.Low, b.High)
	switch {
	case order > 0 && !b.open():
		return fmt.Errorf("min %s is more than max %s", b.Low, b.High)
	case order > 0 || order == 0 && b.open():
		return fmt.Errorf("no number is %s", b.Words(""))
	}
	return nil
}
