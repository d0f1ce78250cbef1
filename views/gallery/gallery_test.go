package gallery

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/views/viewtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pageBudget is the maximum size of a page in bytes.
const pageBudget = 150_000

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(templ.WithNonce(t.Context(), "nonce"), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryPageIsSound(t *testing.T) {
	t.Parallel()
	for _, e := range Entries() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			page := render(t, e.Component(views.Page{User: "Amara Okafor", Theme: "dark", Path: "/"}))
			if len(page) > pageBudget {
				t.Errorf("%d bytes, the budget is %d", len(page), pageBudget)
			}
			viewtest.Check(t, page)
		})
	}
}

func TestTextOfTasksIsNeverMarkup(t *testing.T) {
	t.Parallel()
	evil := `<script>alert(1)</script><img src=x onerror=alert(2)>`
	frame := views.Page{User: "x"}
	e := executionRunning(frame)
	e.Head.Title, e.Panel.ProgressTo = evil, evil
	e.Logs.Lines[0].Parts = []views.LogPart{{Text: evil}, {Text: evil, Class: "ansi-red"}, {Text: evil, Hit: true}}
	e.Inputs = append(e.Inputs, views.Value{Name: evil, Text: evil, Type: evil})
	a := artifactTable(frame)
	a.Preview.Table.Rows[0][0].Text, a.Preview.Table.Columns[0].Name, a.Preview.Table.Statistics[0].Min = evil, evil, evil
	for _, page := range []string{render(t, views.ExecutionPage(e)), render(t, views.ArtifactPage(a))} {
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") {
			t.Error("text became markup")
		}
	}
}

// TestGolden pins the HTML of the live parts, which pages, responses and streams share.
func TestGolden(t *testing.T) {
	t.Parallel()
	frame := views.Page{User: "Amara Okafor"}
	running := executionRunning(frame)
	panel := panel()
	pieces := map[string]templ.Component{
		"head":     views.ExecutionHeadBlock(running.Head),
		"node":     dagview.Node(running.Graph.Boxes[4]),
		"panel":    views.NodePanelBlock(panel),
		"log":      views.LogRow(running.Logs.Lines[4]),
		"row":      views.ExecutionTableRow(executionRows()[0]),
		"nodeRow":  views.NodeTableRow(executionList(frame).Nodes.Rows[4]),
		"timeline": ui.Timeline(timeline()),
		"quotaBars": views.QuotaUpdateBlock(views.QuotaUpdate{
			Figures: quotas(frame).Live.Figures, Cells: append(quotaRows()[2].Cells, quotaRows()[7].Cells...), Rows: quotaRows()[7:9],
		}),
		"quotaPreview": views.QuotaPreviewBlock(quotasProblems(frame).Edit.Preview),
		"teamQueue":    views.TeamQueueBlock(team(frame).Live.Queue),
		"update": views.ExecutionUpdateBlock(views.ExecutionUpdate{
			Head: &running.Head, Shapes: running.Graph.Boxes[4:5], Outputs: &running.Outputs, Lines: running.Logs.Lines[:1],
		}),
	}
	tags := regexp.MustCompile(`><`)
	for name, piece := range pieces {
		got := tags.ReplaceAllString(render(t, piece), ">\n<") + "\n"
		path := filepath.Join("testdata", name+".golden.html")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from its golden file; run the test with -update and review the difference", name)
		}
	}
}
