package handlers_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestSQLOperator: the attempt of an sql operator gets its statement, its parameters as values, and the
// password as a grant; the pages show the query.
func TestSQLOperator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.admin.send(t, http.MethodPut, "/api/v1/connections/warehouse", "application/json",
		fmt.Sprintf(`{"kind": "postgres", "values": {"host": "db", "database": "d", "user": "u", "password": %q}}`, secretValue)).object(t, http.StatusOK)
	b.start(t)
	example, err := os.ReadFile("../examples/jobs/workflow.yaml")
	require.NoError(t, err)
	b.register(t, string(example))
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{
		Workflow: "sales.extract", Inputs: map[string]any{"warehouse": "warehouse", "since": "2026-01-01"},
	})
	require.NoError(t, err)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 1 })
	var spec *flowforgev1.AttemptSpec
	b.tasks.mu.Lock()
	for _, a := range b.tasks.running {
		if a.ExecutionId == e.ID.String() {
			spec = a
		}
	}
	b.tasks.mu.Unlock()
	require.NotNil(t, spec)
	want := &flowforgev1.Sql{Connection: "warehouse", ReadOnly: true, MaxRows: 100_000, MaxBytes: 1 << 30, TimeoutMs: 300_000,
		Query: "SELECT day, region, sum(amount)::numeric(18, 2) AS amount\nFROM sales\nWHERE day >= @since\nGROUP BY day, region\nORDER BY day, region\n"}
	require.True(t, proto.Equal(want, spec.GetSql()), "%v", spec.GetSql())
	require.Contains(t, spec.InputsJson, `"since":"2026-01-01"`)
	require.Contains(t, spec.InputsJson, `"$secret":"connection/warehouse/url"`)
	requireHidden(t, spec.InputsJson, secretValue)

	page := b.member.get(t, "/executions/"+e.ID.String()+"/nodes/extract").body
	require.Contains(t, page, "GROUP BY")
	require.NotContains(t, page, "This node has no code")
	requireHidden(t, page, secretValue)
}
