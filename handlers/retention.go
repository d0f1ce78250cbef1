package handlers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/execution"
	"github.com/flowforge/flowforge/retention"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

func (h *Handlers) retentionAPI(api huma.API) {
	operation(h, api, post("keep-execution", "/executions/{execution_id}/keep", "Keep an execution, whatever its time says", "Executions"), h.apiKeep(h.Retention.Keep))
	operation(h, api, deletion("release-execution", "/executions/{execution_id}/keep", "Keep an execution no longer than its time", "Executions"), h.apiRelease)
	operation(h, api, get("list-sweeps", "/sweeps", "What was removed, newest first", "Administration"), h.apiSweeps)
	operation(h, api, post("sweep", "/sweeps", "Remove now what nobody keeps, or only count it", "Administration"), h.apiSweep)
}

func (h *Handlers) apiKeep(do func(context.Context, uuid.UUID) error) func(context.Context, *ExecutionPath) (*body[executionBody], error) {
	return func(ctx context.Context, in *ExecutionPath) (*body[executionBody], error) {
		id, err := in.id()
		if err != nil {
			return nil, err
		}
		if err := do(ctx, id); err != nil {
			return nil, err
		}
		e, err := h.Executions.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return reply(toExecutionBody(e)), nil
	}
}

func (h *Handlers) apiRelease(ctx context.Context, in *ExecutionPath) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return nil, h.Retention.Release(ctx, id)
}

