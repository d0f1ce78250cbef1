package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// input returns the control of an input of the launch form, by its name in the request.
func input(page playwright.Page, path string) playwright.Locator {
	return page.Locator(fmt.Sprintf(`[name="inputs.%s"]:visible`, path))
}

// radio returns an option of a radio group, by its value. Segmented groups hide the
// button behind its label, so it is pressed through the label.
func radio(page playwright.Page, path, value string) playwright.Locator {
	return page.Locator(fmt.Sprintf(`label:has(> input[type=radio][name="inputs.%s"][value="%s"])`, path, value))
}

func fill(t *testing.T, l playwright.Locator, text string) {
	t.Helper()
	require.NoError(t, l.Fill(text))
}

func click(t *testing.T, l playwright.Locator) {
	t.Helper()
	require.NoError(t, l.Click())
}

// press presses keys when the page has loaded, because its scripts handle them.
func press(t *testing.T, page playwright.Page, keys ...string) {
	t.Helper()
	require.NoError(t, page.WaitForLoadState())
	for _, key := range keys {
		require.NoError(t, page.Keyboard().Press(key))
	}
}

func visible(t *testing.T, l playwright.Locator) {
	t.Helper()
	require.NoError(t, expect().Locator(l).ToBeVisible())
}

func holds(t *testing.T, l playwright.Locator, text string) {
	t.Helper()
	require.NoError(t, expect().Locator(l).ToContainText(text))
}

// accepted waits until the launch form is complete: it then shows when the execution
// would start, which depends on the other tests.
func accepted(t *testing.T, page playwright.Page) {
	t.Helper()
	require.NoError(t, expect().Locator(page.Locator("#launch-status")).ToContainText(regexp.MustCompile("Fits now|Would wait")))
}

func hasValue(t *testing.T, l playwright.Locator, value string) {
	t.Helper()
	require.NoError(t, expect().Locator(l).ToHaveValue(value))
}

func counts(t *testing.T, l playwright.Locator, n int) {
	t.Helper()
	require.NoError(t, expect().Locator(l).ToHaveCount(n))
}

var executionURL = regexp.MustCompile(`/executions/([0-9a-f-]{36})$`)

// launchNow presses the form's button and returns the id of the new execution.
func launchNow(t *testing.T, page playwright.Page) string {
	t.Helper()
	click(t, page.Locator(".launchbar").GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Launch", Exact: new(true)}))
	return arrived(t, page)
}

// arrived waits for the page of an execution and returns its id.
func arrived(t *testing.T, page playwright.Page) string {
	t.Helper()
	require.NoError(t, expect().Page(page).ToHaveURL(executionURL))
	return executionURL.FindStringSubmatch(page.URL())[1]
}

// headState returns the status pill next to the title.
func headState(page playwright.Page, state string) playwright.Locator {
	return page.Locator(fmt.Sprintf(`#main header .status-pill[data-state="%s"], #main header .pill[data-state="%s"]`, state, state))
}

// graphNode returns the box of a node in a given state, "" for any.
func graphNode(page playwright.Page, name, state string) playwright.Locator {
	selector := ".dag a.node"
	if state != "" {
		selector += fmt.Sprintf(`[data-state="%s"]`, state)
	}
	return page.Locator(selector).Filter(playwright.LocatorFilterOptions{Has: page.Locator(".node-name", playwright.PageLocatorOptions{HasText: regexp.MustCompile("^\\s*" + name + "\\s*$")})})
}

// executionCount returns the number of executions of a workflow.
func (s *server) executionCount(t *testing.T, workflow string) int {
	t.Helper()
	var list struct {
		Executions []struct{} `json:"executions"`
	}
	s.api(t, http.MethodGet, "/executions?limit=100&workflow="+workflow, nil, &list)
	return len(list.Executions)
}

// inputsOf returns the inputs with which an execution was launched.
func (s *server) inputsOf(t *testing.T, id string) map[string]any {
	t.Helper()
	var e struct {
		Inputs map[string]any `json:"inputs"`
	}
	s.api(t, http.MethodGet, "/executions/"+id, nil, &e)
	return e.Inputs
}

// logOf returns the lines of the log of an execution.
func (s *server) logOf(t *testing.T, page playwright.Page, id string) []string {
	t.Helper()
	res, err := page.Request().Get(s.base + "/executions/" + id + "/logs.txt")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.Status())
	text, err := res.Text()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(text), "\n")
}
