package handlers_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views/viewtest"
)

const pagesDocument = `
name: pages.flow
version: 1.2.0
owner_team: vision
description: Something of everything
tags: [example]
inputs:
  - {name: epochs, type: "Integer(min=1)", default: 3, description: Rounds}
  - {name: note, type: "String(multiline=true)", default: "a\nb"}
outputs:
  - {name: model, type: Model, from: work.model}
operators:
  - {name: start, type: noop}
  - name: work
    type: shell
    depends_on: [start]
    inputs: [{name: epochs, type: Integer, from: inputs.epochs}]
    outputs: [{name: model, type: Model}]
    code: {script: "echo hi"}
    environment: {API_TOKEN: hidden, MODE: fast}
    resources: {cpu: 100m, memory: 32Mi}
    retry: {limit: 2}
  - {name: after, type: noop, depends_on: [work]}
`

// running is a site with an execution whose node "work" runs until it is stopped.
func running(t *testing.T) (*testBundle, query.Execution) {
	t.Helper()
	b := setup(t)
	b.register(t, pagesDocument)
	b.start(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "pages.flow", Inputs: map[string]any{}})
	require.NoError(t, err)
	e = b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 1 })
	b.appendLog(t, e.ID, "work", 0, 30)
	return b, e
}

func TestEveryPageOfALiveProject(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	table := b.publish(t, e, artifact.New{NodeIndex: 1, Node: "work", Name: "table", Type: "Table", Kind: "Table", MediaType: "text/csv", Filename: "table.csv"}, "a,b\n1,<script>alert(1)</script>\n")
	id, x := e.ID.String(), "/executions/"+e.ID.String()
	for path, expected := range map[string]string{
		"/":                                    "Live now",
		"/workflows":                           "Something of everything",
		"/workflows?q=nothing":                 "No workflows match",
		"/workflows/pages.flow":                "3 operators, 3 levels",
		"/workflows/pages.flow?tab=versions":   "1.2.0",
		"/workflows/pages.flow?tab=executions": id[30:],
		"/workflows/pages.flow?tab=source":     "name: pages.flow",
		"/workflows/pages.flow/versions/1.2.0": "Inputs",
		"/executions":                          "pages.flow",
		"/executions?state=live&user=me&workflow=pages.flow&period=7d&q=pages": "No execution matches",
		"/executions?state=FAILED": "No execution matches",
		x:                          "work line",
		x + "?node=work&x=time&scale=log&smooth=40": "Open the node",
		x + "?view=list":                                     "work",
		x + "?view=list&state=RUNNING&nodes=wor":             "work",
		x + "?view=list&from=1&to=1&stem=work":               "level 2",
		x + "/nodes/work":                                    "echo hi",
		x + "/nodes/after":                                   "depends on 1 node",
		x + "/events":                                        "work started",
		x + "/events?node=work&kind=ends":                    "work started",
		x + "/events?node=nothing":                           "No events",
		"/executions?state=waiting":                          "No execution matches",
		"/executions?state=approval":                         "No execution matches",
		x + "/logs":                                          "work line",
		x + "/logs?q=line+7&node=work&level=ERROR&attempt=1": "1 line",
		x + "/cancel":                                        "Cancel the execution",
		"/artifacts":                                         "table",
		"/artifacts?type=Table&workflow=pages.flow&execution=" + id: "table",
		"/artifacts?q=" + table.SHA256:                              "table",
		"/artifacts/" + table.ID.String():                           "&lt;script&gt;alert(1)",
		"/types":                                                    "HyperparameterSet",
		"/types/Integer":                                            "pages.flow",
		"/types/Union":                                              "Used by",
		"/search":                                                   "What are you looking for?",
		"/search?q=pages":                                           "pages.flow",
		"/search?q=" + id:                                           "pages.flow",
		"/dev/gallery":                                              "Gallery",
		"/dev/gallery/execution":                                    "digits.train",
	} {
		got := b.member.get(t, path)
		require.Equal(t, http.StatusOK, got.status, path)
		if !strings.Contains(got.body, expected) || strings.Contains(got.body, "<script>alert") {
			t.Errorf("%s does not say %q, or runs a script of a task", path, expected)
		}
		viewtest.Check(t, got.body)
	}
	require.NotContains(t, b.member.get(t, x+"/nodes/work").body, "hidden</code>", "a variable that looks like a secret is shown")
}

func TestPagesRefuseWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{
		"/workflows/none", "/executions/none", "/executions/01900000-0000-7000-8000-00000000ffff", "/artifacts/none",
		"/types/none", "/dev/gallery/none", "/executions/01900000-0000-7000-8000-00000000ffff/stream", "/nowhere",
	} {
		got := b.member.get(t, path)
		require.Equal(t, http.StatusNotFound, got.status, path)
		viewtest.Check(t, got.body)
	}
	require.Equal(t, http.StatusUnprocessableEntity, b.member.get(t, "/executions?state=nonsense").status)
}

// message is one server-sent event.
type message struct{ event, id, data string }

// events reads a stream until it ends.
func events(ctx context.Context, t *testing.T, c *caller, path string) <-chan message {
	t.Helper()
	res := c.open(ctx, t, http.MethodGet, path, "", nil)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	out := make(chan message, 100)
	go func() {
		defer close(out)
		defer res.Body.Close()
		var m message
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "":
				if m != (message{}) {
					out <- m
				}
				m = message{}
			case "event":
				m.event = value
			case "id":
				m.id = value
			case "data":
				m.data += value + "\n"
			}
		}
	}()
	return out
}

// untilMessage reads messages until one satisfies want.
func untilMessage(t *testing.T, messages <-chan message, what string, want func(message) bool) message {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				t.Fatalf("the stream ended before %s", what)
			}
			if want(m) {
				return m
			}
		case <-limit:
			t.Fatalf("no %s came", what)
		}
	}
}

func TestExecutionStreamSendsWhatChanged(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	x := "/executions/" + e.ID.String()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := events(ctx, t, b.member, x+"/stream?node=work")
	first := untilMessage(t, stream, "the lines so far", func(m message) bool { return strings.Contains(m.data, "work line 29") })
	require.NotEmpty(t, first.id, "a message with lines carries the position in the log")

	b.appendLog(t, e.ID, "work", 30, 1)
	next := untilMessage(t, stream, "a new line", func(m message) bool { return strings.Contains(m.data, "work line 30") })
	require.NotContains(t, next.data, "work line 29", "a line came twice")
	require.NotContains(t, next.data, `hx-target="#dag-n0"`, "a node that did not change was sent")

	got := b.admin.send(t, http.MethodPost, x+"/cancel", "application/x-www-form-urlencoded", url.Values{"reason": {"enough"}}.Encode())
	require.Equal(t, http.StatusSeeOther, got.status)
	untilMessage(t, stream, "the cancelled node", func(m message) bool {
		return strings.Contains(m.data, `id="dag-n1"`) && strings.Contains(m.data, `data-state="CANCELLED"`)
	})
	untilMessage(t, stream, "the end", func(m message) bool { return m.event == "end" })

	// A client that reconnects gets the lines after the last one that it received.
	again := events(ctx, t, b.member.with("Last-Event-ID", next.id), x+"/stream")
	for m := range again {
		require.NotContains(t, m.data, "work line", "a line came twice")
	}
}

func TestListsMoveByThemselves(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	list := events(ctx, t, b.member, "/executions/stream?top="+e.ID.String())
	home := events(ctx, t, b.member, "/home/stream")
	untilMessage(t, list, "the row", func(m message) bool { return strings.Contains(m.data, `id="x-`+e.ID.String()) })
	untilMessage(t, home, "the live part", func(m message) bool { return strings.Contains(m.data, "pages.flow") })

	_, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "pages.flow", Inputs: map[string]any{}})
	require.NoError(t, err)
	untilMessage(t, list, "the news", func(m message) bool { return strings.Contains(m.data, "1 new") })
	require.NoError(t, b.executions.Commands.Cancel(b.ctx, e.ID, "enough"))
	untilMessage(t, list, "the cancelled row", func(m message) bool { return strings.Contains(m.data, `data-state="CANCELLED"`) })
}

