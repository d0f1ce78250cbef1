package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// Template is a version of a reusable operator that definitions reference by name, of
// one project or of the whole tenant.
type Template struct {
	ID          uuid.UUID
	Name        string
	Version     string
	Global      bool // of the whole tenant
	Description string
	Document    json.RawMessage // an operator without the sources of its inputs; nil in lists
	CreatedBy   string
	CreatedAt   time.Time
}

// maxTemplates bounds a list of templates.
const maxTemplates = 2000

// RegisterTemplate stores a version of a template: an operator's document with name and
// version, and without the sources of its inputs. The same content returns
// created=false, different content under the same version is a Conflict, and an invalid
// document is Invalid with every problem and its path.
func (s *Service) RegisterTemplate(ctx context.Context, doc []byte, global bool) (t Template, created bool, err error) {
	subject, err := auth.Authorize(ctx, auth.WorkflowWrite)
	if err != nil {
		return Template{}, false, err
	}
	if global {
		denied := apperr.New(apperr.Forbidden, "Only tenant administrators can register templates for the whole tenant.")
		if subject, err = auth.AuthorizeIn(ctx, auth.TypeWrite, subject.TenantID, denied); err != nil {
			return Template{}, false, err
		}
	}
	types, err := s.types.Types(ctx)
	if err != nil {
		return Template{}, false, fmt.Errorf("types for a template: %w", err)
	}
	fields, problems := parseTemplate(doc, types)
	if len(problems) > 0 {
		return Template{}, false, apperr.InvalidFields("The template has 1 problem.", problems)
	}
	row, err := templateRow(fields, subject, global, s.now())
	if err != nil {
		return Template{}, false, err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		written, err := q.InsertTemplate(ctx, row)
		if err != nil {
			return fmt.Errorf("insert template %s: %w", row.Name, err)
		}
		if created = written > 0; !created {
			return nil
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "template.register", Kind: "template", ID: row.ID.String(), Name: row.Name + "@" + row.Version,
			TenantID: subject.TenantID, ProjectID: subject.ProjectID, New: map[string]any{"version": row.Version, "global": global},
		})
	})
	if err != nil {
		return Template{}, false, err
	}
	t, err = s.Template(ctx, row.Name, row.Version)
	if err == nil && !created && !sameDocument(t.Document, row.Document) {
		err = apperr.New(apperr.Conflict, "Version %s of the template %s already exists with different content. Versions are immutable: register the new content under a higher version.", row.Version, row.Name)
	}
	return t, created, err
}

