package catalogue

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/comparison/change"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// What the page of two versions shows.
const (
	filesOpen        = 3    // files whose lines are visible at first
	linesOpen        = 400  // lines of a file that is open at first
	linesShown       = 4000 // of one file
	filesListed      = 500
	linesOnPage      = 20_000 // of all files and properties
	operatorsInGraph = 2000   // nodes that a graph of two versions has at most
)

// versionDiff shows what changed between two versions of a workflow.
func (h *Pages) versionDiff(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	flow, err := h.Workflows.Get(ctx, request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	to := cmp.Or(q.Get("to"), flow.Latest)
	from := cmp.Or(q.Get("from"), earlierThan(flow, to))
	before, err := h.Workflows.Version(ctx, flow.ID.String(), from)
	if err != nil {
		return err
	}
	after, err := h.Workflows.Version(ctx, flow.ID.String(), to)
	if err != nil {
		return err
	}
	d, err := h.Packages.Diff(ctx, before, after)
	if err != nil {
		return err
	}
	ref := request.WorkflowRef(ctx, flow.Name, flow.ID)
	m := views.VersionDiff{
		Page: h.Page.Base(r, "Changes", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: views.WorkflowsURL()}, views.Crumb{Name: flow.Name, URL: views.WorkflowURL(ref)}),
		Name: flow.Name, URL: views.WorkflowURL(ref), Action: views.VersionDiffURL(ref, "", ""),
		From: before.Version, To: after.Version, SwapURL: views.VersionDiffURL(ref, after.Version, before.Version),
		Versions: versionChoices(flow, before.Version, after.Version), Notes: d.Notes,
	}
	m.Graph, m.Graphs = diffGraphs(before, after, d.Changes)
	for _, c := range d.Changes {
		if c.Breaks != "" {
			m.Breaks = append(m.Breaks, c.Breaks)
		}
	}
	diffContent(&m, d)
	return web.Render(w, r, http.StatusOK, views.VersionDiffPage(m))
}

// earlierThan is the release before a version, or the version itself if it is the first one.
func earlierThan(flow workflow.Workflow, version string) string {
	at := slices.IndexFunc(flow.Versions, func(v workflow.VersionHead) bool { return v.Version == version })
	for _, v := range flow.Versions[at+1:] {
		if !v.Development {
			return v.Version
		}
	}
	return version
}

// versionChoices are the releases and the two versions that are shown.
func versionChoices(flow workflow.Workflow, shown ...string) []string {
	var out []string
	for _, v := range flow.Versions {
		if !v.Development || slices.Contains(shown, v.Version) {
			out = append(out, v.Version)
		}
	}
	return out
}

// diffContent fills in the changes and files, as far as the page shows them.
func diffContent(m *views.VersionDiff, d source.Diff) {
	left := lineBudget{left: linesOnPage}
	m.Sections = diffSections(d.Changes, &left)
	for i, f := range d.Files[:min(len(d.Files), filesListed)] {
		m.Files = append(m.Files, diffFile(i, f, &left))
	}
	if len(d.Files) > filesListed {
		m.Notes = append(m.Notes, "Only the first "+units.Number(filesListed)+" of "+units.Plural(len(d.Files), "changed file", "changed files")+" are listed. The API and flowforge diff list all of them.")
	}
	if left.exceeded {
		m.Notes = append(m.Notes, "This page shows at most "+units.Number(linesOnPage)+" lines of changes. The API and flowforge diff show all of them.")
	}
}

// lineBudget bounds the lines of a page before they are highlighted.
type lineBudget struct {
	left     int
	exceeded bool
}

// take reports whether the lines of a patch fit.
func (b *lineBudget) take(p change.Patch) bool {
	lines := patchLines(p)
	if lines > b.left {
		b.exceeded = true
		return false
	}
	b.left -= lines
	return true
}

// patchLines counts the lines of a patch with their headers.
func patchLines(p change.Patch) int {
	lines := len(p.Hunks)
	for _, h := range p.Hunks {
		lines += len(h.Lines)
	}
	return lines
}

