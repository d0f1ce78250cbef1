package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestASecretFromAStore: an administrator registers a folder, a secret refers to a file in it, a task
// receives the value, the file is rotated, and the next run receives the new value.
func TestASecretFromAStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rotate := func(value string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "next"), []byte(value+"\n"), 0o600))
		require.NoError(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "tracker")))
	}
	rotate("value-before-rotation")
	s := ownServer(t)
	page := openOn(t, s, options{tolerates: []string{"422", "409"}})
	field := func(name string) playwright.Locator { return page.Locator(`main [name="` + name + `"]`) }

	visit(t, page, "/admin/secret-stores")
	audit(t, page)
	click(t, link(page, "New secret store"))
	click(t, page.GetByRole("navigation", playwright.PageGetByRoleOptions{Name: "Kind of secret store"}).GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Files"}))
	audit(t, page)
	fill(t, field("name"), "mounted")
	fill(t, field("values.directory"), "relative")
	fill(t, field("values.projects"), "*")
	click(t, button(page, "Add the secret store"))
	visible(t, page.Locator(".field-error").First())
	hasValue(t, field("values.directory"), "relative")
	fill(t, field("values.directory"), dir)
	click(t, button(page, "Add the secret store"))
	holds(t, page.Locator("h1"), "mounted")
	fill(t, page.Locator("#probe-path"), "tracker")
	click(t, button(page, "Test the store"))
	holds(t, page.Locator("#test"), "The secret store works.")
	audit(t, page)
	noSidewaysScroll(t, page)

	visit(t, page, "/secrets")
	fill(t, field("name"), "tracker")
	_, err := field("store").SelectOption(playwright.SelectOptionValues{Values: &[]string{"mounted"}})
	require.NoError(t, err)
	fill(t, field("path"), "tracker")
	audit(t, page)
	click(t, button(page, "Add the secret"))
	holds(t, page.Locator("h1"), "tracker")
	holds(t, page.Locator("main"), "mounted, the path tracker")

	s.api(t, http.MethodPost, "/workflows", map[string]any{
		"name": "stories.reads", "version": "1.0.0", "inputs": []map[string]any{{"name": "key", "type": "Secret"}, {"name": "sha", "type": "String"}},
		"operators": []map[string]any{{
			"name": "reads", "type": "python", "code": map[string]any{"script": `
import hashlib, json, os
inputs = json.load(open(os.environ["FLOWFORGE_INPUTS"]))
assert hashlib.sha256(inputs["key"].encode()).hexdigest() == inputs["sha"], "another value arrived"
print("read", inputs["key"])
`},
			"inputs": []map[string]any{{"name": "key", "type": "Secret", "from": "inputs.key"}, {"name": "sha", "type": "String", "from": "inputs.sha"}},
		}},
	}, nil)
	run := func(value string) {
		t.Helper()
		id := s.launch(t, "stories.reads", map[string]any{"key": map[string]any{"$secret": "tracker"}, "sha": fmt.Sprintf("%x", sha256.Sum256([]byte(value)))})
		require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
		_, body := s.call(t, http.MethodGet, "/executions/"+id, nil)
		_, log := s.call(t, http.MethodGet, "/executions/"+id+"/logs", nil)
		require.Contains(t, string(log), "read ***")
		require.NotContains(t, string(body)+string(log), value)
	}
	run("value-before-rotation")
	rotate("value-after-rotation-is-longer")
	run("value-after-rotation-is-longer")

	visit(t, page, "/admin/secret-stores/mounted")
	holds(t, page.Locator("main"), "tracker")
	deletes(t, page, "store")
	holds(t, page.Locator("main"), "The store was not deleted.")
	counts(t, page.GetByText("value-after-rotation-is-longer"), 0)
}
