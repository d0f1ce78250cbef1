package handlers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
)

// launched is an execution of a workflow whose one node does nothing; the engine
// is not running, so its state does not change.
func (b *testBundle) launched(t *testing.T) uuid.UUID {
	t.Helper()
	b.register(t, matrixDocument("with.log"))
	e := b.admin.post(t, "/api/v1/executions", `{"workflow": "with.log"}`).object(t, http.StatusCreated)
	return uuid.MustParse(e["execution_id"].(string))
}

type logLines struct {
	Lines []struct {
		Cursor  string `json:"cursor"`
		Node    string `json:"node"`
		Level   string `json:"level"`
		Message string `json:"message"`
	} `json:"lines"`
	NextPage string `json:"next_page"`
	Partial  bool   `json:"partial"`
}

func (l logLines) messages() []string {
	var out []string
	for _, line := range l.Lines {
		out = append(out, line.Message)
	}
	return out
}

func numbered(node string, first, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s line %d", node, first+i))
	}
	return out
}

func TestLogsInPagesAndAsText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t)
	path := "/api/v1/executions/" + id.String() + "/logs"
	var page logLines
	b.member.get(t, path).into(t, http.StatusOK, &page)
	require.Empty(t, page.Lines)
	require.False(t, page.Partial)
	b.appendLog(t, id, "wait", 1, 25)

	var got []string
	for next := ""; ; {
		page = logLines{}
		b.member.get(t, path+"?limit=10&page="+url.QueryEscape(next)).into(t, http.StatusOK, &page)
		got = append(got, page.messages()...)
		if next = page.NextPage; next == "" {
			break
		}
	}
	require.Equal(t, numbered("wait", 1, 25), got)
	last := page.Lines[len(page.Lines)-1].Cursor
	b.appendLog(t, id, "wait", 26, 2)
	page = logLines{}
	b.member.get(t, path+"?page="+url.QueryEscape(last)).into(t, http.StatusOK, &page)
	require.Equal(t, numbered("wait", 26, 2), page.messages(), "later lines follow the last cursor")

	page = logLines{}
	b.member.get(t, path+"?level=error&q=LINE+2").into(t, http.StatusOK, &page)
	require.Equal(t, []string{"wait line 21", "wait line 23", "wait line 25", "wait line 27"}, page.messages())
	b.member.get(t, path+"?node=missing").into(t, http.StatusOK, &page)
	require.Empty(t, page.Lines)

	text := b.member.get(t, path+"?format=text")
	require.Equal(t, http.StatusOK, text.status)
	require.Equal(t, "text/plain; charset=utf-8", text.header.Get("Content-Type"))
	lines := strings.Split(strings.TrimSpace(text.body), "\n")
	require.Len(t, lines, 27)
	require.Regexp(t, `^\S+Z ERROR wait#1  wait line 1$`, lines[0])

	download := b.member.get(t, "/executions/"+id.String()+"/logs.txt")
	require.Equal(t, text.body, download.body)
	require.Regexp(t, `^attachment; filename="with\.log-[0-9a-f]+\.log"$`, download.header.Get("Content-Disposition"))
	for _, query := range []string{"page=broken", "limit=0", "limit=-1", "limit=x", "format=xml", "from=yesterday"} {
		b.member.get(t, path+"?"+query).problem(t, http.StatusUnprocessableEntity)
	}
}

