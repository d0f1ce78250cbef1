package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

// TestLaunchWithTagsAndANote: they are written with the execution, and errors are at their controls.
func TestLaunchWithTagsAndANote(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	values.Set("inputs.data", "digits@1")
	values.Set("tags", "baseline, "+strings.Repeat("x", 65))
	values.Set("note", "The first try")
	res, doc := b.post(t, values)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	require.Contains(t, formtest.Text(doc), "Tags: A tag can have at most 64 characters.")
	require.Equal(t, "true", formtest.Attr(formtest.ByID(doc, "execution-tags"), "aria-invalid"))
	values = controls(t, doc)
	require.Equal(t, "baseline, "+strings.Repeat("x", 65), values.Get("tags"))
	require.Equal(t, "The first try", values.Get("note"))
	require.Equal(t, 0, b.count(t))

	values.Set("tags", " second, baseline,, ")
	values.Set("$view", "yaml")
	_, doc = b.post(t, values)
	yaml := controls(t, doc)
	require.Contains(t, yaml.Get("$yaml"), "tags:\n- second\n- baseline\nnote: The first try\n")
	yaml.Set("$view", "form")
	_, doc = b.post(t, yaml)
	require.Equal(t, "second, baseline", controls(t, doc).Get("tags"), "the form has the tags of the file")

	values.Del("$view")
	res, _ = b.post(t, values)
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	id, err := uuid.Parse(strings.TrimPrefix(res.Header.Get("Location"), "/executions/"))
	require.NoError(t, err)
	written, err := b.index.Labels(auth.WithSubject(t.Context(), auth.Local()), []uuid.UUID{id})
	require.NoError(t, err)
	require.Equal(t, index.Labels{Tags: []string{"baseline", "second"}, Note: "The first try"}, written[id])
}
