package catalogue

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// gitText is the commit of a version for pages.
func gitText(g workflow.Git) views.Commit {
	return views.Commit{Hash: fmt.Sprintf("%.7s", g.Commit), Full: ui.Short(g.Commit, 60), Branch: ui.Short(g.Branch, 60), Subject: ui.Short(g.Subject, 120), Dirty: g.Dirty}
}

// sourceTab fills the tab Source: the files of a version from Python, or the definition.
func (h *Pages) sourceTab(r *http.Request, m *views.Workflow, ref string, v workflow.Version) error {
	q := r.URL.Query()
	p, found := v.Definition.Python()
	if !found || q.Get("definition") != "" {
		m.Source, m.Format = source.DefinitionText(v.Definition)
		return nil
	}
	m.Python.DefinitionURL = views.DefinitionURL(ref, v.Version)
	return h.showSource(r.Context(), m, ref, v, p, q.Get("file"))
}

// showSource fills the tab with the files of a version from Python.
func (h *Pages) showSource(ctx context.Context, m *views.Workflow, ref string, v workflow.Version, p workflow.Python, selected string) error {
	s := &m.Python
	s.File = cmp.Or(selected, p.File)
	s.DownloadURL = views.PackageFileURL(ref, v.Version, s.File)
	found, err := h.Packages.Read(ctx, v.ProjectID, p.Package, s.File)
	if apperr.Is(err, apperr.NotFound) {
		s.Problem = "The code package is not available: " + apperr.MessageOf(err)
		return nil
	}
	if err != nil {
		return err
	}
	if !found.Found {
		return apperr.New(apperr.NotFound, "The code package of %s %s has no file %s.", v.Name, v.Version, ui.Short(s.File, 200))
	}
	for _, f := range found.Files {
		s.Files = append(s.Files, views.SourceFile{Name: f.Name, Size: units.Bytes(f.Size), URL: views.SourceFileURL(ref, v.Version, f.Name), Current: f.Name == s.File})
		if f.Name == s.File {
			s.Size = units.Bytes(f.Size)
		}
	}
	s.Total = units.Plural(found.Count, "file", "files") + ", " + units.Bytes(found.Size)
	if found.Cut {
		s.Total = "More than " + s.Total + "; the list is incomplete"
	}
	if more := found.Count - len(found.Files); more > 0 {
		s.Omitted = units.Plural(more, "file is not listed", "files are not listed") + ". Download the package to see all."
	}
	if found.Shown {
		s.Text = found.Text
		s.Source = views.Source{Name: s.File, ID: "L", Lines: source.Lines(s.File, found.Text, 1)}
		markFunction(s, p)
	}
	return nil
}

// markFunction marks the lines of the workflow function.
func markFunction(s *views.PythonSource, p workflow.Python) {
	place, recorded := p.Functions[p.Function]
	if !recorded || place.File != s.File {
		return
	}
	for i := range s.Source.Lines {
		n := s.Source.Lines[i].Number
		s.Source.Lines[i].Marked = n >= place.First && n <= place.Last
	}
	_, s.Function, _ = strings.Cut(p.Function, ":")
	s.FunctionURL = "#L" + strconv.Itoa(place.First)
	s.FunctionLines = fmt.Sprintf("lines %d to %d", place.First, place.Last)
}

// showFunction fills the overview with the lines of the workflow function. It shows nothing if they
// are unknown; the tab Source shows why.
func (h *Pages) showFunction(ctx context.Context, m *views.Workflow, ref string, v workflow.Version, p workflow.Python) {
	place, recorded := p.Functions[p.Function]
	if !recorded {
		return
	}
	lines, err := h.Packages.Function(ctx, v.ProjectID, p.Package, place)
	if err != nil {
		return
	}
	s := &m.Python
	s.File = place.File
	s.Source = views.Source{Name: s.File, ID: "L", Lines: lines}
	s.FunctionURL = views.SourceFileURL(ref, v.Version, place.File) + "#L" + strconv.Itoa(place.First)
}

// showSignature adds the annotations to the inputs.
func showSignature(m *views.Workflow, written workflow.Annotations) {
	for i := range m.Inputs {
		m.Inputs[i].Annotation = ui.Short(typeOf(written.Parameters[m.Inputs[i].Name]), 300)
	}
	m.Returns = ui.Short(written.Returns, 300)
}