func sameDocument(a, b json.RawMessage) bool {
	x, errX := decodeJSON(a)
	y, errY := decodeJSON(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// parseTemplate reads a template and checks it as an operator whose inputs all come
// from workflow inputs.
func parseTemplate(doc []byte, types *typeregistry.Registry) (map[string]any, []apperr.Field) {
	tree, err := decodeDocument(doc)
	if err != nil {
		return nil, []apperr.Field{{Path: "document", Message: messageOf(err)}}
	}
	fields := asMapping(tree)
	if fields == nil {
		return nil, []apperr.Field{{Path: "document", Message: "A template must be a mapping with name, version and the fields of an operator."}}
	}
	p := &parser{problems: &problems{}, registry: types, types: map[string]*typeregistry.Type{}, unreadable: map[string]bool{}}
	outer := p.object(fields, "")
	p.version(outer)
	inner := maps.Clone(fields)
	delete(inner, "version")
	inner["inputs"] = p.sourced(inner["inputs"])
	p.operator(inner, "")
	return fields, p.fields()
}

// sourced adds a source to inputs without one, so that they can be checked.
func (p *parser) sourced(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, item := range list {
		in := maps.Clone(asMapping(item))
		if in == nil {
			out[i] = item
			continue
		}
		for _, key := range []string{"from", "source", "value", "expression"} {
			if _, given := in[key]; given {
				p.add(fmt.Sprintf("inputs[%d].%s", i, key), "The workflow that uses the template sets the sources of its inputs; remove this field.")
				delete(in, key)
			}
		}
		in["from"] = "inputs.x"
		if in["type"] == nil {
			p.add(fmt.Sprintf("inputs[%d].type", i), "Set the type of the input.")
		}
		out[i] = in
	}
	return out
}

func templateRow(fields map[string]any, subject auth.Subject, global bool, now time.Time) (db.InsertTemplateParams, error) {
	name, _ := fields["name"].(string)
	number, _ := fields["version"].(string)
	description, _ := fields["description"].(string)
	v, err := parseVersion(number)
	if err != nil {
		return db.InsertTemplateParams{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return db.InsertTemplateParams{}, fmt.Errorf("template id: %w", err)
	}
	document, err := json.Marshal(fields)
	if err != nil {
		return db.InsertTemplateParams{}, fmt.Errorf("template %s: %w", name, err)
	}
	hash := sha256.Sum256(document)
	row := db.InsertTemplateParams{
		ID: id, TenantID: subject.TenantID, Name: name, Version: number, Description: description, Document: document, ContentHash: hash[:],
		Major: int64(v.Major()), Minor: int64(v.Minor()), Patch: int64(v.Patch()), Prerelease: v.Prerelease(), //nolint:gosec // parseVersion bounds them
		CreatedBy: subject.ID, CreatedByName: subject.Name, CreatedAt: now.UTC().Truncate(time.Microsecond),
	}
	if !global {
		row.ProjectID = &subject.ProjectID
	}
	return row, nil
}

// Template returns a template visible to the current project; its own takes precedence
// over the tenant's. version "" is the latest release.
func (s *Service) Template(ctx context.Context, name, version string) (Template, error) {
	subject, err := auth.Authorize(ctx, auth.WorkflowRead)
	if err != nil {
		return Template{}, err
	}
	rows, err := db.New(s.pool).TemplatesNamed(ctx, subject.TenantID, &subject.ProjectID, name)
	if err != nil {
		return Template{}, fmt.Errorf("templates %s: %w", name, err)
	}
	for _, r := range rows {
		if version != r.Version && (version != "" || r.Prerelease != "") {
			continue
		}
		return Template{
			ID: r.ID, Name: r.Name, Version: r.Version, Global: r.ProjectID == nil, Description: r.Description, Document: r.Document,
			CreatedBy: r.CreatedByName, CreatedAt: r.CreatedAt.UTC(),
		}, nil
	}
	if version != "" {
		name += "@" + version
	}
	return Template{}, apperr.New(apperr.NotFound, "There is no template %q.", shorten(name, 200))
}

// Templates lists the templates visible to the current project, without the documents:
// by name, the latest version first.
func (s *Service) Templates(ctx context.Context) ([]Template, error) {
	subject, err := auth.Authorize(ctx, auth.WorkflowRead)
	if err != nil {
		return nil, err
	}
	rows, err := db.New(s.pool).ListTemplates(ctx, subject.TenantID, &subject.ProjectID, maxTemplates)
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	templates := make([]Template, len(rows))
	for i, r := range rows {
		templates[i] = Template{
			ID: r.ID, Name: r.Name, Version: r.Version, Global: r.ProjectID == nil, Description: r.Description,
			CreatedBy: r.CreatedByName, CreatedAt: r.CreatedAt.UTC(),
		}
	}
	return templates, nil
}

// fill merges an operator over the template that it names; the result names the version
// that was used. Inputs of the same name are joined.
func (e *embedder) fill(ctx context.Context, op map[string]any, ref, path string) error {
	name, number, _ := strings.Cut(ref, "@")
	t, err := e.service.Template(ctx, name, number)
	if apperr.Is(err, apperr.NotFound) || apperr.Is(err, apperr.Invalid) {
		e.add(path, "%s", apperr.MessageOf(err))
		return nil
	}
	if err != nil {
		return err
	}
	tree, err := decodeJSON(t.Document)
	if err != nil {
		return fmt.Errorf("template %s: %w", ref, err)
	}
	for key, value := range asMapping(tree) {
		switch own, given := op[key]; {
		case key == "version":
		case key == "inputs" && given:
			op[key] = joined(value, own)
		case !given:
			op[key] = value
		}
	}
	delete(op, "template")
	op["made_of"] = t.Name + "@" + t.Version
	e.changed = true
	return nil
}

// joined merges inputs over those of a template.
func joined(base, over any) any {
	list, ok := over.([]any)
	from, _ := base.([]any)
	if !ok {
		return over
	}
	out := slices.Clone(list)
	for _, item := range from {
		declared := asMapping(item)
		at := slices.IndexFunc(list, func(own any) bool { return asMapping(own)["name"] == declared["name"] })
		if at < 0 {
			out = append(out, item)
			continue
		}
		both := maps.Clone(declared)
		maps.Copy(both, asMapping(list[at]))
		out[at] = both
	}
	return out
}
