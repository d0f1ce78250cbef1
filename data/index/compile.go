package index

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/search"
)

// compiler writes conditions as SQL. A comparison with a value that an execution lacks is false,
// so its negation is true.
type compiler struct {
	columns   assigned
	projectID string
	logsFrom  time.Time // earliest launch of the executions whose logs are searched
	args      []any
}

func (c *compiler) arg(v any) string {
	c.args = append(c.args, v)
	return "?"
}

// number is a literal with exactly the same bits.
func number(f float64) string {
	return fmt.Sprintf("reinterpretAsFloat64(toUInt64(%d))", math.Float64bits(f))
}

// column returns the column of a field's values of a type; false if no execution has any.
func (c *compiler) column(f search.Field, kind search.Type) (string, bool) {
	slot, known := c.columns.columns[key{f.Part, f.Name, f.Resolved(), kind}]
	return letter(kind) + strconv.Itoa(slot), known
}

func (c *compiler) where(e search.Expr) string {
	switch e := e.(type) {
	case search.And:
		return c.all(e, " AND ", "1")
	case search.Or:
		return c.all(e, " OR ", "0")
	case search.Not:
		return "NOT " + c.where(e.Of)
	case search.Text:
		return c.text(string(e))
	case search.Compare:
		if e.Field.Part == search.Facts {
			return "ifNull(" + c.fact(e) + ", 0)"
		}
		return "ifNull(" + c.value(e) + ", 0)"
	}
	return "0"
}

func (c *compiler) all(list []search.Expr, by, none string) string {
	if len(list) == 0 {
		return none
	}
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = c.where(e)
	}
	return "(" + strings.Join(parts, by) + ")"
}

// text finds a word in names, or an id by its beginning or end.
func (c *compiler) text(text string) string {
	found := func(column string) string {
		return "positionCaseInsensitiveUTF8(" + column + ", " + c.arg(text) + ") > 0"
	}
	either := []string{found("name"), found("workflow")}
	if isPartOfID(text) { // writing the ID of each execution as text costs more than all else
		either = append(either, c.id(text))
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// isPartOfID reports whether an ID can begin or end with a text.
func isPartOfID(text string) bool {
	return strings.Trim(strings.ToLower(strings.TrimPrefix(text, "#")), "0123456789abcdef-") == ""
}

func (c *compiler) id(text string) string {
	text = strings.ToLower(strings.TrimPrefix(text, "#"))
	if !isPartOfID(text) {
		return "0"
	}
	if id, err := uuid.Parse(text); err == nil {
		return "execution_id = toUUID('" + id.String() + "')"
	}
	return "(startsWith(toString(execution_id), " + c.arg(text) + ") OR endsWith(toString(execution_id), " + c.arg(text) + "))"
}

// sweep finds the executions of a sweep by the beginning or the end of its ID.
func (c *compiler) sweep(text string) string {
	text = strings.ToLower(strings.TrimPrefix(text, "#"))
	return "(startsWith(sweep, " + c.arg(text) + ") OR endsWith(sweep, " + c.arg(text) + "))"
}

// value compares an input, an output or a metric.
func (c *compiler) value(e search.Compare) string {
	numbers, hasNumbers := c.column(e.Field, search.Number)
	texts, hasTexts := c.column(e.Field, search.String)
	if e.Op == search.Has {
		var parts []string
		if hasNumbers {
			parts = append(parts, "isNotNull("+numbers+")")
		}
		if hasTexts {
			parts = append(parts, "isNotNull("+texts+")")
		}
		return "(" + strings.Join(append(parts, "0"), " OR ") + ")"
	}
	var parts []string
	for _, v := range e.Values {
		switch {
		case v.Type == search.Number && hasNumbers:
			parts = append(parts, numbers+" "+string(e.Op)+" "+number(v.Number))
		case v.Type == search.String && hasTexts:
			parts = append(parts, c.compareText(texts, e.Op, cut(v.Text)))
		default:
			parts = append(parts, "0")
		}
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func (c *compiler) compareText(column string, op search.Op, text string) string {
	switch op {
	case search.Contains:
		return "positionCaseInsensitiveUTF8(" + column + ", " + c.arg(text) + ") > 0"
	case search.Lacks:
		return "positionCaseInsensitiveUTF8(" + column + ", " + c.arg(text) + ") = 0"
	}
	return column + " " + string(op) + " " + c.arg(text)
}

// factColumn returns the column of a fact that is one text.
func factColumn(name string) string {
	switch name {
	case "state":
		return "status"
	case "version":
		return "workflow_version"
	case "user":
		return "submitted_by"
	case "created", "started", "finished":
		return name + "_at"
	case "purpose":
		return "if(purpose = 'OPTIONS', 'options', 'work')"
	}
	return name
}

func (c *compiler) fact(e search.Compare) string {
	column := factColumn(e.Field.Name)
	if e.Op == search.Has {
		switch e.Field.Name {
		case "tag":
			return "notEmpty(tags)"
		case "started", "finished", "duration":
			return "isNotNull(" + column + ")"
		case "name", "note", "error", "sweep":
			return "notEmpty(" + column + ")"
		}
		return "1"
	}
	parts := make([]string, len(e.Values))
	for i, v := range e.Values {
		parts[i] = c.factValue(e, column, v)
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func (c *compiler) factValue(e search.Compare, column string, v search.Value) string {
	negated := ""
	if e.Op == search.Differs || e.Op == search.Lacks {
		negated = "NOT "
	}
	switch {
	case v.Type == search.Time:
		return fmt.Sprintf("%s %s fromUnixTimestamp64Micro(%d, 'UTC')", column, e.Op, v.Time.UnixMicro())
	case v.Type == search.Number || v.Type == search.Span:
		return column + " " + string(e.Op) + " " + number(v.Number)
	case e.Field.Name == "state":
		if v.Text == "live" {
			return negated + "(status IN ('PENDING', 'RUNNING', 'APPROVAL', 'PAUSED'))"
		}
		return negated + "(" + c.compareText("status", search.Equal, strings.ToUpper(v.Text)) + ")"
	case e.Field.Name == "tag" && (e.Op == search.Contains || e.Op == search.Lacks):
		return negated + "arrayExists(x -> positionCaseInsensitiveUTF8(x, " + c.arg(v.Text) + ") > 0, tags)"
	case e.Field.Name == "tag":
		return negated + "has(tags, " + c.arg(v.Text) + ")"
	case e.Field.Name == "sha":
		return negated + "arrayExists(x -> startsWith(x, " + c.arg(strings.ToLower(v.Text)) + "), shas)"
	case e.Field.Name == "id":
		return negated + c.id(v.Text)
	case e.Field.Name == "log":
		return c.log(v.Text)
	case e.Field.Name == "sweep":
		return "notEmpty(sweep) AND " + negated + c.sweep(v.Text)
	}
	if e.Field.Name == "user" && v.ID != "" {
		return negated + "(submitted_by_id = toUUID(" + c.arg(v.ID) + "))"
	}
	text := "toString(" + column + ")"
	if slices.Contains([]string{"name", "note", "error"}, e.Field.Name) { // "" is none
		text = "nullIf(" + text + ", '')"
	}
	return c.compareText(text, e.Op, v.Text)
}
