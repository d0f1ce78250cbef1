package e2e

import (
	"maps"
	"slices"
	"testing"
)

// TestEveryPageOfControlIsForEveryone: the pages about failures, resuming, waiting and
// storage are accessible, too, both with the gallery's content and on a server.
func TestEveryPageOfControlIsForEveryone(t *testing.T) {
	t.Parallel()
	failed := lookAt(t).failed
	sites := map[string]string{
		"resume": "/executions/" + failed + "/resume", "skip": "/executions/" + failed + "/commands/retry?node=breaks", "register": "/register", "approvals": "/approvals",
		"templates": "/templates", "letters": "/dead-letters", "breakers": "/breakers", "budgets": "/retry-budgets", "waiting": "/waiting", "semaphores": "/semaphores", "storage": "/admin/storage",
	}
	for _, entry := range []string{"resume", "resume-refused", "register-errors", "semaphores", "storage", "node-traceback", "workflow-python", "workflow-python-source", "workflow-python-versions", "workflow-python-binary"} {
		sites["gallery-"+entry] = "/dev/gallery/" + entry
	}
	for name, o := range map[string]options{"light": {}, "dark": {dark: true}, "phone": {width: 390}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.tolerates = []string{"sandboxed", "status of 409", "status of 404"}
			page := open(t, o)
			for _, site := range slices.Sorted(maps.Keys(sites)) {
				visit(t, page, sites[site])
				visible(t, page.Locator("main h1").First())
				noSidewaysScroll(t, page)
				audit(t, page)
			}
		})
	}
}
