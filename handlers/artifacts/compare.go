package artifacts

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/engine/comparison/change"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// What the page of several tables compares of each.
const (
	joinedRows    = 200
	joinedColumns = 20
)

// compare shows artifacts side by side: tables joined by row, texts line by line, images on each other.
func (h *Pages) compare(w http.ResponseWriter, r *http.Request) error {
	list, err := h.compared(r.Context(), r.URL.Query().Get("ids"))
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	m := views.ArtifactCompare{
		Page: h.Page.Base(r, "Compare artifacts", views.SectionArtifacts, views.Crumb{Name: "Artifacts", URL: views.ArtifactsURL()}),
		Name: list[0].Name, Same: sameBytes(list),
	}
	tables := !slices.ContainsFunc(list, func(a artifact.Artifact) bool { _, ok := artifact.TableFormat(a); return !ok })
	for i, a := range list {
		item := views.ComparedArtifact{Row: Row(clock, a), First: i == 0}
		if !tables {
			item.Preview = h.previewOf(r, a, url.Values{})
		}
		m.Items = append(m.Items, item)
	}
	if tables {
		m.Table, err = h.joined(r.Context(), m.Items, list)
	} else {
		err = contrast(&m)
	}
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.ArtifactComparePage(m))
}

// compared are the artifacts that a list of ids names.
func (h *Pages) compared(ctx context.Context, text string) ([]artifact.Artifact, error) {
	var list []artifact.Artifact
	for ref := range strings.SplitSeq(text, ",") {
		if ref = strings.TrimSpace(ref); ref == "" {
			continue
		}
		if len(list) == views.MostArtifactsCompared {
			return nil, apperr.New(apperr.Invalid, "Compare at most %d artifacts.", views.MostArtifactsCompared)
		}
		id, err := request.ParseID(ref, "artifact")
		if err != nil {
			return nil, err
		}
		a, err := h.Artifacts.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(b artifact.Artifact) bool { return b.ID == a.ID }) {
			list = append(list, a)
		}
	}
	if len(list) < 2 {
		return nil, apperr.New(apperr.Invalid, "Name at least two artifacts, separated by commas.")
	}
	return list, nil
}

// sameBytes specifies which artifacts are equal to the first one.
func sameBytes(list []artifact.Artifact) string {
	var same []string
	for _, a := range list[1:] {
		if a.SHA256 == list[0].SHA256 {
			same = append(same, label.ShortID(a.ExecutionID))
		}
	}
	switch len(same) {
	case 0:
		return ""
	case len(list) - 1:
		return "All have the same bytes."
	}
	return strings.Join(same, ", ") + " and " + label.ShortID(list[0].ExecutionID) + " have the same bytes."
}

// contrast fills in what differs, as far as the previews show it.
func contrast(m *views.ArtifactCompare) error {
	all := func(kinds ...string) bool {
		return !slices.ContainsFunc(m.Items, func(i views.ComparedArtifact) bool {
			return i.Preview.Problem != "" || !slices.Contains(kinds, i.Preview.Kind)
		})
	}
	switch {
	case all(string(artifact.PreviewImage)):
		m.Images = true
	case all(string(artifact.PreviewText), string(artifact.PreviewJSON)):
		for _, other := range m.Items[1:] {
			patch, err := patchOf(m.Name, m.Items[0], other)
			if err != nil {
				return err
			}
			m.Patches = append(m.Patches, patch)
		}
	}
	return nil
}

// patchOf is how a text differs from the first one.
func patchOf(name string, first, other views.ComparedArtifact) (views.ArtifactPatch, error) {
	out := views.ArtifactPatch{ID: other.Row.ID, Title: other.Row.Execution + " compared with " + first.Row.Execution}
	if first.Preview.Text == "" || other.Preview.Text == "" {
		out.Counts = "not compared: the limit is 256 KiB of text"
		return out, nil
	}
	p, err := change.Texts(first.Preview.Text, other.Preview.Text)
	if err != nil {
		return out, err //nolint:wrapcheck // edits of one library
	}
	out.Lines = source.PatchLines(name, p)
	out.Counts = units.Plural(p.Added, "line", "lines") + " added, " + units.Number(int64(p.Removed)) + " removed"
	if first.Preview.Pager.Text+other.Preview.Pager.Text != "" {
		out.Counts += "; the beginnings are compared"
	}
	return out, nil
}

// joined puts the first rows and columns of tables side by side.
func (h *Pages) joined(ctx context.Context, items []views.ComparedArtifact, list []artifact.Artifact) (*views.JoinedTable, error) {
	tables := make([]sheet.Table, len(list))
	out := &views.JoinedTable{}
	cut := false
	for i, a := range list {
		t, err := h.Artifacts.Table(ctx, a, "", preview.Query{Limit: joinedRows, Columns: joinedColumns})
		if err != nil {
			return nil, err
		}
		for _, c := range t.Shown {
			tables[i].Columns = append(tables[i].Columns, t.Columns[c].Name)
		}
		for _, row := range t.Rows {
			cells := make([]string, len(row))
			for k, v := range row {
				if v != nil {
					cells[k] = preview.Text(v)
				}
			}
			tables[i].Rows = append(tables[i].Rows, cells)
		}
		cut = cut || t.Next != nil || len(t.Shown) < len(t.Columns)
		out.Names = append(out.Names, items[i].Row.Execution)
	}
	j := sheet.Join(tables)
	out.Key, out.Columns = j.Key, j.Columns
	differing := 0
	for _, r := range j.Rows {
		row := views.JoinedRow{Key: r.Key}
		for _, cells := range r.Cells {
			for _, c := range cells {
				cell := views.CompareCell{Missing: !c.Present, Text: ui.Short(c.Text, 80), Exact: ui.Short(c.Text, 500), Changed: c.Changed}
				if c.Delta != nil {
					cell.Delta = signed(*c.Delta)
				}
				row.Cells = append(row.Cells, cell)
			}
		}
		if r.Differs {
			differing++
		}
		out.Rows = append(out.Rows, row)
	}
	out.Note = units.Plural(differing, "row differs", "rows differ") + " of " + units.Number(int64(len(j.Rows)))
	if cut {
		out.Note += fmt.Sprintf("; the first %d rows and %d columns of each table are compared", joinedRows, joinedColumns)
	}
	if out.Key == "" {
		out.Key = "Row"
		out.Note += "; no column identifies rows, so they are joined by number"
	}
	return out, nil
}

func signed(v float64) string {
	if v < 0 {
		return "−" + ui.Float(-v)
	}
	return "+" + ui.Float(v)
}
