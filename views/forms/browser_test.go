package forms_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
)

// render draws a component and parses it as a browser would.
func render(t *testing.T, c templ.Component) *html.Node {
	t.Helper()
	var b strings.Builder
	require.NoError(t, c.Render(t.Context(), &b))
	doc, err := html.Parse(strings.NewReader("<!doctype html><form>" + b.String() + "</form>"))
	require.NoError(t, err)
	return doc
}

// submit collects what a browser without a script would send of the controls in doc.
func submit(doc *html.Node) url.Values {
	out := url.Values{}
	each(doc, func(n *html.Node) {
		name := attr(n, "name")
		if name == "" || has(n, "disabled") {
			return
		}
		switch n.Data {
		case "input":
			switch attr(n, "type") {
			case "submit", "button", "file":
			case "checkbox", "radio":
				if has(n, "checked") {
					out.Add(name, attr(n, "value"))
				}
			default:
				out.Add(name, attr(n, "value"))
			}
		case "textarea":
			out.Add(name, strings.TrimPrefix(textOf(n), "\n"))
		case "select":
			out.Add(name, selected(n))
		}
	})
	return out
}

// selected is the value of a select: that of the last selected option, else of the first.
func selected(n *html.Node) string {
	var first, chosen *html.Node
	each(n, func(o *html.Node) {
		if o.Data != "option" {
			return
		}
		if first == nil {
			first = o
		}
		if has(o, "selected") {
			chosen = o
		}
	})
	if chosen == nil {
		chosen = first
	}
	if chosen == nil {
		return ""
	}
	return attr(chosen, "value")
}

// each visits the elements below n, except those in templates, which are inert.
func each(n *html.Node, visit func(*html.Node)) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			if c.Data == "template" {
				continue
			}
			visit(c)
		}
		each(c, visit)
	}
}

func find(n *html.Node, want func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	each(n, func(e *html.Node) {
		if want(e) {
			out = append(out, e)
		}
	})
	return out
}

func byName(doc *html.Node, name string) []*html.Node {
	return find(doc, func(n *html.Node) bool { return attr(n, "name") == name })
}

func byID(doc *html.Node, id string) *html.Node {
	for _, n := range find(doc, func(n *html.Node) bool { return attr(n, "id") == id }) {
		return n
	}
	return nil
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func textOf(n *html.Node) string {
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

// schemaOf reads a schema from name and type expression pairs.
func schemaOf(t *testing.T, fields ...any) typeregistry.Schema {
	t.Helper()
	schema, problems := typeregistry.Builtin().ParseSchema(fields, "inputs")
	require.Empty(t, problems)
	return schema
}

// field is a field of schemaOf.
func field(name, expression string) map[string]any {
	return map[string]any{"name": name, "type": expression}
}

// draw renders every control of a form.
func draw(t *testing.T, config forms.Config) *html.Node {
	t.Helper()
	return render(t, forms.Fields(forms.New(config)))
}
