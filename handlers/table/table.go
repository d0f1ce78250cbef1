// Package table contains what the pages and the API of the table of executions share: conditions
// of filters, rows with their values, exports, and commands for many executions.
package table

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/search"
)

// Service reads tables of executions. It is safe for concurrent use.
type Service struct {
	Index      *index.Service
	Executions *execution.Service
	Retention  *retention.Service
	Telemetry  *telemetry.Service
}

// Page is a page of executions with the values of the columns, by execution.
type Page struct {
	index.Result
	Executions []query.Execution
	Values     map[uuid.UUID][]any
}

// Find returns the executions that q selects.
func (s *Service) Find(ctx context.Context, q index.Query) (Page, error) {
	r, err := s.Index.Find(ctx, q)
	if err != nil {
		return Page{}, err
	}
	p := Page{Result: r, Values: make(map[uuid.UUID][]any, len(r.Rows))}
	ids := make([]uuid.UUID, len(r.Rows))
	for i, row := range r.Rows {
		ids[i], p.Values[row.ID] = row.ID, row.Values
	}
	if p.Executions, err = s.Executions.Named(ctx, ids); err != nil {
		return p, err
	}
	return p, s.setLabels(ctx, p)
}

// setLabels replaces the names, tags and notes of the index, which follows changes within seconds, so
// that people see what they have just saved.
func (s *Service) setLabels(ctx context.Context, p Page) error {
	at := map[string]int{"name": -1, "tags": -1, "note": -1}
	labelled := false
	for i, c := range p.Columns {
		if _, label := at[c.Path]; label {
			at[c.Path], labelled = i, true
		}
	}
	if !labelled || len(p.Executions) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(p.Executions))
	for i, e := range p.Executions {
		ids[i] = e.ID
	}
	labels, err := s.Index.Labels(ctx, ids)
	if err != nil {
		return err
	}
	for _, e := range p.Executions {
		values := slices.Clone(p.Values[e.ID])
		set := func(name string, value any) {
			if i := at[name]; i >= 0 && i < len(values) {
				values[i] = value
			}
		}
		set("name", present(e.Name))
		set("note", present(labels[e.ID].Note))
		set("tags", append([]string{}, labels[e.ID].Tags...))
		p.Values[e.ID] = values
	}
	return nil
}

// present is a text as the value of a column: nil without one.
func present(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Conditions are the conditions of a filter, without its pages. A filter on what executions wait
// for is refused, because the index does not contain it.
func (s *Service) Conditions(ctx context.Context, f query.Filter) (search.And, error) {
	if f.Waiting {
		return nil, apperr.New(apperr.Invalid, "The table cannot select executions that wait. Remove this state, or the query and the columns.")
	}
	var list search.And
	fact := func(name string, op search.Op, values ...search.Value) {
		list = append(list, search.Fact(name, op, values...))
	}
	word := func(text string) search.Value { return search.Value{Type: search.String, Text: text} }
	at := func(t time.Time) search.Value { return search.Value{Type: search.Time, Time: t} }
	if f.Workflow != "" {
		fact("workflow", search.Equal, word(f.Workflow))
	}
	if f.User != "" {
		people, err := s.Executions.People(ctx, f.User)
		if err != nil {
			return nil, fmt.Errorf("conditions of a table: %w", err)
		}
		users := make([]search.Value, len(people))
		for i, id := range people {
			users[i] = word(f.User)
			users[i].ID = id.String()
		}
		fact("user", search.Equal, users...)
	}
	if f.Query != "" {
		list = append(list, search.Text(f.Query))
	}
	if len(f.Status) > 0 {
		var values []search.Value
		for _, state := range f.Status {
			if state != query.Running || f.Approval != query.OnlyAwaiting {
				values = append(values, word(strings.ToLower(string(state))))
			}
			if state == query.Running && f.Approval != query.NotAwaiting {
				values = append(values, word("approval"))
			}
		}
		fact("state", search.Equal, values...)
	}
	switch f.Purpose {
	case query.AnyPurpose:
		fact("purpose", search.Equal, word("work"), word("options"))
	case query.Work, query.ListOptions:
		fact("purpose", search.Equal, word(strings.ToLower(string(f.Purpose))))
	}
	if !f.From.IsZero() {
		fact("created", search.AtLeast, at(f.From))
	}
	if !f.To.IsZero() {
		fact("created", search.Less, at(f.To))
	}
	return list, nil
}
