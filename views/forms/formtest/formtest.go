// Package formtest reads rendered forms in tests as a browser without a script would:
// what it shows, and what it would send.
package formtest

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Parse reads a page, or a piece of one.
func Parse(t testing.TB, text string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("parse HTML: %v", err)
	}
	return doc
}

// Submit collects what a browser without a script would send of the controls in doc.
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

// selected is the value of a select: that of the last selected option, else of the first.
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

// Find returns the elements below n that want accepts.
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

// Attr returns an attribute, "" when it is not there.
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
