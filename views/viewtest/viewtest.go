// Package viewtest checks rendered pages in tests of the gallery and the handlers.
package viewtest

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Check asserts that a page complies with the content security policy and is accessible:
// no inline style or script, unique ids, references to existing elements, and texts of charts
// that keep their size.
func Check(t testing.TB, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids, references, headings := map[string]int{}, map[string]string{}, 0
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "h1" {
			headings++
		}
		if n.Data == "form" && actsAtOnce(n) {
			t.Errorf("a form acts on one click and cannot be undone: %s", attribute(n, "action"))
		}
		if n.Data == "script" && n.FirstChild != nil {
			t.Error("an inline script")
		}
		if n.Data == "text" && scales(n) {
			t.Errorf("the text %q scales with the width of its chart", n.FirstChild.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"):
				t.Errorf("<%s> has the attribute %s", n.Data, a.Key)
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "for", a.Key == "aria-labelledby", a.Key == "aria-describedby", a.Key == "popovertarget", a.Key == "data-dialog":
				for id := range strings.FieldsSeq(a.Val) {
					references[id] = n.Data + " " + a.Key
				}
			case n.Data == "use" && a.Key == "href":
				references[strings.TrimPrefix(a.Val, "#")] = "use"
			case a.Key == "href" && strings.HasPrefix(a.Val, "javascript:"):
				t.Errorf("a javascript: URL: %s", a.Val)
			}
		}
	}
	if headings != 1 {
		t.Errorf("%d h1 headings, want 1", headings)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("the id %q occurs %d times", id, n)
		}
	}
	for id, from := range references {
		if ids[id] == 0 {
			t.Errorf("%s refers to #%s, which does not exist", from, id)
		}
	}
}

// actsAtOnce reports whether a form is a dangerous button alone, outside a dialog. The form of a
// confirmation has a link back.
func actsAtOnce(form *html.Node) bool {
	for n := range form.Ancestors() {
		if n.Data == "dialog" {
			return false
		}
	}
	dangerous := false
	for n := range form.Descendants() {
		switch n.Data {
		case "a", "select", "textarea":
			return false
		case "input":
			if attribute(n, "type") != "hidden" {
				return false
			}
		case "button":
			dangerous = dangerous || slices.Contains(strings.Fields(attribute(n, "class")), "btn-danger")
		}
	}
	return dangerous
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// scales reports whether a text is in a drawing that the browser fits into its box. Graphs scale on
// purpose: they have a zoom.
func scales(text *html.Node) bool {
	for n := range text.Ancestors() {
		for _, a := range n.Attr {
			if a.Key == "class" && slices.Contains(strings.Fields(a.Val), "dag") {
				return false
			}
			if a.Key == "viewBox" {
				return true
			}
		}
	}
	return false
}
