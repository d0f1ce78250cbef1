// Package formtest reads rendered forms in tests like a browser without JavaScript: the
// text that it shows and the values that it submits.
package formtest

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Parse parses a page or a fragment.
func Parse(t testing.TB, text string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("parse HTML: %v", err)
	}
	return doc
}

// Submit returns the values that a browser without JavaScript submits for the controls in doc.
func Submit(doc *html.Node) url.Values {
	out := url.Values{}
	Each(doc, func(n *html.Node) {
		name := Attr(n, "name")
		if name == "" || Has(n, "disabled") {
			return
		}
		switch n.Data {
		case "input":
			switch Attr(n, "type") {
			case "submit", "button", "file":
			case "checkbox", "radio":
				if Has(n, "checked") {
					out.Add(name, Attr(n, "value"))
				}
			default:
				out.Add(name, Attr(n, "value"))
			}
		case "textarea":
			out.Add(name, strings.TrimPrefix(Text(n), "\n"))
		case "select":
			out.Add(name, selected(n))
		}
	})
	return out
}

// selected is the value of a select: the last selected option, or the first option.
func selected(n *html.Node) string {
	var first, chosen *html.Node
	Each(n, func(o *html.Node) {
		if o.Data != "option" {
			return
		}
		if first == nil {
			first = o
		}
		if Has(o, "selected") {
			chosen = o
		}
	})
	if chosen == nil {
		chosen = first
	}
	if chosen == nil {
		return ""
	}
	return Attr(chosen, "value")
}

// Each visits the elements below n, except those in templates, which are inert.
func Each(n *html.Node, visit func(*html.Node)) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			if c.Data == "template" {
				continue
			}
			visit(c)
		}
		Each(c, visit)
	}
}

// Find returns the elements below n for which want returns true.
func Find(n *html.Node, want func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	Each(n, func(e *html.Node) {
		if want(e) {
			out = append(out, e)
		}
	})
	return out
}

// ByName returns the controls called name.
func ByName(doc *html.Node, name string) []*html.Node {
	return Find(doc, func(n *html.Node) bool { return Attr(n, "name") == name })
}

// ByID returns the element with id, or nil.
func ByID(doc *html.Node, id string) *html.Node {
	for _, n := range Find(doc, func(n *html.Node) bool { return Attr(n, "id") == id }) {
		return n
	}
	return nil
}

// Attr returns an attribute, or "" if it is missing.
func Attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Has reports whether n has an attribute.
func Has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// Text returns all text below n, templates included.
func Text(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return b.String()
}
