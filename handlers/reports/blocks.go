package reports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/report/document"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/executions"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/sweeps"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// content renders a text with its blocks.
func (h *Pages) content(r *http.Request, text string) (views.ReportContent, error) {
	d, err := document.Parse(text)
	if err != nil {
		return views.ReportContent{}, err //nolint:wrapcheck // it names its context
	}
	var m views.ReportContent
	n := 0
	for _, p := range d.Parts {
		if p.Block == nil {
			m.Parts = append(m.Parts, views.ReportPart{HTML: p.HTML})
			continue
		}
		block := h.block(r, n, *p.Block)
		m.Parts = append(m.Parts, views.ReportPart{Block: &block})
		n++
	}
	for _, p := range d.Problems {
		m.Problems = append(m.Problems, p.String())
	}
	return m, nil
}

// block reads the data of a block for the reader. If it cannot be read, the block shows the
// reason.
func (h *Pages) block(r *http.Request, n int, b document.Block) views.ReportBlock {
	m := views.ReportBlock{ID: fmt.Sprintf("block-%d", n+1), Key: key(b)}
	fill := map[document.Kind]func(*http.Request, document.Block, *views.ReportBlock) error{
		document.Table: h.table, document.Chart: h.chart, document.Artifact: h.artifact, document.Execution: h.execution, document.Sweep: h.sweep,
	}[b.Kind]
	if err := fill(r, b, &m); err != nil {
		m.Problem = h.problem(r, err)
	}
	m.Title = cmp.Or(b.Title, m.Title, label.SentenceCase(string(b.Kind)))
	return m
}

// problem describes why a block is empty.
func (h *Pages) problem(r *http.Request, err error) string {
	if apperr.CodeOf(err) == apperr.Internal && r.Context().Err() == nil {
		h.Log.Error("a block of a report cannot be read", "path", r.URL.Path, "error", err)
	}
	if fields := apperr.FieldsOf(err); len(fields) > 0 {
		return fields[0].Message
	}
	return apperr.MessageOf(err)
}

// key is the same for blocks with the same content.
func key(b document.Block) string {
	b.Line = 0
	raw, err := json.Marshal(b)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6])
}

func (h *Pages) artifact(r *http.Request, b document.Block, m *views.ReportBlock) error {
	id, err := uuid.Parse(b.ID)
	if err != nil {
		return apperr.New(apperr.NotFound, "There is no artifact %q. Use its full ID, or the address of its page.", b.ID)
	}
	a, err := h.Artifacts.Get(r.Context(), id)
	if err != nil {
		return err
	}
	shown := h.Files.Preview(r, a)
	m.Title, m.Artifact, m.URL, m.Open = a.Name, &shown, views.ArtifactURL(id.String()), "Open the artifact"
	m.Note = a.Kind + ", " + units.Bytes(a.Size)
	if a.ExecutionID != uuid.Nil {
		m.Note += ", from " + a.Node + " of " + label.ShortID(a.ExecutionID)
	}
	return nil
}

// figuresShown is the number of inputs and outputs of an execution that a block shows.
const figuresShown = 12

func (h *Pages) execution(r *http.Request, b document.Block, m *views.ReportBlock) error {
	ctx, clock := r.Context(), h.Page.Clock(r)
	ids, err := h.Comparison.Resolve(ctx, []string{b.ID})
	if err != nil {
		return err
	}
	e, err := h.Executions.Get(ctx, ids[0])
	if err != nil {
		return err
	}
	id := e.ID.String()
	m.Title, m.URL, m.Open = label.ExecutionTitle(e)+" "+label.ShortID(e.ID), views.ExecutionURL(id), "Open the execution"
	m.Execution = &views.ReportExecution{
		State: string(e.Status), Name: label.ExecutionTitle(e), URL: m.URL, Summary: label.ExecutionSummary(e),
		Facts: facts(ctx, clock, e), Inputs: executions.Figures(e.Inputs, figuresShown), Outputs: executions.Figures(e.Outputs, figuresShown),
	}
	return nil
}

func facts(ctx context.Context, clock ui.Clock, e query.Execution) []ui.Fact {
	started, ref := clock.Moment(e.CreatedAt), request.WorkflowRef(ctx, e.WorkflowName, e.WorkflowID)
	list := []ui.Fact{
		{Name: "Workflow", Value: e.WorkflowName + " " + e.Version, URL: views.WorkflowURL(ref)},
		{Name: "Launched by", Value: e.SubmittedBy.Name}, {Name: "Launched", Moment: &started},
	}
	took := ui.Fact{Name: "Duration", Value: units.Duration(label.TookSoFar(clock.Now, e))}
	if !e.Status.Ended() && e.StartedAt != nil {
		took.Since = e.StartedAt.Format("2006-01-02T15:04:05Z07:00")
		took.Value = ""
	}
	return append(list, took)
}

func (h *Pages) sweep(r *http.Request, b document.Block, m *views.ReportBlock) error {
	id, err := uuid.Parse(b.ID)
	if err != nil {
		return apperr.New(apperr.NotFound, "There is no sweep %q. Use its full ID, or the address of its page.", b.ID)
	}
	s, err := h.Sweeps.Get(r.Context(), id)
	if err != nil {
		return err
	}
	head := sweeps.Head(r.Context(), h.Page.Clock(r), s)
	m.Title, m.Sweep, m.URL, m.Open = strings.TrimSpace(s.Name), &head, views.SweepURL(id.String()), "Open the sweep"
	return nil
}
