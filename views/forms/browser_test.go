package forms_test

import (
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

// render draws a component and parses it as a browser would.
func render(t *testing.T, c templ.Component) *html.Node {
	t.Helper()
	var b strings.Builder
	require.NoError(t, c.Render(t.Context(), &b))
	return formtest.Parse(t, "<!doctype html><form>"+b.String()+"</form>")
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
