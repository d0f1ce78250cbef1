package index

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/flowforge/flowforge/engine/search"
)

// suggested is the number of names, and of values, that a completion has.
const suggested = 8

// Completion are the texts that can follow in a query.
type Completion struct {
	From        int // byte of the query at which they begin
	Typed       string
	Suggestions []Suggestion
}

// Suggestion is a text that can follow. Count is the number of executions that have the name or
// the value; -1 where it is not counted.
type Suggestion struct {
	search.Suggestion
	Count int
}

// Complete returns what can follow at the end of before, the query up to the reader's cursor.
func (s *Service) Complete(ctx context.Context, before string) (Completion, error) {
	a, conn, err := s.resolve(ctx, Query{})
	if err != nil {
		return Completion{}, err
	}
	if a.project, err = s.declare(ctx, a.project); err != nil {
		return Completion{}, err
	}
	c := search.At(before, a.names)
	out := Completion{From: c.From, Typed: c.Typed}
	for _, text := range a.names.Suggest(c, suggested) {
		out.Suggestions = append(out.Suggestions, Suggestion{text, -1})
	}
	if err := a.describe(bounded(ctx), conn, out.Suggestions); err != nil {
		return Completion{}, failure(err)
	}
	if c.Expected != search.WantValue || c.Field.Words != nil {
		return out, nil
	}
	values, err := a.values(ctx, conn, c.Field, c.Typed, suggested)
	if err != nil {
		return Completion{}, failure(err)
	}
	for _, v := range values {
		out.Suggestions = append(out.Suggestions, Suggestion{search.Suggestion{Kind: search.WantValue, Text: c.AsValue(v.Value), Label: v.Value}, v.N})
	}
	return out, nil
}

// values are the most frequent texts of a field that contain a text.
func (a resolvedQuery) values(ctx context.Context, conn driver.Conn, f search.Field, containing string, limit int) ([]Count, error) {
	if f.Name == "" {
		return nil, nil
	}
	expression := "toString(arrayJoin(tags))"
	if f.Part != search.Facts || f.Name != "tag" {
		c, err := a.column(f.Path(), "field")
		if err != nil {
			return nil, nil //nolint:nilerr // a field without a column has no values to offer
		}
		if _, expression = a.sql(c); expression == "" {
			return nil, nil
		}
	}
	return a.counts(ctx, conn, expression, containing, limit)
}

// describe adds to names how many executions have them, and the range or examples of their values.
func (a resolvedQuery) describe(ctx context.Context, conn driver.Conn, list []Suggestion) error {
	var expressions []string
	var described []*Suggestion
	for i := range list {
		if f := list[i].Field; f.Name == "" || f.Part == search.Facts {
			continue
		}
		numbers, texts := a.sql(Column{Part: list[i].Field.Part, field: list[i].Field})
		n, t := orNull(numbers, "Float64"), orNull(texts, "String")
		expressions = append(expressions, "countIf(isNotNull("+n+") OR isNotNull("+t+"))",
			"min("+n+")", "max("+n+")", "arrayStringConcat(topK(3)(ifNull("+t+", '')), '\n')")
		described = append(described, &list[i])
	}
	if len(described) == 0 {
		return nil
	}
	counts, texts := make([]uint64, len(described)), make([]string, len(described))
	least, most := make([]*float64, len(described)), make([]*float64, len(described))
	into := make([]any, 0, len(expressions))
	for i := range described {
		into = append(into, &counts[i], &least[i], &most[i], &texts[i])
	}
	from, args := a.from()
	if err := conn.QueryRow(ctx, "SELECT "+strings.Join(expressions, ", ")+from+settings, args...).Scan(into...); err != nil {
		return fmt.Errorf("describe names: %w", err)
	}
	for i, s := range described {
		s.Count = int(counts[i]) //nolint:gosec // a number of rows
		s.Help = valuesHelp(least[i], most[i], texts[i])
	}
	return nil
}

// valuesHelp is a range and examples, such as "0.001 to 0.1" or "adam, sgd".
func valuesHelp(least, most *float64, texts string) string {
	var parts []string
	if least != nil && most != nil {
		text := strconv.FormatFloat(*least, 'g', 4, 64)
		if *most != *least {
			text += " to " + strconv.FormatFloat(*most, 'g', 4, 64)
		}
		parts = append(parts, text)
	}
	for t := range strings.SplitSeq(texts, "\n") {
		if t = strings.TrimSpace(t); t != "" {
			if r := []rune(t); len(r) > exampleLength {
				t = string(r[:exampleLength]) + "…"
			}
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, ", ")
}

const exampleLength = 24
