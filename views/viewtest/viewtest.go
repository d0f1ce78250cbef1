// Package viewtest checks rendered pages in tests of the gallery and the handlers.
package viewtest

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Check asserts that a page complies with the content security policy and is accessible:
// no inline style or script, unique ids, and references to existing elements.
func Check(t testing.TB, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids, wanted, headings := map[string]int{}, map[string]string{}, 0
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "h1" {
			headings++
		}
		if n.Data == "script" && n.FirstChild != nil {
			t.Error("an inline script")
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"):
				t.Errorf("<%s> has the attribute %s", n.Data, a.Key)
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "for", a.Key == "aria-labelledby", a.Key == "aria-describedby", a.Key == "popovertarget", a.Key == "data-dialog":
				for id := range strings.FieldsSeq(a.Val) {
					wanted[id] = n.Data + " " + a.Key
				}
			case n.Data == "use" && a.Key == "href":
				wanted[strings.TrimPrefix(a.Val, "#")] = "use"
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
	for id, from := range wanted {
		if ids[id] == 0 {
			t.Errorf("%s refers to #%s, which does not exist", from, id)
		}
	}
}
