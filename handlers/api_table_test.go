package handlers_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers"
)

// setupTable is setup with an index in ClickHouse.
func setupTable(t *testing.T) *testBundle {
	t.Helper()
	b := setup(t)
	address := os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if address == "" {
		t.Fatal("there is no ClickHouse for tests: run `make services` and use the exports that it prints")
	}
	database := fmt.Sprintf("h%d_%d", os.Getpid(), time.Now().UnixNano())
	store, err := telemetry.New(telemetry.Config{ClickHouseURL: address, Database: database, SpoolDir: t.TempDir(), Now: time.Now})
	require.NoError(t, err)
	running, stop := context.WithCancel(auth.AsSystem(context.Background()))
	done := make(chan error, 1)
	go func() { done <- store.Run(running) }()
	require.Eventually(t, func() bool { _, err := store.Conn(); return err == nil }, 30*time.Second, time.Millisecond)
	b.deps.Index = index.New(index.Config{Pool: b.pool, Conn: store.Conn, Now: time.Now})
	b.deps.Views = view.NewService(b.pool, b.deps.Index, time.Now)
	b.deps.Telemetry, b.telemetry = store, store
	b.server = httptest.NewServer(handlers.New(b.deps))
	t.Cleanup(func() {
		b.server.Close()
		if conn, err := store.Conn(); err == nil {
			_ = conn.Exec(context.Background(), "DROP DATABASE IF EXISTS "+database)
		}
		stop()
		require.NoError(t, <-done)
		require.NoError(t, store.Close())
	})
	b.nobody.server, b.admin.server, b.member.server = b.server.URL, b.server.URL, b.server.URL
	return b
}

func (b *testBundle) launchTyped(t *testing.T, epochs int) string {
	t.Helper()
	body := fmt.Sprintf(`{"workflow": "typed.train", "name": "run %d", "inputs": {"epochs": %d, "day": "2026-01-24"}}`, epochs, epochs)
	return b.member.post(t, "/api/v1/executions", body).object(t, http.StatusCreated)["execution_id"].(string)
}

func idsOf(page map[string]any) []string {
	var ids []string
	for _, e := range page["executions"].([]any) {
		ids = append(ids, e.(map[string]any)["execution_id"].(string))
	}
	return ids
}

func TestExecutionsBySearchOverTheAPI(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two, three := b.launchTyped(t, 1), b.launchTyped(t, 2), b.launchTyped(t, 3)
	list := func(query string) map[string]any {
		t.Helper()
		return b.member.get(t, "/api/v1/executions?"+query).object(t, http.StatusOK)
	}
	found := list("where=" + url.QueryEscape("epochs >= 2") + "&sort=epochs&columns=inputs.epochs,state,created")
	require.Equal(t, []string{two, three}, idsOf(found))
	require.Equal(t, "2", fmt.Sprint(found["total"]))
	require.Equal(t, "map[path:inputs.epochs type:number]", fmt.Sprint(found["columns"].([]any)[0]))
	values := found["executions"].([]any)[0].(map[string]any)["values"].(map[string]any)
	require.Equal(t, "2 PENDING", fmt.Sprint(values["inputs.epochs"], " ", values["state"]))

	first := list("sort=-epochs&limit=2")
	require.Equal(t, []string{three, two}, idsOf(first))
	rest := list("sort=-epochs&limit=2&cursor=" + first["next_page"].(string))
	require.Equal(t, []string{one}, idsOf(rest))
	require.Nil(t, rest["next_page"])
	require.Equal(t, []string{two}, idsOf(list("where="+url.QueryEscape(`name = "run 2"`)+"&status=PENDING&user=mia&workflow=typed.train&q=typed&from=2020-01-01T00:00:00Z")))

	labels := b.member.post(t, "/api/v1/executions/"+one+"/labels", `{"add": ["baseline", " x "], "note": "the first"}`).object(t, http.StatusOK)
	require.Equal(t, "[baseline x] the first", fmt.Sprint(labels["tags"], " ", labels["note"]))
	require.Equal(t, []string{one}, idsOf(list("where=tag:baseline")))
	require.Equal(t, "the first", b.member.get(t, "/api/v1/executions/"+one).object(t, http.StatusOK)["note"])

	body := `{"workflow": "typed.train", "tags": [" first ", "first", "b"], "note": "at launch", "idempotency_key": "labelled", "inputs": {"epochs": 4, "day": "2026-01-24"}}`
	four := b.member.post(t, "/api/v1/executions", body).object(t, http.StatusCreated)["execution_id"].(string)
	require.Equal(t, four, b.member.post(t, "/api/v1/executions", body).object(t, http.StatusCreated)["execution_id"])
	require.Equal(t, []string{four}, idsOf(list("where="+url.QueryEscape(`tag:first and tag:b and note ~ "at launch"`))))
	refused := b.member.post(t, "/api/v1/executions", `{"workflow": "typed.train", "tags": ["a", " "], "inputs": {"epochs": 5, "day": "2026-01-24"}}`).problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "A tag must be a single line of text.", at(refused, "tags"))
	require.Empty(t, idsOf(list("where="+url.QueryEscape("epochs = 5"))), "nothing was launched")

	p := b.member.get(t, "/api/v1/executions?where="+url.QueryEscape("epoch > 1")).problem(t, http.StatusUnprocessableEntity)
	require.Contains(t, at(p, "where"), "Did you mean epochs?")
	b.member.get(t, "/api/v1/executions?sort=nothing").problem(t, http.StatusUnprocessableEntity)
	fields := b.member.get(t, "/api/v1/executions/fields").object(t, http.StatusOK)
	require.Contains(t, fmt.Sprint(fields["fields"]), "map[path:inputs.epochs type:number]")
}

