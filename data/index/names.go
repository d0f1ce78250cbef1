package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/search"
)

// project is what a request knows of the caller's project.
type project struct {
	columns assigned
	names   *search.Names
	id      uuid.UUID
	me      string
	meID    string
	people  func(text string) ([]search.Person, error)
	now     time.Time
}

// Fields are the names that queries and columns of a project can use.
type Fields struct {
	Names *search.Names
	Full  bool // the project has MaxFields names of a type: further ones are not searchable
}

// FreshFields is Fields with the names of executions that were launched just now. It returns
// Unavailable while ClickHouse does not respond.
func (s *Service) FreshFields(ctx context.Context) (Fields, error) {
	subject, err := reader(ctx)
	if err != nil {
		return Fields{}, err
	}
	if _, err := s.follow(ctx, subject.ProjectID); err != nil {
		return Fields{}, unavailable(err)
	}
	return s.Fields(ctx)
}

// DeclaredFields is Fields with the names that only workflows declare.
func (s *Service) DeclaredFields(ctx context.Context) (Fields, error) {
	p, err := s.project(ctx)
	if err != nil {
		return Fields{}, err
	}
	if p, err = s.declare(ctx, p); err != nil {
		return Fields{}, err
	}
	return p.fields(), nil
}

// Fields returns the names of the caller's project.
func (s *Service) Fields(ctx context.Context) (Fields, error) {
	p, err := s.project(ctx)
	if err != nil {
		return Fields{}, err
	}
	return p.fields(), nil
}

func (p project) fields() Fields {
	return Fields{p.names, p.columns.full(search.Number) || p.columns.full(search.String)}
}

func (s *Service) project(ctx context.Context) (project, error) {
	subject, err := reader(ctx)
	if err != nil {
		return project{}, err
	}
	columns, err := s.assigned(ctx, s.queries, subject.ProjectID)
	if err != nil {
		return project{}, err
	}
	p := project{columns: columns, names: search.NewNames(fieldsOf(columns)), id: subject.ProjectID, me: subject.Name, meID: subject.ID.String(), now: s.cfg.Now()}
	p.people = func(text string) ([]search.Person, error) { return s.peopleOf(ctx, subject.ProjectID, text) }
	return p, nil
}

// People returns the people who launched executions of the caller's project and whose name or e-mail
// address contains a text.
func (s *Service) People(ctx context.Context, text string) ([]search.Person, error) {
	subject, err := reader(ctx)
	if err != nil {
		return nil, err
	}
	return s.peopleOf(ctx, subject.ProjectID, text)
}

func (s *Service) peopleOf(ctx context.Context, project uuid.UUID, text string) ([]search.Person, error) {
	rows, err := s.queries.PeopleLike(ctx, text, project)
	if err != nil {
		return nil, fmt.Errorf("find the people called %q: %w", text, err)
	}
	people := make([]search.Person, len(rows))
	for i, row := range rows {
		people[i] = search.Person{ID: row.ID.String(), Name: row.Name, Email: row.Email}
	}
	return people, nil
}

// fieldsOf returns the inputs, outputs and metrics that have columns, by name.
func fieldsOf(columns assigned) []search.Field {
	types := map[key][]search.Type{}
	for k := range columns.columns {
		if k.stat == "" || k.stat == search.Last {
			name := key{part: k.part, name: k.name, stat: k.stat}
			types[name] = append(types[name], k.kind)
		}
	}
	fields := make([]search.Field, 0, len(types))
	for k, t := range types {
		slices.Sort(t)
		fields = append(fields, search.Field{Part: k.part, Name: k.name, Stat: k.stat, Types: t})
	}
	slices.SortFunc(fields, func(a, b search.Field) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Name, b.Name))
	})
	return fields
}

