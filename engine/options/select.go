package options

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// selected returns the options of a query: one for each distinct value, newest first.
func (s *Service) selected(ctx context.Context, source typeregistry.Resolved, t *typeregistry.Type) (list, error) {
	if source.From == "executions" {
		return s.fromExecutions(ctx, source, t)
	}
	records, cut, err := s.records(ctx, source.From)
	if err != nil {
		return list{}, err
	}
	subject, _ := auth.SubjectOf(ctx)
	noun := strings.TrimSuffix(source.From, "s")
	names := search.NewRecordNames(noun, records)
	condition, err := search.Parse(source.Where, search.Context{Names: names, Now: s.config.Now(), Me: subject.Name, MeID: subject.ID.String()})
	if err != nil {
		if len(records) == 0 {
			return list{}, nil // names are those of records, so none is known
		}
		return list{}, apperr.Wrap(apperr.Invalid, err, "The query for the options is not valid. "+err.Error())
	}
	b := newBuilder(source, t)
	for _, r := range records {
		if r.Match(condition) {
			b.add(b.column(r, b.value), func(name string) string { return shown(b.column(r, name)) })
		}
	}
	return b.list(cut), nil
}

// builder collects the options of a query.
type builder struct {
	source  typeregistry.Resolved
	t       *typeregistry.Type
	value   string
	seen    map[string]bool
	options []Option
	wrong   int // values that the type does not accept
}

func newBuilder(source typeregistry.Resolved, t *typeregistry.Type) *builder {
	b := &builder{source: source, t: t, value: source.Value, seen: map[string]bool{}}
	if b.value == "" {
		b.value = "ref"
	}
	return b
}

func (b *builder) column(r search.Record, name string) any {
	if v, ok := r[name]; ok {
		return v
	}
	return nil
}

// add adds the option of a row unless an earlier one has its value. read returns a column as text.
func (b *builder) add(raw any, read func(name string) string) {
	if raw == nil {
		return
	}
	v, ok := typeregistry.Typed(b.t, plain(raw))
	if !ok {
		b.wrong++
		return
	}
	text := typeregistry.Text(b.t, v)
	if b.seen[text] {
		return
	}
	b.seen[text] = true
	o := Option{Value: v}
	if b.source.Label != "" {
		o.Label = read(b.source.Label)
	}
	if b.source.Description != "" {
		o.Description = read(b.source.Description)
	}
	for _, name := range b.source.Preview {
		if value := read(name); value != "" {
			o.Preview = append(o.Preview, Fact{Name: strings.TrimPrefix(name, "."), Value: value})
		}
	}
	b.options = append(b.options, o)
}

// list returns the collected options. cut is the number of rows that were read if there are
// more.
func (b *builder) list(cut int) list {
	out := list{options: b.options}
	var notes []string
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("Only the newest %s %s were searched.", units.Number(int64(cut)), b.source.From))
	}
	if b.wrong > 0 {
		notes = append(notes, units.Plural(b.wrong, "value that does not fit the type "+b.t.Name()+" is left out.", "values that do not fit the type "+b.t.Name()+" are left out."))
	}
	out.note = strings.Join(notes, " ")
	return out
}

// plain converts values of the index and of records.
func plain(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case []string:
		return strings.Join(v, ", ")
	case float64:
		return typeregistry.Plain(v)
	}
	return v
}

// shown formats a value for users.
func shown(v any) string {
	switch v := plain(v).(type) {
	case nil:
		return ""
	case json.Number:
		return v.String()
	default:
		return fmt.Sprint(v)
	}
}

