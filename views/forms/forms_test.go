package forms_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

var today = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func decodeJSON(t *testing.T, text string) any {
	t.Helper()
	v, err := typeregistry.DecodeJSON([]byte(text))
	require.NoError(t, err)
	return v
}

func encodeJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// TestEveryKindTravelsThroughTheForm: value → controls → submitted form → value, and the
// form rendered from the submitted values submits the same again.
func TestEveryKindTravelsThroughTheForm(t *testing.T) {
	t.Parallel()
	kinds := map[typeregistry.Kind]bool{}
	for _, s := range forms.Examples() {
		typ, err := typeregistry.Builtin().Parse(s.Expression)
		require.NoError(t, err, s.Name)
		noteKinds(kinds, typ)
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			schema := schemaOf(t, field("it", s.Expression))
			want, problems := typ.Normalize(decodeJSON(t, s.Value))
			require.Empty(t, problems)
			inputs := map[string]any{"it": want}
			config := forms.Config{Schema: schema, Values: schema.EncodeForm(inputs, forms.Prefix), Today: today}

			for range 2 {
				sent := formtest.Submit(draw(t, config))
				got, problems := schema.DecodeForm(typeregistry.Form{Values: sent}, forms.Prefix)
				require.Empty(t, problems)
				canonical, problems := schema.CheckAll(got, typeregistry.Env{})
				require.Empty(t, problems, "sent %v", sent)
				require.JSONEq(t, encodeJSON(t, inputs), encodeJSON(t, canonical), "sent %v", sent)
				config.Values = sent
			}
		})
	}
	for _, e := range typeregistry.Builtin().Entries() {
		require.True(t, kinds[e.Kind], "no sample of %s", e.Name)
	}
}

func noteKinds(kinds map[typeregistry.Kind]bool, t *typeregistry.Type) {
	kinds[t.Kind] = true
	if t.Elem != nil {
		noteKinds(kinds, t.Elem)
	}
}

// TestDefaultsAreDrawn: a form without values submits the defaults.
func TestDefaultsAreDrawn(t *testing.T) {
	t.Parallel()
	for _, s := range forms.Examples() {
		if s.Value == "null" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f := field("it", s.Expression)
			f["default"] = decodeJSON(t, s.Value)
			schema := schemaOf(t, f)
			sent := formtest.Submit(draw(t, forms.Config{Schema: schema, Today: today}))
			got, problems := schema.DecodeForm(typeregistry.Form{Values: sent}, forms.Prefix)
			require.Empty(t, problems)
			canonical, problems := schema.CheckAll(got, typeregistry.Env{})
			require.Empty(t, problems)
			want, _ := schema.CheckAll(map[string]any{"it": decodeJSON(t, s.Value)}, typeregistry.Env{})
			require.JSONEq(t, encodeJSON(t, want), encodeJSON(t, canonical), "sent %v", sent)
		})
	}
}

// TestFormIsAccessible: ids are unique, every label and description refers to an existing
// element, and every visible control has an accessible name.
func TestFormIsAccessible(t *testing.T) {
	t.Parallel()
	for _, s := range forms.Examples() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f := field("it", s.Expression)
			f["description"] = "Some help."
			schema := schemaOf(t, f)
			values := schema.EncodeForm(map[string]any{"it": decodeJSON(t, s.Value)}, forms.Prefix)
			doc := draw(t, forms.Config{Schema: schema, Values: values, Today: today, Problems: []forms.Problem{{Path: "it", Message: "Enter something else."}}})
			checkReferences(t, doc)
			checkNames(t, doc)
			require.Contains(t, formtest.Text(doc), "Enter something else.")
		})
	}
}

func checkReferences(t *testing.T, doc *html.Node) {
	t.Helper()
	ids := map[string]bool{}
	formtest.Each(doc, func(n *html.Node) {
		if id := formtest.Attr(n, "id"); id != "" {
			require.False(t, ids[id], "duplicate id %s", id)
			ids[id] = true
		}
	})
	formtest.Each(doc, func(n *html.Node) {
		for _, name := range []string{"for", "aria-describedby", "aria-labelledby", "list"} {
			for id := range strings.FieldsSeq(formtest.Attr(n, name)) {
				require.True(t, ids[id], "%s of %s refers to %s, which does not exist", name, formtest.Attr(n, "name"), id)
			}
		}
	})
}

func checkNames(t *testing.T, doc *html.Node) {
	t.Helper()
	labelled := map[string]bool{}
	formtest.Each(doc, func(n *html.Node) {
		if n.Data == "label" {
			labelled[formtest.Attr(n, "for")] = true
		}
	})
	controls := formtest.Find(doc, func(n *html.Node) bool {
		return slices.Contains([]string{"input", "select", "textarea"}, n.Data) && formtest.Attr(n, "type") != "hidden"
	})
	for _, n := range controls {
		named := formtest.Attr(n, "aria-label") != "" || labelled[formtest.Attr(n, "id")] && formtest.Attr(n, "id") != "" || inLabel(n)
		require.True(t, named, "the control %s has no label", formtest.Attr(n, "name"))
	}
}

func inLabel(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "label" {
			return true
		}
	}
	return false
}

// TestNoInlineStyle: the content security policy forbids style attributes and handlers.
func TestNoInlineStyle(t *testing.T) {
	t.Parallel()
	for _, s := range forms.Examples() {
		schema := schemaOf(t, field("it", s.Expression))
		formtest.Each(draw(t, forms.Config{Schema: schema, Today: today}), func(n *html.Node) {
			for _, a := range n.Attr {
				require.NotEqual(t, "style", a.Key)
				require.False(t, strings.HasPrefix(a.Key, "on"), a.Key)
			}
		})
	}
}