func TestSearchesSayThatTheIndexIsBehind(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	require.NotContains(t, b.member.get(t, "/executions?where=state:live").body, "behind")
	_, err := b.pool.Exec(b.ctx, `INSERT INTO execution_changes (execution_id, project_id, created_at)
		SELECT gen_random_uuid(), $1, now() FROM generate_series(1, 1800)`, auth.LocalProject)
	require.NoError(t, err)
	page := b.member.get(t, "/api/v1/executions?where=state:live").object(t, http.StatusOK)
	require.Equal(t, "1300", fmt.Sprint(page["behind"]))
	require.Contains(t, b.member.get(t, "/executions?where=state:live").body, "behind: their latest values cannot be searched yet.")
}

func TestTablesAreExported(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two := b.launchTyped(t, 1), b.launchTyped(t, 2)
	const query = "/api/v1/executions/export?columns=inputs.epochs,name,created,finished,tags&sort=epochs&format="
	rows, err := csv.NewReader(strings.NewReader(b.member.get(t, query+"csv").body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, []string{"execution_id", "inputs.epochs", "name", "created", "finished", "tags"}, rows[0])
	require.Equal(t, []string{one, "1", "run 1"}, rows[1][:3])
	require.Equal(t, two, rows[2][0])

	type record struct {
		ID       string   `parquet:"execution_id"`
		Epochs   *float64 `parquet:"inputs.epochs,optional"`
		Name     *string  `parquet:"name,optional"`
		Created  *int64   `parquet:"created,optional,timestamp(microsecond)"`
		Finished *int64   `parquet:"finished,optional,timestamp(microsecond)"`
		Tags     *string  `parquet:"tags,optional"`
	}
	raw := b.member.get(t, query+"parquet").body
	records, err := parquet.Read[record](strings.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.Equal(t, one, records[0].ID)
	require.InDelta(t, 1, *records[0].Epochs, 0)
	require.Equal(t, "run 1", *records[0].Name)
	require.WithinDuration(t, time.Now(), time.UnixMicro(*records[0].Created), time.Hour)
	require.Nil(t, records[0].Finished)
	require.Nil(t, records[0].Tags)
	b.member.get(t, query+"xls").problem(t, http.StatusUnprocessableEntity)

	notebook := b.member.get(t, query+"ipynb")
	var found struct {
		Cells []struct{ Source string }
		Minor int `json:"nbformat_minor"`
	}
	require.NoError(t, json.Unmarshal([]byte(notebook.body), &found))
	require.Equal(t, 5, found.Minor)
	require.Contains(t, found.Cells[2].Source, "flowforge.executions(")
	b.member.get(t, "/api/v1/executions/export?format=ipynb&where=lr+%3E").problem(t, http.StatusUnprocessableEntity)
}

func TestCommandsForManyExecutions(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two := b.launchTyped(t, 1), b.launchTyped(t, 2)
	const absent = "00000000-0000-0000-0000-000000000001"
	bulk := func(c *caller, body string) []any {
		t.Helper()
		return c.post(t, "/api/v1/executions/bulk", body).object(t, http.StatusOK)["outcomes"].([]any)
	}
	ids := fmt.Sprintf(`"execution_ids": ["%s", "%s", "%s"]`, one, two, absent)
	dry := bulk(b.member, `{"action": "cancel", "dry_run": true, `+ids+`}`)
	require.Len(t, dry, 3)
	require.Equal(t, "true 0 running and 1 waiting nodes.", fmt.Sprint(dry[0].(map[string]any)["done"], " ", dry[0].(map[string]any)["message"]))
	require.Equal(t, "false There is no such execution.", fmt.Sprint(dry[2].(map[string]any)["done"], " ", dry[2].(map[string]any)["message"]))
	require.Nil(t, b.cancelRequestedAt(t, one), "a preview changes nothing")

	bulk(b.member, `{"action": "tag", "add": ["sweep"], `+ids+`}`)
	require.Len(t, idsOf(b.member.get(t, "/api/v1/executions?where=tag:sweep").object(t, http.StatusOK)), 2)
	other := b.signIn(t, b.person(t, "otto", auth.ProjectDev, auth.LocalProject))
	viewer := b.signIn(t, b.person(t, "vera", auth.Viewer, auth.LocalProject))
	for _, action := range []string{`"cancel"`, `"tag", "add": ["x"]`} {
		for _, dry := range []string{"true", "false"} {
			for _, o := range bulk(viewer, `{"action": `+action+`, "dry_run": `+dry+`, `+ids+`}`) {
				require.Equal(t, false, o.(map[string]any)["done"], "%s, dry run %s: %v", action, dry, o)
			}
		}
	}
	long := bulk(b.member, `{"action": "tag", "add": ["`+strings.Repeat("x", 65)+`"], "dry_run": true, `+ids+`}`)
	require.Equal(t, "false A tag can have at most 64 characters.", fmt.Sprint(long[0].(map[string]any)["done"], " ", long[0].(map[string]any)["message"]))
	require.Equal(t, false, bulk(other, `{"action": "cancel", "dry_run": true, `+ids+`}`)[0].(map[string]any)["done"], "of another person")
	refused := bulk(other, `{"action": "cancel", `+ids+`}`)
	require.Equal(t, false, refused[0].(map[string]any)["done"], "of another person")
	done := bulk(b.member, `{"action": "cancel", `+ids+`}`)
	require.Equal(t, true, done[0].(map[string]any)["done"])
	require.NotNil(t, b.cancelRequestedAt(t, one))
	require.NotNil(t, b.cancelRequestedAt(t, two))
}

func (b *testBundle) cancelRequestedAt(t *testing.T, id string) *time.Time {
	t.Helper()
	var at *time.Time
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT cancel_requested_at FROM executions WHERE id = $1", id).Scan(&at))
	return at
}

// TestAnObjectiveThatNoRunReported: the form of a sweep warns about a misspelled metric.
func TestAnObjectiveThatNoRunReported(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, `{name: swept, version: 1.0.0, inputs: [{name: x, type: Integer, default: 1}], operators: [{name: go, type: noop}]}`)
	form := func(objective string) string {
		t.Helper()
		sent := url.Values{"sweep.on.x": {"1"}, "sweep.kind.x": {"values"}, "sweep.values.x": {"1, 2"}, "sweep.method": {"grid"}, "sweep.objective_kind": {"metric"}, "sweep.objective": {objective}, "sweep.goal": {"max"}, "sweep.value": {"best"}, "$panel": {"1"}}
		return b.member.send(t, http.MethodPost, "/workflows/swept/sweep", "application/x-www-form-urlencoded", sent.Encode()).body
	}
	require.NotContains(t, form("acuracy"), "has reported", "no run has reported anything")
	id := b.member.post(t, "/api/v1/executions", `{"workflow": "swept"}`).object(t, http.StatusCreated)["execution_id"].(string)
	e, err := b.executions.Get(b.ctx, uuid.MustParse(id))
	require.NoError(t, err)
	require.NoError(t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), []telemetry.Point{{
		TenantID: e.TenantID, ProjectID: e.ProjectID, ExecutionID: e.ID, Node: "go", Attempt: 1, Seq: 1, Name: "accuracy", Kind: telemetry.Gauge, Step: new(int64), Value: 0.5, Time: time.Now(),
	}}))
	require.Eventually(t, func() bool {
		if err := b.deps.Index.Note(b.ctx, []uuid.UUID{e.ID}); err != nil {
			return false
		}
		fields, err := b.deps.Index.FreshFields(auth.WithSubject(b.ctx, auth.Local()))
		if err != nil {
			return false
		}
		return slices.ContainsFunc(fields.Names.Fields(), func(f search.Field) bool { return f.Path() == "metrics.accuracy" })
	}, 30*time.Second, 20*time.Millisecond)
	wrong := form("acuracy")
	require.Contains(t, wrong, "No run of swept has reported “acuracy”.")
	require.Contains(t, wrong, "Did you mean accuracy?")
	require.NotContains(t, form("accuracy"), "has reported")
}
