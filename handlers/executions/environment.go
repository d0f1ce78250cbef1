package executions

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// buildLines limits the output of a failed build on the page of a node.
const buildLines = 40

// environmentFields are the fields that the runner adds to log lines about an environment.
type environmentFields struct {
	ID        string   `json:"environment"`
	State     string   `json:"environment_state"`
	Python    string   `json:"python"`
	Installer string   `json:"installer"`
	Packages  []string `json:"packages"`
	BuildMs   int64    `json:"build_ms"`
}

// environment describes the Python environment of the node's last attempt.
func (x *nodeView) environment(ctx context.Context) views.PythonEnvironment {
	op := x.node.Operator
	if op == nil || len(op.Code.Requirements) == 0 {
		return views.PythonEnvironment{}
	}
	m := views.PythonEnvironment{Requirements: op.Code.Requirements}
	page, err := x.h.Telemetry.Logs(ctx, x.environmentLines(`"environment":`, 1))
	if err != nil {
		x.h.Log.Warn("the environment cannot be read", "execution", x.ID, "error", err)
		m.Note = "The log store is not responding. The environment is shown when it is back."
		return m
	}
	var f environmentFields
	if len(page.Lines) == 0 || json.Unmarshal(page.Lines[0].Fields, &f) != nil {
		m.Note = "No attempt of this node has used its environment yet."
		return m
	}
	m.State = f.State
	m.Facts = append(m.Facts, ui.Fact{Name: "ID", Value: f.ID, Mono: true})
	if f.Python != "" {
		m.Facts = append(m.Facts, ui.Fact{Name: "Python", Value: f.Python})
	}
	if f.Installer != "" {
		m.Facts = append(m.Facts, ui.Fact{Name: "Installed by", Value: f.Installer})
	}
	if f.BuildMs > 0 {
		m.Facts = append(m.Facts, ui.Fact{Name: "Build took", Value: units.Duration(time.Duration(f.BuildMs) * time.Millisecond)})
	}
	m.Packages, m.UsesURL = f.Packages, views.EnvironmentUsesURL(f.ID)
	switch {
	case f.State == "failed":
		m.Output = x.buildOutput(ctx, f.ID)
	case f.State == "" && x.node.State == dag.Running:
		m.State = "building"
	}
	return m
}

// environmentLines selects the last lines of the runner whose fields contain text.
func (x *nodeView) environmentLines(text string, limit int) telemetry.LogQuery {
	return telemetry.LogQuery{
		ExecutionID: x.ID, Nodes: []string{x.node.Name}, Streams: []string{"system"}, Text: text, Last: true, Limit: limit,
	}
}

// buildOutput returns the last lines of the installer.
func (x *nodeView) buildOutput(ctx context.Context, id string) string {
	page, err := x.h.Telemetry.Logs(ctx, x.environmentLines(`"environment":"`+id+`"`, buildLines))
	if err != nil {
		return ""
	}
	lines := slices.DeleteFunc(page.Lines, func(l telemetry.LogLine) bool {
		var f environmentFields
		return json.Unmarshal(l.Fields, &f) != nil || f.State != ""
	})
	var text []string
	for _, l := range lines {
		text = append(text, l.Message)
	}
	return strings.Join(text, "\n")
}
