package sources

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Test002GRPC calls the services of §10.2 with the messages and fields of the document, as
// JSON over the same routes that gRPC clients use.
func Test002GRPC(t *testing.T) { //nolint:tparallel // the calls are about one execution, in order
	t.Parallel()
	project, tenant := shared.project(t, "grpc-002")
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", `{"project_id": "`+project+`", "name": "grpc", "dag_spec": `+waiting+`}`), http.StatusCreated)
	id := made["id"].(string)
	load := task(t, decode[object](t, shared.get(t, "/api/v1/workflows/"+id), http.StatusOK), "load")["id"].(string)
	call := func(t *testing.T, method, body string) object {
		t.Helper()
		return decode[object](t, shared.send(t, http.MethodPost, "/flowforge.v1.SchedulerService/"+method, body), http.StatusOK)
	}
	t.Run("GetQueueStatus", func(t *testing.T) {
		status := call(t, "GetQueueStatus", `{"tenant_id": "`+tenant+`"}`)
		for field, n := range status {
			require.Contains(t, []string{"pendingHigh", "pendingNormal", "pendingLow", "processing"}, field)
			require.IsType(t, json.Number(""), n)
		}
	})
	t.Run("ScheduleTask", func(t *testing.T) {
		require.NotNil(t, call(t, "ScheduleTask", `{"task_id": "`+load+`", "workflow_id": "`+id+`", "priority": 70, "resources": {"cpu": 100, "memory": 64, "gpu": 0}}`))
	})
	t.Run("CancelTask", func(t *testing.T) {
		require.Equal(t, object{"success": true}, call(t, "CancelTask", `{"task_id": "`+load+`"}`))
	})
}