// parse reads a condition. Its error is Invalid and wraps the *search.Error.
func (p project) parse(where string) (search.Expr, error) {
	e, err := search.Parse(where, search.Context{Names: p.names, Now: p.now, Me: p.me, MeID: p.meID, People: p.people})
	if _, mistaken := errors.AsType[*search.Error](err); err != nil && !mistaken {
		return nil, err
	}
	if err != nil {
		return nil, &apperr.Error{
			Code: apperr.Invalid, Message: "The query is not valid. " + err.Error(), Err: err,
			Fields: []apperr.Field{{Path: "where", Message: err.Error()}},
		}
	}
	return e, nil
}

// Column is a column of a table of executions.
type Column struct {
	Path  string // full name, such as metrics.accuracy.max
	Title string // its name without the part
	Part  search.Part
	Type  string // number, text, time, duration (in seconds) or tags
	Layout
	field search.Field
}

// Numeric reports whether its values can be summed up.
func (c Column) Numeric() bool { return c.Type == "number" || c.Type == "duration" }

// Metric is the name of the metric whose value the column has; "" for another column.
func (c Column) Metric() string {
	if c.Part != search.Metrics {
		return ""
	}
	return c.field.Name
}

// column returns the column of a name.
func (p project) column(name, parameter string) (Column, error) {
	if name == "tags" {
		name = "tag"
	}
	f, choices := p.names.Find(name)
	message := ""
	switch {
	case len(choices) > 1:
		message = fmt.Sprintf("%q can mean %s.", name, strings.Join(choices, ", "))
	case f.Name == "":
		message = fmt.Sprintf("No execution of this project has %q.", name)
	case f.Part == search.Facts && slices.Contains([]string{"sha", "since", "until", "log"}, f.Name):
		message = f.Name + " is not a column."
	}
	if message != "" {
		return Column{}, apperr.InvalidFields(message, []apperr.Field{{Path: parameter, Message: message}})
	}
	c := Column{Path: f.Path(), Title: f.Name, Part: f.Part, Type: string(f.Types[0]), field: f}
	if f.Part == search.Metrics && f.Stat != search.Last {
		c.Title += "." + string(f.Stat)
	}
	if f.Part == search.Facts && f.Name == "tag" {
		c.Path, c.Title, c.Type = "tags", "tags", tagsType
	}
	return c, nil
}

// sql returns the expressions of a column's numbers and texts; "" for none.
func (p project) sql(c Column) (numbers, texts string) {
	if c.Part != search.Facts {
		compiler := compiler{columns: p.columns}
		if column, known := compiler.column(c.field, search.Number); known {
			numbers = column
		}
		if column, known := compiler.column(c.field, search.String); known {
			texts = column
		}
		return numbers, texts
	}
	column := factColumn(c.field.Name)
	switch c.Type {
	case "time":
		return "toFloat64(toUnixTimestamp64Micro(" + column + "))", ""
	case "number", "duration":
		return "toFloat64(" + column + ")", ""
	case tagsType:
		return "", "arrayStringConcat(tags, '\\n')"
	}
	if c.field.Name == "id" {
		return "", "toString(execution_id)"
	}
	return "", "nullIf(toString(" + column + "), '')"
}

// Problem returns the place of a mistake in a query, if err is about one.
func Problem(err error) (*search.Error, bool) { return errors.AsType[*search.Error](err) }

// Mixed reports whether some values are numbers and others texts.
func (c Column) Mixed() bool { return len(c.field.Types) > 1 }

// Check returns Invalid, with the fields where, sort, columns and group, for a query that the
// caller's project cannot answer. An empty group is none.
func (s *Service) Check(ctx context.Context, q Query, group string) error {
	err := s.check(ctx, q, group)
	if !apperr.Is(err, apperr.Invalid) {
		return err
	}
	subject, failed := reader(ctx)
	if failed != nil {
		return failed
	}
	if _, failed := s.follow(ctx, subject.ProjectID); failed != nil {
		return err
	}
	return s.check(ctx, q, group) // with the names of executions that were launched just now
}

func (s *Service) check(ctx context.Context, q Query, group string) error {
	return s.withNames(ctx, func(p project) error {
		a := resolvedQuery{project: p}
		if err := a.resolve(q); err != nil || group == "" {
			return err
		}
		_, err := a.groupColumn(group)
		return err
	})
}
