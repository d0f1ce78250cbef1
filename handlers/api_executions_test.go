package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
)

func TestLaunchOverTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.register(t, typedDocument)
	const exact = "123456789012345678901234567890"
	body := `{"workflow_id": "` + v.WorkflowID.String() + `", "version": "1.2.0", "name": "first", "priority": 80,
		"inputs": {"epochs": 7, "seed": ` + exact + `, "day": "2026-01-24", "extra": {"deep": [9007199254740993, 0.1]}}}`
	launched := b.member.post(t, "/api/v1/executions", body).object(t, http.StatusCreated)
	require.Equal(t, "PENDING", launched["status"])
	require.Equal(t, true, launched["created"])
	require.Equal(t, v.ID.String(), launched["dag_id"])
	id := launched["execution_id"].(string)
	require.Equal(t, "/executions/"+id, launched["ui_url"])

	answer := b.admin.get(t, "/api/v1/executions/"+id)
	e := answer.object(t, http.StatusOK)
	require.Equal(t, "first", e["name"])
	require.Equal(t, "mia", e["submitted_by"])
	require.Equal(t, "80", fmt.Sprint(e["priority"]))
	require.Equal(t, "typed.train", e["workflow_name"])
	inputs := e["inputs"].(map[string]any)
	require.Equal(t, exact, fmt.Sprint(inputs["seed"]), "numbers are not rounded")
	require.Equal(t, "9007199254740993", fmt.Sprint(inputs["extra"].(map[string]any)["deep"].([]any)[0]))
	require.Equal(t, "1", fmt.Sprint(e["progress"].(map[string]any)["total_operators"]))
	require.Equal(t, "train", e["nodes"].([]any)[0].(map[string]any)["operator"])
	require.Equal(t, "READY", e["nodes"].([]any)[0].(map[string]any)["status"])
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, typedDocument)
	const body = `{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}}`
	keyed := b.member.with("Idempotency-Key", "nightly")
	first := keyed.post(t, "/api/v1/executions", body).object(t, http.StatusCreated)
	again := keyed.post(t, "/api/v1/executions", body).object(t, http.StatusCreated)
	require.Equal(t, first["execution_id"], again["execution_id"])
	require.Equal(t, false, again["created"])
	same := b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}, "idempotency_key": "nightly"}`).object(t, http.StatusCreated)
	require.Equal(t, first["execution_id"], same["execution_id"], "the key may stand in the body")
	keyed.post(t, "/api/v1/executions", `{"workflow": "typed.train", "inputs": {"day": "2026-01-25"}}`).problem(t, http.StatusConflict)
	other := b.member.with("Idempotency-Key", "hourly").post(t, "/api/v1/executions", body).object(t, http.StatusCreated)
	require.NotEqual(t, first["execution_id"], other["execution_id"])
}

func TestWrongInputsAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, typedDocument)
	p := b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "inputs": {"epochs": "many", "seed": 1.5, "colour": "red"}}`).problem(t, http.StatusUnprocessableEntity)
	for _, path := range []string{"inputs.epochs", "inputs.seed", "inputs.colour", "inputs.day"} {
		require.NotEmpty(t, at(p, path), "%s is missing in %+v", path, p.Errors)
	}
	for body, path := range map[string]string{
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24", "epochs": 201}}`:                       "inputs.epochs",
		`{"workflow": "typed.train", "inputs": [1]}`:                                                        "inputs",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}, "priority": "URGENT"}`:                "priority",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}, "priority": 101}`:                     "priority",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}, "priority": [1]}`:                     "priority",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}, "unknown": 1}`:                        "unknown",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24", "extra": {"a": "\u0000"}}}`:            "body",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24", "epochs": 1e999999999}}`:               "body",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}`:                                       "body",
		`{"inputs": {"day": "2026-01-24"}}`:                                                                 "workflow",
		`{"workflow": "typed.train", "inputs": {"day": "2026-01-24"}, "name": "` + string(long(201)) + `"}`: "name",
	} {
		p := b.member.post(t, "/api/v1/executions", body).problem(t, http.StatusUnprocessableEntity)
		require.NotEmpty(t, at(p, path), "%s: %s is missing in %+v", body, path, p)
	}
	b.member.post(t, "/api/v1/executions", `{"workflow": "nowhere"}`).problem(t, http.StatusNotFound)
	b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "version": "7.0.0"}`).problem(t, http.StatusNotFound)
	page, err := b.executions.List(b.ctx, query.Filter{})
	require.NoError(t, err)
	require.Empty(t, page.Executions, "nothing was launched")
}

func long(n int) []byte { return slices.Repeat([]byte("x"), n) }

func TestExecutionsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("list.one"))
	b.register(t, matrixDocument("list.two"))
	var want []string // newest first
	for i := range 12 {
		caller := []*caller{b.admin, b.member}[i%2]
		body := fmt.Sprintf(`{"workflow": %q, "name": "run %d"}`, []string{"list.one", "list.two"}[i%3/2], i)
		want = append([]string{caller.post(t, "/api/v1/executions", body).object(t, http.StatusCreated)["execution_id"].(string)}, want...)
	}
	list := func(query string) []string {
		t.Helper()
		var got []string
		for page := ""; ; {
			var answer struct {
				Executions []struct {
					ID string `json:"execution_id"`
				} `json:"executions"`
				NextPage string `json:"next_page"`
			}
			b.admin.get(t, "/api/v1/executions?limit=5&"+query+"&page="+url.QueryEscape(page)).into(t, http.StatusOK, &answer)
			require.LessOrEqual(t, len(answer.Executions), 5)
			for _, e := range answer.Executions {
				got = append(got, e.ID)
			}
			if page = answer.NextPage; page == "" {
				return got
			}
		}
	}
	require.Equal(t, want, list(""))
	require.Len(t, list("workflow=list.one"), 8)
	require.Len(t, list("workflow=list.two"), 4)
	require.Len(t, list("user=mia"), 6)
	require.Equal(t, want[1:2], list("q=run+10"))
	require.Empty(t, list("workflow=unknown"))
	require.Empty(t, list("status=SUCCEEDED,failed"))
	require.Len(t, list("status=pending"), 12)
	require.Len(t, list("from="+url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339))), 12)
	require.Empty(t, list("to="+url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339))))
	b.member.post(t, "/api/v1/executions/"+want[0]+"/cancel", "").object(t, http.StatusOK)
	require.Subset(t, list("status=pending,cancelled,running"), want)
}

// TestAnExecutionToItsEnd runs the engine and cancels a waiting task. Nodes and events record
// this.
func TestAnExecutionToItsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t)
	b.register(t, "name: two.steps\nversion: 1.0.0\noperators:\n  - {name: first, type: noop}\n  - {name: second, type: command, code: {command: [sleep, '9']}, depends_on: [first]}\n  - {name: third, type: noop, depends_on: [second]}\n")
	id := b.member.post(t, "/api/v1/executions", `{"workflow": "two.steps"}`).object(t, http.StatusCreated)["execution_id"].(string)
	b.until(t, uuid.MustParse(id), func(e query.Execution) bool { return e.Counts.Running == 1 })

	e := b.admin.get(t, "/api/v1/executions/"+id).object(t, http.StatusOK)
	require.Equal(t, "RUNNING", e["status"])
	progress := e["progress"].(map[string]any)
	require.Equal(t, []string{"1", "1", "1"}, []string{fmt.Sprint(progress["completed"]), fmt.Sprint(progress["running"]), fmt.Sprint(progress["pending"])})
	require.Equal(t, []any{"second"}, progress["current_nodes"])

	cancelled := b.member.post(t, "/api/v1/executions/"+id+"/cancel", `{"reason": "changed my mind"}`).object(t, http.StatusOK)
	require.Equal(t, id, cancelled["execution_id"])
	b.until(t, uuid.MustParse(id), ended)
	again := b.member.post(t, "/api/v1/executions/"+id+"/cancel", `{"reason": "once more"}`).object(t, http.StatusOK)
	require.Equal(t, "CANCELLED", again["status"])

	type nodePage struct {
		Nodes []struct {
			NodeID   int    `json:"node_id"`
			Operator string `json:"operator"`
			Status   string `json:"status"`
		} `json:"nodes"`
		NextPage string `json:"next_page"`
	}
	var names []string
	for page := ""; ; {
		var answer nodePage
		b.member.get(t, "/api/v1/executions/"+id+"/nodes?limit=1&page="+url.QueryEscape(page)).into(t, http.StatusOK, &answer)
		for _, n := range answer.Nodes {
			names = append(names, n.Operator+" "+n.Status)
		}
		if page = answer.NextPage; page == "" {
			break
		}
	}
	require.Equal(t, []string{"first SUCCEEDED", "second CANCELLED", "third CANCELLED"}, names)
	var some nodePage
	b.member.get(t, "/api/v1/executions/"+id+"/nodes?status=succeeded").into(t, http.StatusOK, &some)
	require.Len(t, some.Nodes, 1)
	b.member.get(t, "/api/v1/executions/"+id+"/nodes?q=thi").into(t, http.StatusOK, &some)
	require.Equal(t, 2, some.Nodes[0].NodeID)

	var events struct {
		Events []struct {
			Sequence int64  `json:"sequence"`
			Node     string `json:"node"`
			Message  string `json:"message"`
		} `json:"events"`
	}
	b.member.get(t, "/api/v1/executions/"+id+"/events").into(t, http.StatusOK, &events)
	require.Contains(t, fmt.Sprint(events), "changed my mind")
	all := len(events.Events)
	b.member.get(t, fmt.Sprintf("/api/v1/executions/%s/events?after=%d&limit=2", id, events.Events[0].Sequence)).into(t, http.StatusOK, &events)
	require.Len(t, events.Events, 2)
	require.Greater(t, all, 4)
}
