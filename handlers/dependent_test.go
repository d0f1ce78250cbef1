package handlers_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/views"
)

const dependentDocument = `
name: typed.dependent
version: 1.0.0
inputs:
  - {name: kind, type: "Enum(svc, forest)", default: svc}
  - {name: kernel, type: "Enum(rbf, linear)", show_if: kind == "svc"}
  - {name: depth, type: Integer, required_if: kind == "forest"}
operators:
  - {name: train, type: noop}
`

// TestRulesDecideLaunches: the form keeps the value of a hidden field and does not launch it; the
// API rejects it.
func TestRulesDecideLaunches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, dependentDocument)
	const path = "/workflows/typed.dependent/launch"
	const mediaType = "application/x-www-form-urlencoded"
	missing := b.member.send(t, http.MethodPost, path, mediaType, "inputs.kind=forest&inputs.kernel=rbf&inputs.depth=")
	require.Equal(t, http.StatusUnprocessableEntity, missing.status)
	require.Contains(t, missing.body, "Depth: A value is required.")
	require.Contains(t, missing.body, `checked id="f-kernel-1" name="inputs.kernel" value="rbf"`)
	require.Regexp(t, `data-field="kernel" hidden`, missing.body)
	require.NotContains(t, missing.body, "It applies only if", "the hidden value was sent")

	moved := b.member.send(t, http.MethodPost, path, mediaType, "inputs.kind=forest&inputs.kernel=rbf&inputs.depth=3&$hidden=")
	require.Equal(t, http.StatusUnprocessableEntity, moved.status, "it was sent while the field was visible")
	require.Contains(t, moved.body, "Other fields apply with these values.")
	require.Contains(t, moved.body, `name="$hidden" value="kernel"`)

	launched := b.member.send(t, http.MethodPost, path, mediaType, "inputs.kind=forest&inputs.kernel=rbf&inputs.depth=3&$hidden=kernel")
	require.Equal(t, http.StatusSeeOther, launched.status, launched.body)
	e := b.member.get(t, "/api/v1"+launched.header.Get("Location")).object(t, http.StatusOK)
	require.Nil(t, e["inputs"].(map[string]any)["kernel"])

	resume := launched.header.Get("Location") + "/resume"
	require.Contains(t, b.member.get(t, resume).body, `id="form-states"`)
	moved = b.member.send(t, http.MethodPost, resume, mediaType, "inputs.kind=svc&inputs.kernel=rbf&$hidden=kernel")
	require.Equal(t, http.StatusUnprocessableEntity, moved.status)
	require.Contains(t, moved.body, "other fields apply with these values")

	p := b.member.post(t, "/api/v1/executions", `{"workflow": "typed.dependent", "inputs": {"kind": "forest", "depth": 3, "kernel": "rbf"}}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "inputs.kernel"))
	p = b.member.post(t, "/api/v1/executions", `{"workflow": "typed.dependent"}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, at(p, "inputs.kernel"), "it is required while it applies")

	problem := b.admin.post(t, "/api/v1/workflows", `{"name": "typed.circle", "version": "1.0.0", "inputs": [{"name": "a", "type": "Integer?", "show_if": "b > 1"}, {"name": "b", "type": "Integer?", "required_if": "a > 1"}], "operators": [{"name": "train", "type": "noop"}]}`).problem(t, http.StatusUnprocessableEntity)
	require.Contains(t, at(problem, "inputs[0]"), "a → b → a")
}

const datedDocument = `
name: typed.dated
version: 1.0.0
inputs:
  - {name: day, type: Date, default: today, required: false}
  - {name: late, type: String, default: none, show_if: day < "2020-01-01"}
operators:
  - {name: train, type: noop}
`

// TestRulesReadTheDayOfTheLaunch: a date that the user clears is today, for hidden fields, too.
func TestRulesReadTheDayOfTheLaunch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, datedDocument)
	for _, body := range []string{"inputs.day=&inputs.late=typed", "inputs.day=&inputs.late=typed&$hidden=late"} {
		launched := b.member.send(t, http.MethodPost, "/workflows/typed.dated/launch", "application/x-www-form-urlencoded", body)
		require.Equal(t, http.StatusSeeOther, launched.status, launched.body)
		e := b.member.get(t, "/api/v1"+launched.header.Get("Location")).object(t, http.StatusOK)
		require.Equal(t, "none", e["inputs"].(map[string]any)["late"])
	}
}

const conditionalDocument = `
name: typed.asked
version: 1.0.0
operators:
  - name: ask
    type: approval
    approval:
      form:
        - {name: stage, type: "Enum(test, production)", default: test}
        - {name: ticket, type: String, show_if: stage == "production"}
`

// TestRulesOfApprovals: the page of an approval has what its script needs to show fields, and an
// answer whose fields changed unseen is not given.
func TestRulesOfApprovals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, conditionalDocument)
	id := b.admin.post(t, "/api/v1/executions", `{"workflow": "typed.asked"}`).object(t, http.StatusCreated)["execution_id"].(string)
	path := views.NodeCommandURL(id, "ask", "answer")
	page := b.admin.get(t, path)
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "data-rules=")
	require.Contains(t, page.body, `name="$hidden" value="ticket"`)
	require.Regexp(t, `id="form-states" data-part data-states="[^"]*ticket[^"]*hidden`, page.body)

	const mediaType = "application/x-www-form-urlencoded"
	checked := b.admin.send(t, http.MethodPost, path, mediaType, "inputs.stage=production&$panel=1")
	require.Contains(t, checked.body, `id="form-states"`)
	require.NotContains(t, checked.body, "hidden&#34;:true")
	answered := b.admin.send(t, http.MethodPost, path, mediaType, "inputs.stage=production&$hidden=ticket&$command=APPROVE")
	require.Equal(t, http.StatusUnprocessableEntity, answered.status)
	require.Contains(t, answered.body, "Other fields apply with these values.")
}
