// Package viewtest checks pages in tests: those of the gallery and those that the
// handlers answer with.
package viewtest

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Check asserts what the content security policy and accessibility need of a page:
// no inline style or script, unique ids, and references that lead somewhere.
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
				t.Errorf("a script as address: %s", a.Val)
			}
		}
	}
	if headings != 1 {
		t.Errorf("%d headings of the first level, want 1", headings)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("the id %q is given %d times", id, n)
		}
	}
	for id, from := range wanted {
		if ids[id] == 0 {
			t.Errorf("%s refers to #%s, which is not there", from, id)
		}
	}
}
