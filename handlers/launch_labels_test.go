package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/views/forms/formtest"
)

// TestSweepWithTagsAndANote: the form of a sweep checks and keeps them, and its runs get them.
func TestSweepWithTagsAndANote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{name: swept, version: 1.0.0, inputs: [{name: x, type: Integer}], operators: [{name: one, type: noop}]}`)
	body := func(tags string) string {
		return `{"workflow": "swept", "space": [{"path": "x", "kind": "values", "values": [1, 2]}], "method": "grid", "tags": ` + tags + `, "note": " The first try "}`
	}
	refused := b.member.send(t, http.MethodPost, "/api/v1/sweeps", "application/json", body(`["`+strings.Repeat("x", 65)+`"]`))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status, refused.body)
	require.Contains(t, refused.body, "A tag can have at most 64 characters.")
	created := b.member.send(t, http.MethodPost, "/api/v1/sweeps", "application/json", body(`["second", " baseline ", "second"]`)).object(t, http.StatusCreated)
	require.Equal(t, []any{"baseline", "second"}, created["tags"])
	require.Equal(t, "The first try", created["note"])
	id := created["id"].(string)
	require.Contains(t, b.member.get(t, "/sweeps/"+id).body, "baseline, second")
	form := b.member.get(t, "/workflows/swept/sweep?like="+id).body
	require.Contains(t, form, `value="baseline, second"`)
	require.Contains(t, form, "The first try")
}

// TestTagsOfAFormThatBecomesASweep: what a person enters in the form of a sweep counts, however the
// form was opened and checked before.
func TestTagsOfAFormThatBecomesASweep(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	values.Set("tags", "first")
	values.Set("$sweep", "on")
	_, doc := b.post(t, values)
	require.Equal(t, []string{"first"}, controls(t, doc)["tags"], "one control has the tags")
	require.Equal(t, []string{""}, controls(t, doc)["note"])
}

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

	again := controls(t, b.get(t, launchPath+"?from="+id.String()))
	require.Equal(t, "baseline, second", again.Get("tags"), "another launch keeps the tags")
	require.Empty(t, again.Get("note"))
	require.Empty(t, again.Get("name"))
}

// TestLabelsOnThePage: the page shows the tags and the note of an execution. Its form changes them and
// the name, keeps what was typed when it is refused, and leaves what another person added.
func TestLabelsOnThePage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{name: labelled, version: 1.0.0, operators: [{name: one, type: noop}]}`)
	id := b.member.post(t, "/api/v1/executions", `{"workflow": "labelled", "name": "first", "tags": ["baseline", "old"], "note": "Why it ran"}`).object(t, http.StatusCreated)["execution_id"].(string)
	page := "/executions/" + id
	b.member.get(t, page).says(t, http.StatusOK, `<li class="tag">baseline</li>`, "Why it ran", `data-editor="`+page+`/labels?field=note"`)
	b.member.get(t, page+"/labels").says(t, http.StatusOK, `value="baseline, old"`)

	was := []string{"name_was", "first", "tags_was", "baseline\r\nold", "note_was", "Why it ran"}
	refused := b.member.submit(t, page+"/labels", append(was, "name", "second", "tags", strings.Repeat("x", 65), "note", "typed")...)
	refused.says(t, http.StatusUnprocessableEntity, "A tag can have at most 64 characters.", `value="second"`, "typed", "Error: ", `href="#label-tags"`)
	b.member.post(t, "/api/v1/executions/"+id+"/labels", `{"add": ["of another"]}`).object(t, http.StatusOK)
	saved := b.member.submit(t, page+"/labels", append(was, "name", "second", "tags", "baseline, new", "note", "Why it ran")...)
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	got := b.member.get(t, "/api/v1/executions/"+id).object(t, http.StatusOK)
	require.Equal(t, "second", got["name"])
	require.Equal(t, []any{"baseline", "new", "of another"}, got["tags"])
	require.Equal(t, "Why it ran", got["note"])
	renamed := b.member.post(t, "/api/v1/executions/"+id+"/labels", `{"name": "`+strings.Repeat("n", 201)+`"}`)
	require.Equal(t, http.StatusUnprocessableEntity, renamed.status, renamed.body)
}

// TestALabelIsEditedInPlace: an editor has one label, changes only that label, and shows what is wrong with
// it. The run table shows a change before the index has it, and exports, sorts and filters by it.
func TestALabelIsEditedInPlace(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two := b.launchTyped(t, 1), b.launchTyped(t, 2)
	page := "/executions/" + one + "/labels?field="
	note := b.member.get(t, page+"note").body
	require.Contains(t, note, `<textarea class="textarea" name="note"`)
	require.Contains(t, note, `name="note_was"`)
	name := b.member.get(t, page+"name")
	require.Contains(t, name.body, `value="run 1"`)
	require.NotContains(t, name.body, `name="note"`)
	require.NotContains(t, name.body, "<html")
	b.member.get(t, page+"state").says(t, http.StatusNotFound, "is not a label")

	refused := b.member.submit(t, page+"name", "name_was", "run 1", "name", strings.Repeat("n", 201))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, refused.body, "A name is a single line of at most 200 characters.")
	require.Contains(t, refused.body, `aria-invalid="true"`)
	require.NotContains(t, refused.body, "<html")
	require.Equal(t, http.StatusNoContent, b.member.submit(t, page+"note", "note_was", "", "note", "Zero loss after 3 epochs").status)
	require.Equal(t, http.StatusNoContent, b.member.submit(t, page+"name", "name_was", "run 1", "name", "lower rate").status)
	require.Equal(t, http.StatusNoContent, b.member.submit(t, page+"tags", "tags_was", "", "tags", "baseline, best").status)
	changed := b.member.post(t, "/api/v1/executions/"+two+"/labels", `{"note": "Another", "name": "higher rate"}`).object(t, http.StatusOK)
	require.Equal(t, "higher rate", changed["name"])

	table := b.member.get(t, "/executions?columns=name,tags,note,inputs.epochs")
	table.says(t, http.StatusOK, "Zero loss after 3 epochs", "lower rate", `<span class="tag">best</span>`, `data-editor="/executions/`+one+`/labels?field=note"`)
	b.member.get(t, "/executions").says(t, http.StatusOK, "lower rate", `data-editor="/executions/`+one+`/labels?field=name"`)
	viewer := b.signIn(t, b.person(t, "vera", auth.Viewer, auth.LocalProject))
	require.NotContains(t, viewer.get(t, "/executions").body, "data-editor", "those who may not change the name")
	list := "/api/v1/executions?columns=note,name&sort=note"
	require.Eventually(t, func() bool {
		return fmt.Sprint(idsOf(b.member.get(t, list).object(t, http.StatusOK))) == fmt.Sprint([]string{two, one})
	}, 30*time.Second, 10*time.Millisecond, "sorted by the note")
	found := b.member.get(t, "/api/v1/executions?where="+url.QueryEscape(`note ~ "zero loss" and name ~ lower`)).object(t, http.StatusOK)
	require.Equal(t, []string{one}, idsOf(found))
	export := b.member.get(t, "/api/v1/executions/export?format=csv&columns=name,tags,note&sort=name")
	require.Contains(t, export.body, `lower rate,"baseline, best",Zero loss after 3 epochs`)
}