// sweepBody is one sweep, as it ended or stands.
type sweepBody struct {
	BeganAt      time.Time  `json:"began_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	DryRun       bool       `json:"dry_run" doc:"Nothing was removed, only counted"`
	Executions   int64      `json:"executions" doc:"Executions whose time was over"`
	Artifacts    int64      `json:"artifacts" doc:"Artifacts that went with them; a dry run does not count them"`
	ProjectBlobs int64      `json:"project_blobs" doc:"Blobs that projects kept and that nothing names"`
	ProjectBytes int64      `json:"project_bytes"`
	Blobs        int64      `json:"blobs" doc:"Blobs removed from the store"`
	Bytes        int64      `json:"bytes"`
	Partitions   int64      `json:"partitions" doc:"Tables of empty months"`
	Error        string     `json:"error,omitempty" doc:"What could not be done; the next sweep tries it again"`
}

func toSweepBody(r retention.Report) sweepBody {
	return sweepBody{
		BeganAt: r.BeganAt, EndedAt: r.EndedAt, DryRun: r.DryRun, Executions: r.Executions, Artifacts: r.Artifacts, ProjectBlobs: r.ProjectBlobs,
		ProjectBytes: r.ProjectBytes, Blobs: r.Blobs, Bytes: r.Bytes, Partitions: r.Partitions, Error: r.Error,
	}
}

type sweepsBody struct {
	Sweeps []sweepBody `json:"sweeps"`
}

type sweepInput struct {
	Body struct {
		DryRun bool `json:"dry_run" doc:"Only count what would be removed"`
	}
}

const sweepsShown = 50

func (h *Handlers) apiSweeps(ctx context.Context, _ *struct{}) (*body[sweepsBody], error) {
	reports, err := h.Retention.Sweeps(ctx, sweepsShown)
	if err != nil {
		return nil, err
	}
	out := sweepsBody{Sweeps: make([]sweepBody, len(reports))}
	for i, r := range reports {
		out.Sweeps[i] = toSweepBody(r)
	}
	return reply(out), nil
}

func (h *Handlers) apiSweep(ctx context.Context, in *sweepInput) (*body[sweepBody], error) {
	r, err := h.Retention.Sweep(ctx, in.Body.DryRun)
	if err != nil {
		return nil, err
	}
	return reply(toSweepBody(r)), nil
}

func (h *Handlers) keep(w http.ResponseWriter, r *http.Request) error {
	return h.keepBy(w, r, h.Retention.Keep)
}

func (h *Handlers) release(w http.ResponseWriter, r *http.Request) error {
	return h.keepBy(w, r, h.Retention.Release)
}

func (h *Handlers) keepBy(w http.ResponseWriter, r *http.Request, do func(context.Context, uuid.UUID) error) error {
	id, err := executionID(r)
	if err != nil {
		return err
	}
	if err := do(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, views.ExecutionURL(id.String()), http.StatusSeeOther) //nolint:gosec // a parsed id on this server
	return nil
}

// keeping is until when an execution stays, as its page says it.
func keeping(clock ui.Clock, e execution.Execution, may bool) views.Keeping {
	k := views.Keeping{By: e.KeptBy}
	if e.ExpiresAt != nil {
		k.Expires, k.Passed = new(clock.Moment(*e.ExpiresAt)), e.ExpiresAt.Before(clock.Now)
	}
	switch id := e.ID.String(); {
	case !may:
	case e.KeptAt != nil:
		k.FreeURL = views.ReleaseURL(id)
	case e.ExpiresAt != nil:
		k.KeepURL = views.KeepURL(id)
	}
	return k
}

// sweeps shows what was removed.
func (h *Handlers) sweeps(w http.ResponseWriter, r *http.Request) error {
	reports, err := h.Retention.Sweeps(r.Context(), sweepsShown)
	if err != nil {
		return err
	}
	clock := h.clock(r)
	page := views.SweepsPage{
		Page: h.basePage(r, "Storage", views.SectionAdmin), Tabs: h.adminTabs(r, views.SectionSweeps, false), Rule: h.Retention.RuleText(),
	}
	if r.URL.Query().Get("did") == "busy" {
		page.Notice = &views.AdminNotice{Kind: "info", Strong: "A sweep is under way.", Text: "Look again when it has ended."}
	}
	for _, report := range reports {
		row := sweepRow(clock, report)
		page.Rows = append(page.Rows, row)
		if !report.DryRun && page.Last == nil {
			page.Last = &row
		}
		if report.DryRun && page.Last == nil && page.Foresee == nil && report.EndedAt != nil {
			page.Foresee = &row
		}
	}
	return web.Render(w, r, http.StatusOK, views.SweepsView(page))
}

func sweepRow(clock ui.Clock, r retention.Report) views.Sweep {
	row := views.Sweep{
		Began: clock.Moment(r.BeganAt), Kind: "Sweep", Executions: ui.Number(r.Executions), Removes: ui.Plural(int(r.Executions), "execution", "executions"), Artifacts: ui.Number(r.Artifacts),
		Released: ui.Bytes(r.ProjectBytes), Freed: ui.Bytes(r.Bytes), Error: r.Error,
	}
	if r.DryRun {
		row.Kind, row.Artifacts = "Look ahead", "–"
	}
	if r.EndedAt != nil {
		row.Took = ui.Duration(r.EndedAt.Sub(r.BeganAt))
	}
	return row
}

// beginSweep looks what would go. Sweeps that remove come by themselves and by the API:
// a page that takes minutes to answer helps nobody.
func (h *Handlers) beginSweep(w http.ResponseWriter, r *http.Request) error {
	if r.PostFormValue("dry_run") != "1" {
		return apperr.New(apperr.Invalid, "Sweeps that remove come by themselves, or by %s.", "flowforge gc")
	}
	to := views.SweepsURL()
	_, err := h.Retention.Sweep(r.Context(), true)
	if apperr.Is(err, apperr.Conflict) {
		to, err = to+"?did=busy", nil
	}
	if err != nil {
		return fmt.Errorf("look ahead: %w", err)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// mayKeep reports whether the reader may keep executions of project.
func mayKeep(ctx context.Context, project uuid.UUID) bool {
	s, ok := auth.SubjectOf(ctx)
	return ok && s.May(auth.ExecutionLaunch, project)
}
