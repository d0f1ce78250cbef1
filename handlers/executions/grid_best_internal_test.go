package executions

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/views"
)

// TestBestMarksOfALivePage: an execution that the page does not show yet is not compared.
func TestBestMarksOfALivePage(t *testing.T) {
	t.Parallel()
	set := rowSet{found: table.Page{Values: map[uuid.UUID][]any{}}}
	shown := map[uuid.UUID]bool{}
	for i, loss := range []float64{1, 2, 3} {
		id := uuid.Must(uuid.NewV7())
		set.found.Executions = append(set.found.Executions, query.Execution{ID: id})
		set.found.Values[id] = []any{loss}
		set.rows = append(set.rows, views.GridRow{ID: id.String(), Cells: make([]views.GridCell, 1)})
		shown[id] = i > 0
	}
	columns := []index.Column{{Path: "metrics.loss", Title: "loss", Part: search.Metrics, Type: "number"}}
	directions{sort: "metrics.loss"}.markBest(columns, set.only(shown))
	for i, best := range []bool{false, true, false} {
		require.Equal(t, best, set.rows[i].Cells[0].Best, "row %d", i)
	}
}
