package index

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/search"
)

// withNames calls read with the names that executions of the caller's project have. If read returns
// Invalid, withNames calls it again with the names that only workflows declare. Most queries need no
// declared names, and reading them costs time.
func (s *Service) withNames(ctx context.Context, read func(project) error) error {
	p, err := s.project(ctx)
	if err != nil {
		return err
	}
	err = read(p)
	if !apperr.Is(err, apperr.Invalid) {
		return err
	}
	if p, err = s.declare(ctx, p); err != nil {
		return err
	}
	return read(p)
}

// declare adds the inputs and outputs that workflows of the project declare and that no execution
// has yet. Conditions on them are valid and select nothing.
func (s *Service) declare(ctx context.Context, p project) (project, error) {
	rows, err := s.queries.DeclaredFields(ctx, p.id)
	if err != nil {
		return p, fmt.Errorf("names that workflows of project %s declare: %w", p.id, err)
	}
	names := assigned{columns: maps.Clone(p.columns.columns)}
	for _, r := range rows {
		kind, comparable := declaredType(r.Type)
		k := key{part: search.Part(r.Part), name: r.Name, kind: kind}
		if _, known := names.columns[k]; comparable && !known && indexable(r.Name) {
			names.columns[k] = 0
		}
	}
	p.names = search.NewNames(fieldsOf(names)) // not p.columns: the declared names have no column
	return p, nil
}

// declaredType returns how the index compares values of a type expression; false for types whose
// values it does not have.
func declaredType(expression string) (search.Type, bool) {
	name, _, _ := strings.Cut(strings.TrimPrefix(expression, "Optional<"), "<")
	name, _, _ = strings.Cut(name, "(")
	switch strings.TrimSuffix(name, ">") {
	case "Integer", "Float":
		return search.Number, true
	case "String", "Text", "Boolean", "Enum", "Date", "DateTime", "List", "Dataset", "Model":
		return search.String, true
	}
	return "", false
}
