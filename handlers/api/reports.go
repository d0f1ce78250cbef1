package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web/contract"
)

// ReportPath names a report.
type ReportPath struct {
	Report string `path:"report" doc:"Report ID, or the title of a report in the project" maxLength:"200"`
}

// ReportRevisionPath names a revision of a report.
type ReportRevisionPath struct {
	ReportPath
	Revision int `path:"revision" doc:"Revision number" minimum:"1"`
}

// reportAPI serves reports and their revisions.
type reportAPI struct {
	Reports *report.Service
}

func (h *reportAPI) mount(api *operations) {
	operation(api, get("list-reports", "/reports", "List reports, most recently changed first", "Reports"), h.apiReports)
	create := post("create-report", "/reports", "Create a report", "Reports")
	create.DefaultStatus = http.StatusCreated
	operation(api, create, h.apiCreateReport)
	operation(api, get("get-report", "/reports/{report}", "Get the latest revision of a report", "Reports"), h.apiReport)
	change := post("change-report", "/reports/{report}", "Save a new revision of a report", "Reports")
	change.Method = http.MethodPatch
	operation(api, change, h.apiChangeReport)
	operation(api, huma.Operation{
		OperationID: "delete-report", Method: http.MethodDelete, Path: "/reports/{report}", Tags: []string{"Reports"},
		Summary: "Delete a report and its history", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteReport)
	operation(api, get("list-report-revisions", "/reports/{report}/revisions", "List the revisions of a report, newest first", "Reports"), h.apiReportRevisions)
	operation(api, get("get-report-revision", "/reports/{report}/revisions/{revision}", "Get a revision of a report", "Reports"), h.apiReportRevision)
	operation(api, post("restore-report-revision", "/reports/{report}/revisions/{revision}/restore", "Save an earlier revision as the latest one", "Reports"), h.apiRestoreReport)
}

func (h *reportAPI) apiReports(ctx context.Context, in *struct {
	Query string `query:"q" doc:"Text to find in the title or the text" maxLength:"200"`
	After string `query:"after" doc:"Cursor: next from the previous response" maxLength:"200"`
	Limit int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}) (*body[contract.ReportList], error) {
	found, err := h.Reports.List(ctx, report.Filter{Query: in.Query, After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := contract.ReportList{Reports: make([]contract.ReportRow, 0, len(found.Reports)), Next: found.Next}
	for _, r := range found.Reports {
		out.Reports = append(out.Reports, toReportRow(r))
	}
	return reply(out), nil
}

func (h *reportAPI) apiReport(ctx context.Context, in *ReportPath) (*body[contract.ReportBody], error) {
	return reported(h.Reports.Get(ctx, in.Report))
}

func (h *reportAPI) apiCreateReport(ctx context.Context, in *struct{ Body contract.ReportInput }) (*body[contract.ReportBody], error) {
	return reported(h.Reports.Create(ctx, report.Edit{Title: &in.Body.Title, Text: &in.Body.Text, Note: in.Body.Note}))
}

func (h *reportAPI) apiChangeReport(ctx context.Context, in *struct {
	ReportPath
	Body contract.ReportChange
}) (*body[contract.ReportBody], error) {
	b := in.Body
	return reported(h.Reports.Change(ctx, in.Report, report.Edit{Title: b.Title, Text: b.Text, Note: b.Note, Based: b.Revision}))
}

func (h *reportAPI) apiDeleteReport(ctx context.Context, in *ReportPath) (*struct{}, error) {
	return nil, h.Reports.Delete(ctx, in.Report)
}

func (h *reportAPI) apiRestoreReport(ctx context.Context, in *struct {
	ReportRevisionPath
	Body *contract.ReportRestore
}) (*body[contract.ReportBody], error) {
	based := 0
	if in.Body != nil {
		based = in.Body.Revision
	}
	return reported(h.Reports.Restore(ctx, in.Report, in.Revision, based))
}

func (h *reportAPI) apiReportRevisions(ctx context.Context, in *struct {
	ReportPath
	Before int `query:"before" doc:"Cursor: next from the previous response" minimum:"1"`
	Limit  int `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}) (*body[contract.ReportHistory], error) {
	one, err := h.Reports.Get(ctx, in.Report)
	if err != nil {
		return nil, err
	}
	list, err := h.Reports.Revisions(ctx, one.ID.String(), in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.ReportHistory{Revisions: make([]contract.ReportRevision, 0, len(list))}
	for _, v := range list {
		out.Revisions = append(out.Revisions, toReportRevision(one.ID.String(), v))
	}
	if n := len(list); n == in.Limit && list[n-1].Number > 1 {
		out.Next = list[n-1].Number
	}
	return reply(out), nil
}

func (h *reportAPI) apiReportRevision(ctx context.Context, in *ReportRevisionPath) (*body[contract.ReportRevisionBody], error) {
	one, err := h.Reports.Get(ctx, in.Report)
	if err != nil {
		return nil, err
	}
	v, err := h.Reports.Revision(ctx, one.ID.String(), in.Revision)
	if err != nil {
		return nil, err
	}
	return reply(contract.ReportRevisionBody{ReportRevision: toReportRevision(one.ID.String(), v), Text: v.Text}), nil
}

func reported(r report.Report, err error) (*body[contract.ReportBody], error) {
	if err != nil {
		return nil, err
	}
	return reply(contract.ReportBody{ReportRow: toReportRow(r.Row), Text: r.Text}), nil
}

func toReportRow(r report.Row) contract.ReportRow {
	return contract.ReportRow{
		ID: r.ID, Title: r.Title, Revision: r.Revision, CreatedBy: r.Owner, CreatedAt: r.CreatedAt, UpdatedBy: r.UpdatedBy, UpdatedAt: r.UpdatedAt, URL: views.ReportURL(r.ID.String()),
	}
}

func toReportRevision(id string, v report.Revision) contract.ReportRevision {
	return contract.ReportRevision{
		Revision: v.Number, Title: v.Title, Note: v.Note, RestoredFrom: v.RestoredFrom, CreatedBy: v.Author, CreatedAt: v.CreatedAt, Bytes: v.Size, URL: views.ReportRevisionURL(id, v.Number),
	}
}
