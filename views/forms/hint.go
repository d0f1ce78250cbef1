package forms

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// hint describes the limits of the type, for the help above the control.
func (c Control) hint() string {
	p := c.Type.Params
	switch c.Type.Kind {
	case typeregistry.KindInteger, typeregistry.KindFloat:
		if words := p.Bounds().Words(""); words != "" {
			return strings.ToUpper(words[:1]) + words[1:] + "."
		}
		return between(p.Min.String(), p.Max.String(), "")
	case typeregistry.KindString:
		return between(least(p.MinLength), count(p.MaxLength), " characters")
	case typeregistry.KindList, typeregistry.KindMap:
		low := count(p.MinItems)
		if low == "" && p.MaxItems != nil {
			low = "0"
		}
		return between(low, count(p.MaxItems), " entries")
	case typeregistry.KindDuration:
		limits := between(c.humanDuration(p.Earliest), c.humanDuration(p.Latest), "")
		return strings.TrimSpace(limits + " For example 90 min, 2 h 30 min or PT2H30M.")
	case typeregistry.KindDate, typeregistry.KindDateRange:
		return between(p.Earliest, p.Latest, "")
	case typeregistry.KindSecret:
		return "Only the name is stored with the execution. The value never appears in logs."
	case typeregistry.KindConnection:
		return "Only the name is stored with the execution. Tasks receive the fields."
	case typeregistry.KindDataset, typeregistry.KindTable:
		return needs(p.Columns)
	case typeregistry.KindModel:
		return framework(p)
	}
	return ""
}

// humanDuration formats a bound, which is stored in ISO 8601.
func (c Control) humanDuration(iso string) string {
	if iso == "" {
		return ""
	}
	return c.Type.Render(iso)
}

// Hint describes the limits of the type; "" without limits or if the help already contains them.
func (c Control) Hint() string {
	hint := c.hint()
	if c.Bare || strings.Contains(c.Help, hint) {
		return ""
	}
	return hint
}

func count(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// least formats a lower bound; a bound of 0 is omitted for counts.
func least(n *int) string {
	if n == nil || *n == 0 {
		return ""
	}
	return count(n)
}

func between(low, high, unit string) string {
	switch {
	case low == "" && high == "":
		return ""
	case high == "":
		return "At least " + low + unit + "."
	case low == "":
		return "At most " + high + unit + "."
	case low == high:
		return "Exactly " + low + unit + "."
	}
	return low + " to " + high + unit + "."
}

func needs(columns []typeregistry.Column) string {
	if len(columns) == 0 {
		return ""
	}
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		names = append(names, c.Name)
	}
	const shown = 6
	if len(names) > shown {
		return fmt.Sprintf("Needs %d columns: %s and %d more.", len(names), strings.Join(names[:shown], ", "), len(names)-shown)
	}
	if len(names) == 1 {
		return "Needs the column " + names[0] + "."
	}
	return "Needs the columns " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + "."
}

func framework(p typeregistry.Params) string {
	switch {
	case p.Framework != "" && p.Architecture != "":
		return "A " + p.Framework + " model, " + p.Architecture + "."
	case p.Framework != "":
		return "A " + p.Framework + " model."
	}
	return ""
}
