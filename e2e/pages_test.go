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

// input is the control of an input of the launch form, by the name it is sent as.
func input(page playwright.Page, path string) playwright.Locator {
	return page.Locator(fmt.Sprintf(`[name="inputs.%s"]:visible`, path))
}

// radio is the option of a radio group, by what it sends. Segmented groups hide the
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

func press(t *testing.T, page playwright.Page, keys ...string) {
	t.Helper()
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

// accepted waits until the launch form has nothing to ask for: it says when it would
// start, which depends on what the other stories run.
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

// launchNow presses the form's button and returns the execution that the page leads to.
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

// headState is the pill beside the title.
func headState(page playwright.Page, state string) playwright.Locator {
	return page.Locator(fmt.Sprintf(`#main header .status-pill[data-state="%s"], #main header .pill[data-state="%s"]`, state, state))
}

// graphNode is the box of a node in a given state, "" for any.
func graphNode(page playwright.Page, name, state string) playwright.Locator {
	selector := ".dag a.node"
	if state != "" {
		selector += fmt.Sprintf(`[data-state="%s"]`, state)
	}
	return page.Locator(selector).Filter(playwright.LocatorFilterOptions{Has: page.Locator(".node-name", playwright.PageLocatorOptions{HasText: regexp.MustCompile("^\\s*" + name + "\\s*$")})})
}

// executionCount is how many executions of a workflow there are.
func (s *server) executionCount(t *testing.T, workflow string) int {
	t.Helper()
	var list struct {
		Executions []struct{} `json:"executions"`
	}
	s.api(t, http.MethodGet, "/executions?limit=100&workflow="+workflow, nil, &list)
	return len(list.Executions)
}

// inputsOf are the inputs of an execution as they were taken.
func (s *server) inputsOf(t *testing.T, id string) map[string]any {
	t.Helper()
	var e struct {
		Inputs map[string]any `json:"inputs"`
	}
	s.api(t, http.MethodGet, "/executions/"+id, nil, &e)
	return e.Inputs
}

// logOf is the whole log of an execution as text, a line each.
func (s *server) logOf(t *testing.T, page playwright.Page, id string) []string {
	t.Helper()
	res, err := page.Request().Get(s.base + "/executions/" + id + "/logs.txt")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.Status())
	text, err := res.Text()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(text), "\n")
}
