package workflow

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// DeclaredSchedule is a schedule in a definition, which a Scheduler reads.
type DeclaredSchedule struct {
	Fields map[string]any    // those of the API besides workflow and version, as decoded JSON
	Path   string            // in the document
	Paths  map[string]string // of fields in a document that is not native
}

// PathOf returns the path of a field in the document.
func (d DeclaredSchedule) PathOf(field string) string {
	for prefix, path := range d.Paths {
		if rest, ok := cutField(field, prefix); ok {
			return path + rest
		}
	}
	if field == "" {
		return d.Path
	}
	return d.Path + "." + field
}

// cutField removes a name, or the name of an object around it, from the path of a field.
func cutField(field, name string) (rest string, ok bool) {
	if len(field) < len(name) || field[:len(name)] != name || len(field) > len(name) && field[len(name)] != '.' {
		return "", false
	}
	return field[len(name):], true
}

// WriteSchedules makes the declared schedules those of a workflow. It is part of the transaction that
// registers a version.
type WriteSchedules func(ctx context.Context, q *db.Queries, w db.Workflow) error

// Scheduler checks and keeps the schedules that definitions declare.
type Scheduler interface {
	Declare(ctx context.Context, d *Definition) (WriteSchedules, []apperr.Field, error)
}

// ScheduleWith makes Register keep the schedules of definitions. Call it before anything else.
func (s *Service) ScheduleWith(x Scheduler) { s.scheduler = x }

// declare checks the schedules of a definition.
func (s *Service) declare(ctx context.Context, d *Definition) (WriteSchedules, []apperr.Field, error) {
	if s.scheduler == nil {
		return func(context.Context, *db.Queries, db.Workflow) error { return nil }, nil, nil
	}
	return s.scheduler.Declare(ctx, d)
}

// maxSchedules bounds the schedules of a document; a Scheduler has its own limit.
const maxSchedules = 1000

// schedules reads the list of schedules. The Scheduler reads their fields.
func (p *parser) schedules(o *object) (out []DeclaredSchedule) {
	list, path := o.list(maxSchedules, "schedules")
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if entry := p.object(item, at); entry != nil {
			out = append(out, DeclaredSchedule{Fields: entry.values, Path: at})
		}
	}
	return out
}
