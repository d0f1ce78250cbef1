package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// Format reads documents that are not in the native form. Its definitions are stored as
// documents of the format, which parses them again when they are loaded.
type Format interface {
	// Reads reports whether doc is of the format.
	Reads(doc map[string]any) bool
	// Parse returns the definition of doc. It reports every problem with its path in
	// the document; then the definition is nil. A definition without a version gets the
	// next one when it is registered.
	Parse(doc map[string]any, in Surroundings) (*Definition, []apperr.Field)
}

// Surroundings are the inputs of a format other than the document.
type Surroundings struct {
	Types *typeregistry.Registry
	// Find returns the document of the latest version of another workflow of the
	// project; false when there is none in a foreign format. It is nil when a
	// registered document is loaded, because that contains all that it needs.
	Find func(name string) (json.RawMessage, bool)
}

// ReadWith lets the service read documents of a format. Call it before anything else.
func (s *Service) ReadWith(f Format) { s.formats = append(s.formats, f) }

// read parses a document of any format.
func (s *Service) read(doc []byte, in Surroundings) (*Definition, []apperr.Field) {
	if len(s.formats) > 0 {
		tree, err := decodeDocument(doc)
		if err != nil {
			return nil, []apperr.Field{{Path: "document", Message: messageOf(err)}}
		}
		object, _ := tree.(map[string]any)
		for _, f := range s.formats {
			if f.Reads(object) {
				return f.Parse(object, in)
			}
		}
	}
	return Parse(doc, in.Types)
}

// Check returns the problems that Register would report, or the definition when there
// are none. It stores nothing.
func (s *Service) Check(ctx context.Context, doc []byte) (*Definition, error) {
	if _, err := auth.Authorize(ctx, auth.WorkflowWrite); err != nil {
		return nil, err
	}
	d, _, err := s.check(ctx, doc)
	return d, err
}

func (s *Service) check(ctx context.Context, doc []byte) (*Definition, WriteSchedules, error) {
	types, err := s.types.Types(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("types for a definition: %w", err)
	}
	doc, missing, err := s.embed(ctx, doc)
	if err != nil {
		return nil, nil, err
	}
	if len(missing) > 0 {
		return nil, nil, invalid(missing)
	}
	finder := finder{service: s, ctx: ctx}
	d, problems := s.read(doc, Surroundings{Types: types, Find: finder.find})
	if finder.err != nil {
		return nil, nil, finder.err
	}
	if len(problems) > 0 {
		return nil, nil, invalid(problems)
	}
	if problems, err = s.checkPackages(ctx, d); err != nil {
		return nil, nil, err
	}
	if problems = append(problems, s.checkPods(d)...); len(problems) > 0 {
		return nil, nil, invalid(problems)
	}
	schedules, problems, err := s.declare(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	if len(problems) > 0 {
		return nil, nil, invalid(problems)
	}
	return d, schedules, nil
}

// finder finds the documents that another one refers to.
type finder struct {
	service *Service
	ctx     context.Context //nolint:containedctx // of the one request that it serves
	err     error           // of the database
}

func (f *finder) find(name string) (json.RawMessage, bool) {
	v, err := f.service.Version(f.ctx, name, "")
	if err != nil {
		if !apperr.Is(err, apperr.NotFound) {
			f.err = err
		}
		return nil, false
	}
	doc := v.Definition.Document()
	return doc, doc != nil
}

// firstVersion is the version of a definition without one.
const firstVersion = "1.0.0"

// number gives the definition a version when it has none: that of the latest one of
// the workflow when its content is the same, else the next.
func (r *registration) number(ctx context.Context, q *db.Queries, w db.Workflow) error {
	if r.definition.Version == "" {
		next, err := r.next(ctx, q, w)
		if err != nil {
			return err
		}
		r.definition.Version = next
	}
	v, err := parseVersion(r.definition.Version)
	if err != nil {
		return err
	}
	r.release = release{int64(v.Major()), int64(v.Minor()), int64(v.Patch()), v.Prerelease()} //nolint:gosec // parseVersion bounds them
	return nil
}

func (r *registration) next(ctx context.Context, q *db.Queries, w db.Workflow) (string, error) {
	if w.LatestVersionID == nil {
		return firstVersion, nil
	}
	rows, err := q.WorkflowVersionsByID(ctx, []uuid.UUID{*w.LatestVersionID})
	if err == nil && len(rows) == 0 {
		err = errNoVersion(*w.LatestVersionID)
	}
	if err != nil {
		return "", fmt.Errorf("latest version of %s: %w", w.Name, err)
	}
	latest := rows[0]
	if bytes.Equal(latest.ContentHash, r.hash) {
		return latest.Version, nil
	}
	v, err := parseVersion(latest.Version)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%d.%d", v.Major(), v.Minor(), v.Patch()+1), nil
}
