package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// flowforge runs the command line against s and returns its output.
func (s *server) flowforge(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), setting("FLOWFORGE_BINARY", "bin/flowforge"), args...)
	cmd.Env = append(os.Environ(), "FLOWFORGE_SERVER="+s.base, "FLOWFORGE_TOKEN="+s.token)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return string(out)
}

// TestExecutionsGoWhenTheirTimeIsOver: the next sweep removes an execution with a short
// retention, with its logs; a pinned execution is kept.
func TestExecutionsGoWhenTheirTimeIsOver(t *testing.T) {
	t.Parallel()
	s, err := startServer(t.TempDir(), "FLOWFORGE_EXAMPLES=off")
	require.NoError(t, err)
	t.Cleanup(s.stop)
	// The first sweep must not remove the executions of this test.
	require.Eventually(t, func() bool { return s.swept(t) }, time.Minute, 100*time.Millisecond)
	s.api(t, http.MethodPost, "/workflows", rawJSON(`{"name": "story.gone", "version": "1.0.0", "ttl": "90d", "operators": [{"name": "say", "type": "shell", "code": {"script": "echo soon gone"}}]}`), nil)
	launch := func(args ...string) string {
		out := s.flowforge(t, append([]string{"launch", "story.gone"}, args...)...)
		id := out[:36]
		s.wait(t, id, ended)
		return id
	}
	gone, kept, stays := launch("--ttl", "1s"), launch("--ttl-success", "1s"), launch("--ttl-failure", "1s")
	page := openOn(t, s, options{})
	visit(t, page, "/executions/"+kept)
	click(t, button(page, "Keep"))
	holds(t, page.Locator("main"), "kept by")
	audit(t, page)
	visit(t, page, "/executions/"+stays)
	holds(t, page.Locator("main"), "kept until")
	time.Sleep(1100 * time.Millisecond) // they expire after one second of another process's clock

	require.Contains(t, s.flowforge(t, "gc", "--dry-run"), "would remove 1 execution,")
	status, _ := s.call(t, http.MethodGet, "/executions/"+gone, nil)
	require.Equal(t, http.StatusOK, status)
	visit(t, page, "/admin/storage")
	holds(t, page.Locator("main"), "It would remove 1 execution")
	audit(t, page)
	noSidewaysScroll(t, page)
	require.Contains(t, s.flowforge(t, "gc"), "removed 1 execution,")
	for _, path := range []string{"", "/logs", "/nodes", "/events"} {
		status, _ = s.call(t, http.MethodGet, "/executions/"+gone+path, nil)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	for _, id := range []string{kept, stays} {
		status, _ = s.call(t, http.MethodGet, "/executions/"+id, nil)
		require.Equal(t, http.StatusOK, status)
	}
	visit(t, page, "/admin/storage")
	holds(t, page.GetByRole("row").Filter(playwright.LocatorFilterOptions{HasText: "Cleanup"}).First(), "1")
	picture(t, page, "storage")
}

// swept reports whether a sweep has ended.
func (s *server) swept(t *testing.T) bool {
	t.Helper()
	var list struct {
		Sweeps []struct {
			EndedAt *time.Time `json:"ended_at"`
		} `json:"sweeps"`
	}
	s.api(t, http.MethodGet, "/retention/sweeps", nil, &list)
	return len(list.Sweeps) > 0 && list.Sweeps[0].EndedAt != nil
}
