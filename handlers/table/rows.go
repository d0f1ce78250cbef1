package table

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// CellShown is the number of characters of a value in a cell.
const CellShown = 60

// wholeShown is the number of characters of a shortened value in the tooltip of its cell.
const wholeShown = 600

// Parse reads a query with the names of the caller's project.
func (s *Service) Parse(ctx context.Context, where string, now time.Time) (*search.Names, search.Expr, error) {
	read := s.Index.Fields // a list without a query needs no ClickHouse
	if where != "" {
		read = s.Index.FreshFields
	}
	fields, err := read(ctx)
	if err != nil {
		return nil, nil, err
	}
	e, err := s.parse(ctx, where, fields.Names, now)
	if _, mistaken := errors.AsType[*search.Error](err); !mistaken {
		return fields.Names, e, err
	}
	if fields, err = s.Index.DeclaredFields(ctx); err != nil {
		return nil, nil, err
	}
	e, err = s.parse(ctx, where, fields.Names, now)
	return fields.Names, e, err
}

func (s *Service) parse(ctx context.Context, where string, names *search.Names, now time.Time) (search.Expr, error) {
	subject, _ := auth.SubjectOf(ctx)
	return search.Parse(where, search.Context{Names: names, Now: now, Me: subject.Name, MeID: subject.ID.String(), People: func(text string) ([]search.Person, error) {
		return s.Index.People(ctx, text)
	}})
}

// Columns are the columns of a table among the entries of its address, without its charts. A table
// without columns has ShownColumns.
func Columns(entries []string, where search.Expr, sort string) []string {
	_, columns := index.Charts(entries)
	if len(columns) == 0 {
		return ShownColumns(where, sort)
	}
	return columns
}

// ShownColumns are those of a table whose address has none: the fields of its query and order.
func ShownColumns(where search.Expr, sort string) []string {
	var columns []string
	for _, f := range search.Used(where) {
		if f.Part != search.Facts {
			columns = append(columns, f.Path())
		}
	}
	if name := strings.TrimPrefix(sort, "-"); name != "" && !slices.Contains(columns, name) {
		columns = append(columns, name)
	}
	for _, name := range []string{"tags", "user", "created", "duration"} {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	return columns
}

// Rows are the executions of a page with the values of its columns.
func Rows(clock ui.Clock, found Page) []views.GridRow {
	rows := make([]views.GridRow, len(found.Executions))
	for i, e := range found.Executions {
		id := e.ID.String()
		rows[i] = views.GridRow{ID: id, Short: label.ShortID(e.ID), URL: views.ExecutionURL(id), State: string(e.Status), Title: label.ExecutionTitle(e), Flow: e.WorkflowName + " " + e.Version}
		values := found.Values[e.ID]
		for k, c := range found.Columns {
			var v any
			if k < len(values) {
				v = values[k]
			}
			rows[i].Cells = append(rows[i].Cells, gridCell(clock, c, v))
		}
	}
	return rows
}

func gridCell(clock ui.Clock, c index.Column, v any) views.GridCell {
	cell := views.GridCell{Numeric: c.Numeric()}
	switch v := v.(type) {
	case float64:
		cell.Text = ui.Float(v)
		if c.Type == "duration" {
			cell.Text = units.Duration(time.Duration(v * float64(time.Second)))
		}
	case time.Time:
		cell.Text = clock.Moment(v).Text
	case []string:
		cell.Tags = v
	case string:
		if cell.Text = ui.Short(v, CellShown); cell.Text != v {
			cell.Whole = ui.Short(v, wholeShown)
		}
	}
	switch c.Path {
	case "name", "tags", "note":
		cell.Label = c.Path
	case "state":
		cell.Text = ui.Word(cell.Text)
	case "sweep":
		if id, err := uuid.Parse(cell.Text); err == nil {
			cell.Text, cell.URL = label.ShortID(id), views.SweepURL(id.String())
		}
	}
	return cell
}
