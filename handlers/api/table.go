package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/web/contract"
)

// TableQuery selects the rows and columns of a table of executions. huma reads embedded
// parameters only from exported types.
type TableQuery struct {
	Where   string `query:"where" doc:"Conditions, such as: lr > 0.01 and accuracy >= 0.9 and tag:baseline" maxLength:"4000"`
	Sort    string `query:"sort" doc:"Name to sort by; prefix with - for descending order" maxLength:"300"`
	View    string `query:"view" doc:"Name or ID of a saved view. Its conditions are added; its order and columns apply unless the request sets them" maxLength:"100"`
	Columns string `query:"columns" doc:"Comma-separated names, such as inputs.lr,metrics.accuracy.max" maxLength:"8000"`
}

func (q TableQuery) index() index.Query {
	return index.Query{Where: q.Where, Sort: q.Sort, Columns: columnNames(q.Columns)}
}

func columnNames(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// tableAPI serves tables of executions: queries, columns, groups, exports and commands for many.
type tableAPI struct {
	Log       *slog.Logger
	Table     *table.Service
	Scope     request.Scope
	PublicURL string
	views     *viewAPI
}

func (h *tableAPI) mount(api *operations) {
	operation(api, get("list-execution-fields", "/executions/fields", "List the names that execution queries and columns can use", "Executions"), h.apiFields)
	operation(api, get("group-executions", "/executions/groups", "Group executions by a value, with aggregated columns", "Executions"), h.apiGroups)
	operation(api, get("complete-query", "/executions/complete", "Complete an execution query with names, operators and values", "Executions"), h.apiComplete)
	operation(api, get("search-logs", "/executions/lines", "Search the logs of many executions", "Logs and metrics"), h.apiLines)
	operation(api, post("label-execution", "/executions/{execution_id}/labels", "Change the name, the tags and the note of an execution", "Executions"), h.apiLabel)
	operation(api, post("command-executions", "/executions/bulk", "Cancel, resume, tag or delete many executions", "Executions"), h.apiBulk)
}

func (h *tableAPI) searchExecutions(ctx context.Context, f query.Filter, t TableQuery) (*body[contract.ExecutionPage], error) {
	t, err := h.views.inView(ctx, t)
	if err != nil {
		return nil, err
	}
	q := t.index()
	if q.And, err = h.Table.Conditions(ctx, f); err != nil {
		return nil, err
	}
	q.After, q.Limit, q.Counted = f.After, f.Limit, true
	page, err := h.Table.Find(ctx, q)
	if err != nil {
		return nil, err
	}
	out := contract.ExecutionPage{NextPage: page.Next, Total: &page.Total, Behind: page.Behind}
	for _, c := range page.Columns {
		out.Columns = append(out.Columns, columnBody(c))
	}
	if out.Executions, err = h.executionBodies(ctx, page.Executions); err != nil {
		return nil, err
	}
	for i := range out.Executions {
		e := &out.Executions[i]
		e.Values = make(map[string]any, len(page.Columns))
		for k, v := range page.Values[e.ExecutionID] {
			e.Values[page.Columns[k].Path] = v
		}
	}
	return reply(out), nil
}

func columnBody(c index.Column) contract.ColumnBody {
	b := contract.ColumnBody{Path: c.Path, Type: c.Type}
	if c.Mixed() {
		b.Type = "mixed"
	}
	return b
}

// executionBodies adds tags and notes.
func (h *tableAPI) executionBodies(ctx context.Context, list []query.Execution) ([]contract.ExecutionBody, error) {
	ids := make([]uuid.UUID, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	labels, err := h.Table.Index.Labels(ctx, ids)
	if err != nil {
		return nil, err
	}
	bodies := make([]contract.ExecutionBody, len(list))
	for i, e := range list {
		bodies[i] = toExecutionBody(e)
		bodies[i].Tags, bodies[i].Note = labels[e.ID].Tags, labels[e.ID].Note
	}
	return bodies, nil
}

func (h *tableAPI) apiFields(ctx context.Context, _ *struct{}) (*body[contract.FieldList], error) {
	fields, err := h.Table.Index.Fields(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.FieldList{Full: fields.Full, Fields: []contract.ColumnBody{}}
	for _, f := range fields.Names.Fields() {
		kind := string(f.Types[0])
		if len(f.Types) > 1 {
			kind = "mixed"
		}
		out.Fields = append(out.Fields, contract.ColumnBody{Path: f.Path(), Type: kind, Help: f.Help})
		if f.Part == search.Metrics {
			for _, stat := range []search.Stat{search.Least, search.Most, search.BestOne} {
				f.Stat = stat
				out.Fields = append(out.Fields, contract.ColumnBody{Path: f.Path(), Type: kind})
			}
		}
	}
	return reply(out), nil
}

func (h *tableAPI) apiComplete(ctx context.Context, in *struct {
	Before string `query:"before" doc:"Query text before the cursor" maxLength:"4000"`
}) (*body[contract.QueryCompletion], error) {
	found, err := h.Table.Index.Complete(ctx, in.Before)
	if err != nil {
		return nil, err
	}
	out := contract.QueryCompletion{From: utf8.RuneCountInString(in.Before[:found.From]), Suggestions: []contract.QuerySuggestion{}}
	for _, s := range found.Suggestions {
		one := contract.QuerySuggestion{Kind: string(s.Kind), Text: s.Text, Label: s.Label, Help: s.Help}
		if s.Field.Name != "" {
			one.Path, one.Type = s.Field.Path(), string(s.Field.Types[0])
			if len(s.Field.Types) > 1 {
				one.Type = "mixed"
			}
		}
		if s.Count >= 0 {
			one.Executions = &s.Count
		}
		out.Suggestions = append(out.Suggestions, one)
	}
	return reply(out), nil
}

func (h *tableAPI) apiLabel(ctx context.Context, in *struct {
	ExecutionPath
	Body contract.LabelInput
}) (*body[contract.LabelBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	labels, err := h.Table.Index.Label(ctx, id, index.Change{Add: in.Body.Add, Remove: in.Body.Remove, Note: in.Body.Note, Name: in.Body.Name})
	if err != nil {
		return nil, err
	}
	return reply(contract.LabelBody{Name: labels.Name, Tags: append([]string{}, labels.Tags...), Note: labels.Note}), nil
}

func (h *tableAPI) apiBulk(ctx context.Context, in *struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"Idempotency key: a repeated request with the same key does not resume an execution twice" maxLength:"150"`
	Body           contract.BulkInput
}) (*body[contract.BulkResult], error) {
	b := in.Body
	outcomes, err := h.Table.Apply(ctx, table.Bulk{
		Action: b.Action, IDs: b.IDs, Reason: b.Reason, DryRun: b.DryRun, Key: in.IdempotencyKey, Change: index.Change{Add: b.Add, Remove: b.Remove, Note: b.Note},
	})
	if err != nil {
		return nil, err
	}
	out := contract.BulkResult{Outcomes: make([]contract.BulkOutcome, 0, len(outcomes))}
	for _, o := range outcomes {
		one := contract.BulkOutcome{ExecutionID: o.ID, Done: o.Done, Message: o.Message}
		if o.Done {
			out.Done++
		}
		if o.Created != uuid.Nil {
			one.Created = &o.Created
		}
		out.Outcomes = append(out.Outcomes, one)
	}
	return reply(out), nil
}

// exportTypes are the media types of exports.
func exportTypes() map[string]string {
	return map[string]string{table.CSV: "text/csv; charset=utf-8", table.Parquet: "application/vnd.apache.parquet", table.Notebook: "application/x-ipynb+json"}
}

// routes are the routes of a table as a stream. huma can only send complete responses.
func (h *tableAPI) routes(r chi.Router) {
	r.Get(request.APIPrefix+"/executions/export", h.Scope.Page(func(w http.ResponseWriter, r *http.Request) error {
		v := r.URL.Query()
		format := v.Get("format")
		if format == "" {
			format = table.CSV
		}
		if exportTypes()[format] == "" {
			message := "The format is csv, parquet or ipynb."
			return apperr.InvalidFields(message, []apperr.Field{{Path: "format", Message: message}})
		}
		requested, err := h.views.inView(r.Context(), TableQuery{Where: v.Get("where"), Sort: v.Get("sort"), Columns: v.Get("columns"), View: v.Get("view")})
		if err != nil {
			return err
		}
		q := requested.index()
		if format == table.Notebook {
			return h.exportNotebook(w, r, q)
		}
		streaming := false
		err = h.Table.Export(r.Context(), q, format, func() io.Writer {
			streaming = true
			w.Header().Set("Content-Type", exportTypes()[format])
			w.Header().Set("Content-Disposition", `attachment; filename="executions.`+format+`"`)
			return w
		})
		if err != nil && streaming {
			h.Log.Warn("an export of executions ended early", "error", err)
			panic(http.ErrAbortHandler) // so that a part does not look complete
		}
		return err
	}))
}

// exportNotebook sends a notebook that reads the query. It checks the query first.
func (h *tableAPI) exportNotebook(w http.ResponseWriter, r *http.Request, q index.Query) error {
	q.Limit = 1
	if _, err := h.Table.Find(r.Context(), q); err != nil {
		return err
	}
	project := ""
	if subject, _ := auth.SubjectOf(r.Context()); request.Visiting(r.Context()) {
		project = subject.ProjectID.String()
	}
	content, err := table.NotebookOf(q, request.PublicURL(r, h.PublicURL), project)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="executions.ipynb"`)
	web.WriteJSON(w, http.StatusOK, exportTypes()[table.Notebook], content)
	return nil
}

// tableExport describes the export.
func (d describer) tableExport() {
	op := get("export-executions", "/executions/export", "Export executions and their column values as CSV, Parquet or a notebook", "Executions")
	format := param("query", "format", "csv, parquet or ipynb; defaults to csv")
	format.Schema.Enum = []any{table.CSV, table.Parquet, table.Notebook}
	op.Parameters = []*huma.Param{format}
	for field := range reflect.TypeFor[TableQuery]().Fields() {
		op.Parameters = append(op.Parameters, param("query", field.Tag.Get("query"), field.Tag.Get("doc")))
	}
	d.add(op, http.StatusOK, &huma.Response{Description: "All executions that match the query", Content: map[string]*huma.MediaType{
		"text/csv": {Schema: &huma.Schema{Type: huma.TypeString}}, exportTypes()[table.Parquet]: {Schema: binary()},
		exportTypes()[table.Notebook]: {Schema: &huma.Schema{Type: huma.TypeObject}},
	}})
}
