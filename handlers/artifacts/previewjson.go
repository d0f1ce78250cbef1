package artifacts

import (
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// digestRunes is the length of the line that stands for a closed document.
const digestRunes = 160

// treeOf is a JSON document for its page.
func treeOf(at part, sel artifact.Selection, t *preview.Tree) *views.JSONTree {
	line := at.query.Get("page") // of a JSON Lines file
	out := &views.JSONTree{Problem: t.Problem, Search: searchOf(at, sel), Missing: "The document has no value at " + sel.At + "."}
	if t.Problem != "" {
		out.Missing = "The part of the document that was read has no value at " + sel.At + "."
	}
	if sel.Find != "" {
		out.Search.Found = foundText(len(t.Found), t.MoreHits)
		for _, hit := range t.Found {
			found := views.JSONHit{Path: hit.Path, Value: hit.Value}
			if hit.Path != "" {
				found.URL = at.link("at", hit.Path, "page", line)
			}
			out.Search.Hits = append(out.Search.Hits, found)
		}
	}
	steps := t.Steps()
	for i, s := range steps {
		crumb := views.Crumb{Name: s.Name, URL: at.link("at", s.Path, "page", line)}
		if i == len(steps)-1 {
			crumb.URL = ""
		}
		out.Steps = append(out.Steps, crumb)
	}
	if t.Root == nil {
		return out
	}
	link := func(path string) string { return at.link("at", path, "page", line) }
	out.Root = nodeOf(t.Root, link)
	out.Root.Open, out.Root.More, out.Root.MoreURL = true, "", ""
	if n := int64(len(t.Root.Children)); t.Root.Count > n {
		out.Pager = ui.Pager{InOrder: true, Text: elements(t.From, n) + " of " + units.Number(t.Root.Count)}
		if !t.Complete {
			out.Pager.Text += " that were read"
		}
		if t.From > 0 {
			out.Pager.Newer = at.link("at", t.Root.Path, "page", line, "from", strconv.FormatInt(max(t.From-preview.TreeChildren, 0), 10))
		}
		if t.From+n < t.Root.Count {
			out.Pager.Older = at.link("at", t.Root.Path, "page", line, "from", strconv.FormatInt(t.From+n, 10))
		}
	}
	return out
}

func elements(from, n int64) string {
	if n == 0 {
		return "No elements"
	}
	return "Elements " + units.Number(from+1) + " to " + units.Number(from+n)
}

func foundText(n int, more bool) string {
	if more {
		return "More than " + units.Number(int64(n)) + " results"
	}
	return units.Plural(n, "result", "results")
}

func searchOf(at part, sel artifact.Selection) views.JSONSearch {
	return views.JSONSearch{PreviewForm: at.form(), Text: sel.Find, ClearURL: at.link()}
}

// nodeOf is a value with those that it contains; link is the address that shows one.
func nodeOf(n *preview.Node, link func(path string) string) *views.JSONNode {
	out := &views.JSONNode{Key: n.Key, Path: n.Path, Kind: n.Kind, Value: n.Value}
	switch n.Kind {
	case "object":
		out.Summary = "{" + units.Number(n.Count) + "}"
	case "array":
		out.Summary = "[" + units.Number(n.Count) + "]"
	case "string":
		out.Value = quoted(n.Value, n.Cut)
	case "null":
		out.Value = "null"
	}
	if n.Cut && n.Key != "" && n.Path != "" {
		out.Summary, out.Value, out.MoreURL = out.Value, "", link(n.Path)
	}
	for _, c := range n.Children {
		out.Children = append(out.Children, nodeOf(c, link))
	}
	if n.Count > int64(len(n.Children)) && n.Path != "" {
		out.MoreURL, out.More = link(n.Path), "Show all "+units.Number(n.Count)
	}
	return out
}

func quoted(text string, cut bool) string {
	out := strconv.Quote(text)
	if cut {
		return strings.TrimSuffix(out, `"`) + "…"
	}
	return out
}

// linesOf is a page of a JSON Lines file.
func linesOf(at part, sel artifact.Selection, d *preview.Documents) *views.JSONLines {
	out := &views.JSONLines{Search: searchOf(at, sel), Empty: "The file has no more lines."}
	if sel.Find != "" {
		out.Empty = "No line contains the text."
		out.Search.Found = units.Plural(len(d.Rows), "line", "lines") + " of " + units.Plural(d.Scanned, "line", "lines") + " that were read"
		if d.Next != nil && len(d.Rows) < preview.DocumentRows {
			out.Empty = "No line contains the text so far. Continue with the next lines."
		}
	}
	for _, r := range d.Rows {
		line := views.JSONLine{Number: units.Number(r.Number), Problem: r.Problem, Digest: r.Text}
		if r.Root != nil {
			var digest strings.Builder
			writeDigest(&digest, r.Root)
			line.Digest = ui.Short(digest.String(), digestRunes)
			line.Root = nodeOf(r.Root, func(path string) string { return at.link("at", path, "page", r.At.String()) })
		}
		out.Rows = append(out.Rows, line)
	}
	out.Pager = ui.Pager{InOrder: true, Text: units.Plural(len(d.Rows), "line", "lines")}
	if n := len(d.Rows); n > 0 && sel.Find == "" {
		out.Pager.Text = "Lines " + units.Number(d.Rows[0].Number) + " to " + units.Number(d.Rows[n-1].Number)
	}
	if d.Next != nil {
		out.Pager.Older = at.link("page", d.Next.String(), "find", sel.Find)
	}
	if d.From.Byte > 0 {
		out.Pager.Newer = at.link("find", sel.Find)
	}
	return out
}

// writeDigest writes the beginning of a value on one line.
func writeDigest(out *strings.Builder, n *preview.Node) {
	if out.Len() > 4*digestRunes {
		return
	}
	var opens, closes string
	switch n.Kind {
	case "object":
		opens, closes = "{", "}"
	case "array":
		opens, closes = "[", "]"
	case "string":
		out.WriteString(quoted(n.Value, n.Cut))
		return
	case "null":
		out.WriteString("null")
		return
	default:
		out.WriteString(n.Value)
		return
	}
	out.WriteString(opens)
	for i, c := range n.Children {
		if i > 0 {
			out.WriteString(", ")
		}
		if n.Kind == "object" {
			out.WriteString(c.Key + ": ")
		}
		writeDigest(out, c)
	}
	if n.Count > int64(len(n.Children)) {
		out.WriteString("…")
	}
	out.WriteString(closes)
}