// typeOf is the annotation of a parameter without what only its form shows, such as its label and
// its section: Annotated[int, Range(1, 9), Label("Runs")] is Annotated[int, Range(1, 9)].
func typeOf(annotation string) string {
	list, found := strings.CutPrefix(annotation, "Annotated[")
	if !found || !strings.HasSuffix(list, "]") {
		return annotation
	}
	parts := splitArguments(strings.TrimSuffix(list, "]"))
	kept := slices.DeleteFunc(parts, func(part string) bool {
		name, _, _ := strings.Cut(part, "(")
		name = name[strings.LastIndexByte(name, '.')+1:]
		return strings.HasPrefix(part, `"`) || strings.HasPrefix(part, "'") ||
			slices.Contains([]string{"Label", "Help", "Placeholder", "Section", "Order", "Advanced", "Hidden"}, name)
	})
	if len(kept) == 1 {
		return kept[0]
	}
	return "Annotated[" + strings.Join(kept, ", ") + "]"
}

// splitArguments splits Python arguments at the commas outside brackets and strings.
func splitArguments(text string) []string {
	var parts []string
	depth, start, quote := 0, 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(text[start:]))
}

// codePackage sends a file of the code package of a version, or without file the whole package.
// A browser must not run it, so it is sent as an attachment.
func (h *Pages) codePackage(w http.ResponseWriter, r *http.Request) error {
	flow, err := h.Workflows.Get(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	v, err := h.Workflows.Version(r.Context(), flow.ID.String(), request.PathValue(r, "version"))
	if err != nil {
		return err
	}
	p, found := v.Definition.Python()
	if !found {
		return apperr.New(apperr.NotFound, "The version %s of %s was not registered from Python.", v.Version, v.Name)
	}
	attach := func(name string) {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	if file := r.URL.Query().Get("file"); file != "" {
		return h.Packages.Send(r.Context(), v.ProjectID, p.Package, file, func(f source.File, content io.Reader) error {
			attach(path.Base(f.Name))
			w.Header().Set("Content-Length", strconv.FormatInt(f.Size, 10))
			_, err := io.Copy(w, content)
			return err //nolint:wrapcheck // the connection is gone
		})
	}
	packed, err := h.Packages.Open(r.Context(), v.ProjectID, p.Package)
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }() // only read
	attach(v.Name + "-" + v.Version + ".tar.gz")
	http.ServeContent(w, r, "", v.CreatedAt, packed)
	return nil
}

// developmentShown limits the list of development versions, which every run of changed files adds to.
const developmentShown = 50

// versionHistory fills the tab with the versions: releases, and the newest development versions.
func (h *Pages) versionHistory(ctx context.Context, m *views.Workflow, clock ui.Clock, flow workflow.Workflow, ref string) error {
	var ids []uuid.UUID
	var releases, development []workflow.VersionHead
	for _, v := range flow.Versions {
		if v.Development {
			development = append(development, v)
		} else {
			releases = append(releases, v)
		}
	}
	m.DevelopmentCount = len(development)
	development = development[:min(len(development), developmentShown)]
	for _, v := range append(slices.Clip(releases), development...) {
		ids = append(ids, v.ID)
	}
	notes, err := h.Workflows.Notes(ctx, flow.ID.String(), ids)
	if err != nil {
		return err
	}
	runs, err := h.Executions.VersionRuns(ctx, flow.ID, ids)
	if err != nil {
		return err
	}
	rows := func(list []workflow.VersionHead) []views.VersionRow {
		rows := versionRows(clock, flow, list, ref, m.Version)
		for i, v := range list {
			n := notes[v.ID]
			rows[i].Runs, rows[i].Succeeded = runsText(runs[v.ID])
			rows[i].Level, rows[i].Change, rows[i].From = changeText(n.Change)
			rows[i].Commit = gitText(n.Git)
			if earlier := earlierThan(flow, v.Version); earlier != v.Version {
				rows[i].DiffURL = views.VersionDiffURL(ref, earlier, v.Version)
			}
			m.Noted = m.Noted || rows[i].Change != "" || n.Git.Commit != ""
		}
		return rows
	}
	m.Versions, m.Development = rows(releases), rows(development)
	return nil
}

// runsText is the number of executions of a version, and the share of those that succeeded among
// those that succeeded or failed.
func runsText(r query.Runs) (runs, succeeded string) {
	if r.Total == 0 {
		return "", ""
	}
	runs = units.Number(int64(r.Total))
	if r.Total == query.CountedRuns {
		runs += "+"
	}
	if ended := r.Succeeded + r.Failed; ended > 0 {
		succeeded = strconv.Itoa(100*r.Succeeded/ended) + " %"
	}
	return runs, succeeded
}

// changeText is the level of a change, such as Minor, what changed, and since which version.
func changeText(c workflow.Change) (level, reason, from string) {
	switch c.Level {
	case "major", "minor", "patch":
		level = strings.ToUpper(c.Level[:1]) + c.Level[1:]
	}
	if first, n := utf8.DecodeRuneInString(c.Reason); c.From == "" && n > 0 {
		c.Reason = string(unicode.ToUpper(first)) + c.Reason[n:]
	}
	return level, ui.Short(c.Reason, 400), ui.Short(c.From, 60)
}
