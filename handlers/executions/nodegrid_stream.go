package executions

import (
	"context"
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// nodeGridStream sends the changed cells and heads of live executions, and the number of new ones.
func (h *nodeGrids) nodeGridStream(w http.ResponseWriter, r *http.Request) error {
	a, err := h.requestedGrid(r)
	if err != nil {
		return err
	}
	top, err := request.ParseID(r.URL.Query().Get("top"), "execution")
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	q, sent := r.URL.Query(), page.SentPieces{}
	q.Del("top")
	latest := label.ListURL(views.NodeGridURL(request.WorkflowRef(r.Context(), a.flow.Name, a.flow.ID)), q, "", "")
	h.Page.OnHints(r, stream, h.Executions.Watches.WatchAll(r.Context()), page.ListInterval, func(ctx context.Context) error {
		grid, err := h.Executions.NodeGrid(ctx, a.filter, a.first)
		if err != nil {
			return err
		}
		news := views.NewExecutions{URL: latest}
		runs, rows := gridOf(h.Now(), grid)
		var heads []views.GridRun
		live := make([]bool, len(runs))
		for i, run := range runs {
			if run.ID > top.String() {
				news.Count++
				continue
			}
			live[i] = changing(h.Now(), grid.Executions[len(runs)-1-i])
			if live[i] && sent.Changed("run-"+run.ID, [2]string{run.State, run.Took}) {
				heads = append(heads, run)
			}
		}
		var cells []views.NodeGridCell
		for _, row := range rows {
			for i, c := range row.Cells {
				if live[i] && c.ID != "" && sent.Changed(c.ID, c) {
					cells = append(cells, c)
				}
			}
		}
		if !sent.Changed("news", news.Count) && len(heads) == 0 && len(cells) == 0 {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.NodeGridUpdate(heads, cells, news))
	})
	return nil
}
