// Package table contains what the pages and the API of the table of executions share: conditions
// of filters, rows with their values, exports, and commands for many executions.
package table

import (
	"context"
	"fmt"
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
	p.Executions, err = s.Executions.Named(ctx, ids)
	return p, err
}

// Conditions are the conditions of a filter, without its pages. A filter on what executions wait
// for is refused, because the index does not contain it.
func (s *Service) Conditions(ctx context.Context, f query.Filter) (search.And, error) {
	if f.Waiting || f.AwaitingApproval {
		return nil, apperr.New(apperr.Invalid, "The table cannot select executions that wait or await approval. Remove this state, or the query and the columns.")
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
		values := make([]search.Value, len(f.Status))
		for i, state := range f.Status {
			values[i] = word(strings.ToLower(string(state)))
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