// readEvents reads a stream of server-sent events until stop answers true.
func readEvents(t *testing.T, c *caller, path, lastID string, stop func(id, name, data string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if lastID != "" {
		c = c.with("Last-Event-ID", lastID)
	}
	res := c.open(ctx, t, http.MethodGet, path, "", nil)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	scanner := bufio.NewScanner(res.Body)
	scanner.Buffer(nil, 1<<20)
	id, name, data := "", "", ""
	for scanner.Scan() {
		field, value, _ := strings.Cut(scanner.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data += value
		case "":
			if data != "" && stop(id, name, data) {
				return
			}
			name, data = "", ""
		}
	}
	t.Fatalf("the stream ended: %v", scanner.Err())
}

// TestLogStreamResumes: history, then what comes; a reader who comes back with the
// last id misses nothing and sees nothing twice.
func TestLogStreamResumes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t)
	path := "/api/v1/executions/" + id.String() + "/logs/stream"
	b.appendLog(t, id, "wait", 1, 10)
	var got []string
	last := ""
	take := func(want int) func(string, string, string) bool {
		return func(id, _, data string) bool {
			var page logLines
			require.NoError(t, json.Unmarshal([]byte(`{"lines":`+data+`}`), &page))
			got, last = append(got, page.messages()...), id
			return len(got) >= want
		}
	}
	read := take(15)
	readEvents(t, b.member, path, "", func(id, name, data string) bool {
		if len(got) == 0 {
			b.appendLog(t, uuid.MustParse(strings.Split(path, "/")[4]), "wait", 11, 5)
		}
		return read(id, name, data)
	})
	b.appendLog(t, id, "wait", 16, 5)
	readEvents(t, b.member, path, last, take(20))
	require.Equal(t, numbered("wait", 1, 20), got)
}

// TestLogStreamEnds: once the execution has ended and its log is out.
func TestLogStreamEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t)
	b.appendLog(t, id, "wait", 1, 3)
	b.start(t)
	var seen []string
	readEvents(t, b.member, "/api/v1/executions/"+id.String()+"/logs/stream", "", func(_, name, _ string) bool {
		seen = append(seen, name)
		return name == "end"
	})
	require.Equal(t, "end", seen[len(seen)-1])
	require.Greater(t, len(seen), 1)
	e, err := b.executions.Get(b.ctx, id)
	require.NoError(t, err)
	require.True(t, ended(e))
	b.member.with("Last-Event-ID", "not a cursor").get(t, "/api/v1/executions/"+id.String()+"/logs/stream").problem(t, http.StatusUnprocessableEntity)
}

func TestMetricsOverTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t)
	path := "/api/v1/executions/" + id.String() + "/metrics"
	require.Empty(t, b.member.get(t, path).object(t, http.StatusOK)["series"])
	var points []telemetry.Point
	for step := range int64(2000) {
		points = append(points, telemetry.Point{
			TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: id, Node: "wait", Attempt: 1, Seq: step + 1,
			Name: "loss", Kind: telemetry.Gauge, Step: &step, Value: 1 / float64(step+1), Time: time.Now(), Tags: map[string]string{"split": "train"},
		})
	}
	for i, v := range []float64{math.Inf(1), math.NaN(), 3} {
		points = append(points, telemetry.Point{TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: id, Node: "wait", Attempt: 1, Seq: int64(i) + 1, Name: "images", Kind: telemetry.Counter, Value: v, Time: time.Now()})
	}
	require.NoError(t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), points))

	series := b.member.get(t, path+"?max_points=100").object(t, http.StatusOK)["series"].([]any)
	require.Len(t, series, 2)
	loss := b.member.get(t, path+"?name=loss&node=wait&max_points=100").object(t, http.StatusOK)["series"].([]any)[0].(map[string]any)
	require.Equal(t, "gauge", loss["type"])
	require.Equal(t, map[string]any{"split": "train"}, loss["tags"])
	curve := loss["points"].([]any)
	require.LessOrEqual(t, len(curve), 100)
	images := b.member.get(t, path+"?name=images").object(t, http.StatusOK)["series"].([]any)[0].(map[string]any)["points"].([]any)
	require.Equal(t, "+Inf", images[0].(map[string]any)["value"], "a number that JSON does not have is a word")
	require.Equal(t, "NaN", images[1].(map[string]any)["value"])
	require.Empty(t, b.member.get(t, path+"?name=accuracy").object(t, http.StatusOK)["series"])
	b.member.get(t, path+"?max_points=1").problem(t, http.StatusUnprocessableEntity)
}