func diffSections(changes []change.Change, left *lineBudget) []views.DiffSection {
	titles := map[change.Section]string{change.Inputs: "Inputs", change.Outputs: "Outputs", change.Operators: "Operators", change.Settings: "Settings"}
	var out []views.DiffSection
	for _, section := range change.Sections() {
		s := views.DiffSection{ID: "h-diff-" + string(section), Title: titles[section]}
		for _, c := range changes {
			if c.Section == section {
				s.Rows = append(s.Rows, diffRow(c, left))
			}
		}
		if len(s.Rows) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func diffRow(c change.Change, left *lineBudget) views.DiffRow {
	row := views.DiffRow{Name: c.Name, State: kindState(c.Kind), Breaks: c.Breaks}
	for _, d := range c.Details {
		detail := views.DiffDetail{Path: d.Path, Before: ui.Short(d.Before, 1000), After: ui.Short(d.After, 1000)}
		switch {
		case d.Path == "code": // the files follow
			detail.After = lineCounts(*d.Patch)
		case d.Patch != nil && !left.take(*d.Patch):
			detail.Before, detail.After = "", lineCounts(*d.Patch)
		case d.Patch != nil:
			detail.Lines = source.PatchLines(codeName(d.Path), *d.Patch)
		}
		row.Details = append(row.Details, detail)
	}
	return row
}

func lineCounts(p change.Patch) string {
	return units.Plural(p.Added, "line", "lines") + " added, " + units.Number(int64(p.Removed)) + " removed"
}

// codeName is a name of a file that selects the highlighting of a property.
func codeName(path string) string {
	if path == "code.script" {
		return "script.sh"
	}
	return "code.py"
}

// kindState is a kind of change as a state with an icon and a colour.
func kindState(k change.Kind) string { return strings.ToUpper(string(k)) }

func diffFile(i int, f source.FileChange, left *lineBudget) views.DiffFile {
	out := views.DiffFile{
		ID: "file-" + strconv.Itoa(i+1), Name: f.Name, State: kindState(f.Kind), Note: f.Note,
		Added: "+" + units.Number(int64(f.Patch.Added)), Removed: "−" + units.Number(int64(f.Patch.Removed)),
	}
	switch {
	case patchLines(f.Patch) > linesShown:
		out.Note = "The change has more than " + units.Number(linesShown) + " lines. Download both packages to compare it."
	case !left.take(f.Patch):
		out.Note = "This page does not show more lines: " + lineCounts(f.Patch) + "."
	default:
		out.Lines = source.PatchLines(f.Name, f.Patch)
	}
	out.Open = i < filesOpen && len(out.Lines) <= linesOpen
	return out
}

// diffGraphs draws the operators of both versions: of the workflow itself, nil if none of them
// changed, and of each graph with changes. Together they have at most operatorsInGraph nodes.
func diffGraphs(before, after workflow.Version, changes []change.Change) (own *dagview.Picture, graphs []views.DiffGraph) {
	if !slices.ContainsFunc(changes, func(c change.Change) bool { return c.Section == change.Operators }) {
		return nil, nil
	}
	left := operatorsInGraph
	draw := func(id, title string, nodes []change.Node) *dagview.Picture {
		if len(nodes) == 0 || len(nodes) > left {
			return nil
		}
		left -= len(nodes)
		return diffGraph(id, title, nodes)
	}
	if max(len(before.Plan.Nodes), len(after.Plan.Nodes)) <= left {
		own = draw("diff", "Operators of "+before.Version+" and "+after.Version, change.Union(before, after, changes))
	}
	for i, name := range change.ChangedGraphs(changes) {
		picture := draw("diff-"+strconv.Itoa(i+1), "Operators of the graph "+name+" in "+before.Version+" and "+after.Version, change.GraphUnion(before, after, name, changes))
		if picture == nil {
			continue
		}
		state := kindState(change.Changed)
		if before.Plans[name] == nil {
			state = kindState(change.Added)
		} else if after.Plans[name] == nil {
			state = kindState(change.Removed)
		}
		graphs = append(graphs, views.DiffGraph{ID: "h-diff-graph-" + strconv.Itoa(i+1), Name: name, State: state, Picture: *picture})
	}
	return own, graphs
}

// diffGraph draws the operators of one graph.
func diffGraph(id, title string, nodes []change.Node) *dagview.Picture {
	deepest := -1
	for _, n := range nodes {
		if !n.Final {
			deepest = max(deepest, n.Level)
		}
	}
	items, names, states := make([]dagview.Item, len(nodes)), make([]string, len(nodes)), make([]dagview.NodeState, len(nodes))
	for i, n := range nodes {
		items[i] = dagview.Item{Name: n.Name, Level: n.Level, Dependencies: n.Dependencies, Final: n.Final}
		if n.Final {
			items[i].Level += deepest + 1
		}
		names[i], states[i] = n.Name, dagview.NodeState{State: kindState(n.Kind), Sub: cmp.Or(string(n.Kind), "same")}
	}
	painter := dagview.Painter{ID: id, Drawing: dagview.Layout(items, dagview.Right), Names: names, States: states, Selected: -1, Fit: true}
	picture := painter.Picture(title)
	return &picture
}
