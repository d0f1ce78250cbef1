package e2e

import (
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// mistakenDocument is an Argo file with a field that does not exist.
const mistakenDocument = `apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: story-greeting
spec:
  entrypoint: main
  arguments:
    parameters:
      - {name: whom, value: world, description: Who is greeted}
      - {name: tone, value: calm, enum: [calm, loud]}
  templates:
    - name: main
      inputs: {parameters: [{name: whom}, {name: tone}]}
      container:
        image: busybox
        comand: [sh, -c]
        args: ["echo hello {{inputs.parameters.whom}}, {{inputs.parameters.tone}}"]
    - name: unused
      suspend: {}
`

// TestRegisterAnArgoFile: a user pastes an Argo file with a mistake, sees its location,
// corrects it, and launches it with the form for its parameters.
func TestRegisterAnArgoFile(t *testing.T) {
	t.Parallel()
	s, err := startServer(t.TempDir(), "FLOWFORGE_LOCAL_IMAGES=host", "FLOWFORGE_EXAMPLES=off")
	require.NoError(t, err)
	t.Cleanup(s.stop)
	page := openOn(t, s, options{tolerates: []string{"status of 422"}})
	visit(t, page, "/workflows")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Register a workflow"}).First())
	audit(t, page)
	document := page.Locator("#register-document")
	fill(t, document, mistakenDocument)
	click(t, button(page, "Register"))
	summary := page.Locator(".error-summary")
	holds(t, summary, "spec.templates[0].container.comand")
	holds(t, summary, "command")
	hasValue(t, document, mistakenDocument)
	audit(t, page)
	noSidewaysScroll(t, page)
	picture(t, page, "register-mistake")

	_, err = document.Evaluate(`box => { box.value = box.value.replace("comand", "command") }`, nil)
	require.NoError(t, err)
	click(t, button(page, "Register"))
	holds(t, page.Locator("main h1"), "story-greeting")
	audit(t, page)
	hasValue(t, input(page, "whom"), "world")
	fill(t, input(page, "whom"), "Helsinki")
	click(t, radio(page, "tone", "loud"))
	accepted(t, page)
	picture(t, page, "register-launch")
	id := launchNow(t, page)
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	visible(t, headState(page, "SUCCEEDED"))
	holds(t, page.Locator("#logs"), "hello Helsinki, loud")
	var list struct {
		Workflows []struct {
			Name string `json:"name"`
		} `json:"workflows"`
	}
	s.api(t, http.MethodGet, "/workflows", nil, &list)
	require.Len(t, list.Workflows, 1, "the mistake registered nothing")
}
