package metaflow

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

const defaultLimit = 50 // rows of a page

// MaxPage is the maximum number of rows of a page.
const MaxPage = 500

// Page selects the rows of a list. The zero Page is all rows.
type Page struct {
	Limit  int // rows of a page; 0: no pages
	cursor cursor
	wants  []want
	tagged []want
}

// want is a filter: the field matches one of the values.
type want struct {
	Field  string   `json:"field,omitempty"`
	Op     string   `json:"op"`
	Values []string `json:"values"`
}

// cursor is the last row of a page.
type cursor struct {
	Epoch int64 `json:"ts_epoch"`
	ID    int64 `json:"id"`
}

// ParsePage reads the query parameters of a list: _limit and _cursor turn pages on, _tags[:op]
// filters by tags, and every other parameter has the form field[:op]=value, where fields names
// the fields of the list. A comma separates alternatives. Errors: apperr.Invalid.
func ParsePage(query url.Values, fields ...string) (Page, error) {
	var p Page
	for name := range query {
		if err := p.read(name, query.Get(name), fields); err != nil {
			return Page{}, err
		}
	}
	return p, nil
}

func (p *Page) read(name, value string, fields []string) error {
	field, op, _ := strings.Cut(name, ":")
	switch {
	case name == "_limit":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return apperr.New(apperr.Invalid, "Invalid _limit")
		}
		p.Limit = min(n, MaxPage)
	case name == "_cursor":
		raw, err := base64.URLEncoding.DecodeString(value)
		if err != nil || json.Unmarshal(raw, &p.cursor) != nil || p.cursor.Epoch <= 0 {
			return apperr.New(apperr.Invalid, "Invalid cursor")
		}
		if p.Limit == 0 {
			p.Limit = defaultLimit
		}
	case field == "_tags":
		if !slices.Contains([]string{"", "any", "all", "likeany", "likeall"}, op) {
			return apperr.New(apperr.Invalid, "Invalid operator %q of _tags", op)
		}
		p.tagged = append(p.tagged, want{Op: op, Values: strings.Split(value, ",")})
	case !slices.Contains(fields, field):
		return apperr.New(apperr.Invalid, "Invalid filter %q: the fields are %s", field, strings.Join(fields, ", "))
	default:
		if op == "" {
			op = "eq"
		}
		if !slices.Contains([]string{"eq", "ne", "lt", "le", "gt", "ge", "co", "sw", "ew", "li", "is"}, op) {
			return apperr.New(apperr.Invalid, "Invalid operator %q of %s", op, field)
		}
		p.wants = append(p.wants, want{field, op, strings.Split(value, ",")})
	}
	return nil
}

// fetch is the number of rows to read: one more than the page, which shows that another follows.
func (p Page) fetch() int64 {
	if p.Limit == 0 {
		return 0
	}
	return int64(p.Limit) + 1
}

// page cuts rows to the page and returns the cursor of the next one.
func page[T any](p Page, rows []T, at func(T) cursor) ([]T, string) {
	if p.Limit == 0 || len(rows) <= p.Limit {
		return rows, ""
	}
	rows = rows[:p.Limit]
	return rows, base64.URLEncoding.EncodeToString(encode(at(rows[len(rows)-1])))
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil || string(raw) == "null" {
		return json.RawMessage("[]")
	}
	return raw
}