func TestLogDownload(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	path := "/executions/" + e.ID.String() + "/logs.txt"
	got := b.member.get(t, path+"?node=work&level=ERROR")
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.header.Get("Content-Disposition"), "attachment")
	require.Equal(t, 15, strings.Count(got.body, "work line"))
}

func TestBytesOfTasksAreNeverRun(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	html := "<script>alert(1)</script>"
	report := b.publish(t, e, artifact.New{Node: "work", Name: "report", Type: "Report", Kind: "Report", MediaType: "text/html", Filename: "r.html"}, html)
	svg := b.publish(t, e, artifact.New{Node: "work", Name: "pic", Type: "Image", Kind: "Image", MediaType: "image/svg+xml", Filename: "p.svg"}, "<svg onload='alert(1)'/>")
	base := "/artifacts/" + report.ID.String()

	frame := b.member.get(t, base+"/frame")
	require.Equal(t, http.StatusOK, frame.status)
	require.Contains(t, frame.header.Get("Content-Security-Policy"), "sandbox allow-scripts; default-src 'none';")
	require.NotContains(t, frame.header.Get("Content-Security-Policy"), "allow-same-origin", "its scripts have an origin of their own")
	require.Equal(t, html, frame.body)

	for _, path := range []string{base + "/download", base + "/download?inline=1", "/artifacts/" + svg.ID.String() + "/download?inline=1"} {
		got := b.member.get(t, path)
		require.Contains(t, got.header.Get("Content-Disposition"), "attachment", path)
		require.Contains(t, got.header.Get("Content-Security-Policy"), "sandbox", path)
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	}
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/artifacts/"+svg.ID.String()+"/frame").status)

	part := b.member.with("Range", "bytes=0-6").get(t, base+"/download")
	require.Equal(t, http.StatusPartialContent, part.status)
	require.Equal(t, "<script", part.body)
	tag := b.member.get(t, base+"/download").header.Get("ETag")
	require.Equal(t, http.StatusNotModified, b.member.with("If-None-Match", tag).get(t, base+"/download").status)
}

func TestPreferencesAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	send := func(path, body string) reply {
		return b.member.send(t, http.MethodPost, path, "application/x-www-form-urlencoded", body)
	}
	dark := send("/preferences/theme", "theme=dark&next=/executions")
	require.Equal(t, "/executions", dark.header.Get("Location"))
	require.Contains(t, dark.header.Get("Set-Cookie"), "theme=dark")
	require.Equal(t, "/", send("/preferences/keys", "keys=off&next=//evil.example").header.Get("Location"))
	require.Equal(t, http.StatusUnprocessableEntity, send("/preferences/theme", "theme=pink").status)

	cookies := b.member.header.Get("Cookie") + "; theme=dark; keys=off; zone=Asia%2FTokyo"
	page := b.member.with("Cookie", cookies).get(t, "/executions").body
	require.Contains(t, page, `data-theme="dark"`)
	require.Contains(t, page, `data-keys="off"`)
}

func TestALogIsWholeAfterTheEnd(t *testing.T) {
	t.Parallel()
	b, e := running(t)
	require.NoError(t, b.executions.Commands.Cancel(b.ctx, e.ID, "enough"))
	b.until(t, e.ID, ended)
	for _, path := range []string{"/logs/stream", "/stream"} {
		got := ""
		for m := range events(t.Context(), t, b.member, "/executions/"+e.ID.String()+path) {
			got += m.data + m.event
		}
		require.Contains(t, got, "work line 29", path)
		require.True(t, strings.HasSuffix(strings.TrimSpace(got), "end"), path)
	}
}