// columns are the names that a source of executions reads, each once, the value first.
func columns(source typeregistry.Resolved) []string {
	names := []string{source.Value}
	for _, name := range append([]string{source.Label, source.Description}, source.Preview...) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// fromExecutions reads executions of the project, which the caller may read, from the index.
func (s *Service) fromExecutions(ctx context.Context, source typeregistry.Resolved, t *typeregistry.Type) (list, error) {
	names, b := columns(source), newBuilder(source, t)
	read, after := 0, ""
	for {
		found, err := s.config.Index.Find(ctx, index.Query{Where: source.Where, Columns: names, After: after, Limit: 500})
		if err != nil {
			return s.unknown(ctx, err)
		}
		for _, row := range found.Rows {
			b.add(row.Values[0], func(name string) string { return shown(row.Values[slices.Index(names, name)]) })
		}
		read += len(found.Rows)
		if after = found.Next; after == "" {
			return b.list(0), nil
		}
		if read >= maxScanned {
			return b.list(read), nil
		}
	}
}

// unknown is the response to a query that cannot be read: no options while the project has no
// executions, because the names come from executions.
func (s *Service) unknown(ctx context.Context, err error) (list, error) {
	if !apperr.Is(err, apperr.Invalid) {
		return list{}, err
	}
	if any, failed := s.config.Index.Find(ctx, index.Query{Limit: 1}); failed == nil && len(any.Rows) == 0 {
		return list{}, nil
	}
	return list{}, apperr.Wrap(apperr.Invalid, err, "The query for the options is not valid: "+apperr.MessageOf(err))
}

// having returns options of executions with one value.
func (s *Service) having(ctx context.Context, source typeregistry.Resolved, t *typeregistry.Type, v any) ([]Option, error) {
	where := search.QuotedName(source.Value) + " = " + typeregistry.SearchText(v)
	if strings.TrimSpace(source.Where) != "" {
		where = "(" + source.Where + ") and " + where
	}
	found, err := s.config.Index.Find(ctx, index.Query{Where: where, Columns: []string{source.Value}, Limit: 50})
	if err != nil {
		none, err := s.unknown(ctx, err)
		return none.options, err
	}
	b := newBuilder(source, t)
	b.source.Label, b.source.Description, b.source.Preview = "", "", nil
	for _, row := range found.Rows {
		b.add(row.Values[0], nil)
	}
	return b.options, nil
}

// records reads the objects of the project other than executions. cut is the number of records
// if there are more.
func (s *Service) records(ctx context.Context, from string) (all []search.Record, cut int, err error) {
	after := ""
	for {
		var more []search.Record
		switch from {
		case "artifacts":
			more, after, err = s.artifactRecords(ctx, after)
		default:
			more, after, err = s.catalogueRecords(ctx, from, after)
		}
		for _, r := range more {
			maps.DeleteFunc(r, func(_ string, v any) bool { return v == "" })
		}
		all = append(all, more...)
		switch {
		case err != nil || after == "":
			return all, 0, err
		case len(all) >= maxScanned:
			return all, len(all), nil
		}
	}
}

func (s *Service) artifactRecords(ctx context.Context, after string) ([]search.Record, string, error) {
	page, err := s.config.Artifacts.List(ctx, artifact.Filter{After: after, Limit: 200})
	if err != nil {
		return nil, "", err
	}
	out := make([]search.Record, len(page.Artifacts))
	for i, a := range page.Artifacts {
		out[i] = search.Record{
			"ref": a.ID.String(), "id": a.ID.String(), "name": a.Name, "kind": a.Kind, "workflow": a.WorkflowName, "node": a.Node, "execution": a.ExecutionID.String(),
			"size": float64(a.Size), "media_type": a.MediaType, "filename": a.Filename, "sha256": a.SHA256, "created": a.CreatedAt,
		}
		flatten(out[i], "metadata", a.Metadata)
	}
	return out, page.Next, nil
}

func (s *Service) catalogueRecords(ctx context.Context, from, after string) ([]search.Record, string, error) {
	kind := map[string]typeregistry.Kind{"datasets": typeregistry.KindDataset, "models": typeregistry.KindModel, "features": typeregistry.KindFeatureSet}[from]
	page, err := s.config.Catalogue.List(ctx, catalogue.Filter{Kind: kind, After: after, Limit: 200})
	if err != nil {
		return nil, "", err
	}
	out := make([]search.Record, len(page.Entries))
	for i, e := range page.Entries {
		r := search.Record{
			"ref": e.Ref(), "name": e.Name, "version": e.Version, "description": e.Description, "format": e.Format, "framework": e.Framework,
			"tags": e.Tags, "user": e.CreatedBy, "created": e.CreatedAt, "columns": float64(len(e.Facts.Columns)), "features": float64(len(e.Facts.Features)),
		}
		if e.Facts.Rows != nil {
			r["rows"] = float64(*e.Facts.Rows)
		}
		if e.Blob != nil {
			r["size"] = float64(e.Blob.Size)
		}
		for name, v := range e.Metrics() {
			r["metrics."+name] = v
		}
		flatten(r, "metadata", e.Facts.Metadata)
		out[i] = r
	}
	return out, page.Next, nil
}

// flatten adds the texts and numbers of an object with dotted names.
func flatten(into search.Record, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			flatten(into, path+"."+name, inner)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			into[path] = f
		}
	case float64, string:
		into[path] = v
	case bool:
		into[path] = fmt.Sprint(v)
	}
}
