package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdleClickHouseStops: the embedded ClickHouse stops when it is not used, health checks do not
// start it, and the first readers get whole answers.
func TestIdleClickHouseStops(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "FLOWFORGE_CLICKHOUSE_IDLE=500ms")
	id := s.launch(t, "digits.train", map[string]any{"epochs": 3})
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	s.untilClickHouseStops(t)

	// The index of executions can start ClickHouse after the check.
	eventually(t, "a health check that does not start ClickHouse", func() (string, bool) {
		s.untilClickHouseStops(t)
		ready := s.readiness(t)
		running := s.clickHouse(t)
		return fmt.Sprint(ready, running), ready.Status == "ok" && len(running) == 0
	})

	paths := []string{"/executions/" + id + "/logs?limit=200", "/executions/" + id + "/metrics", "/executions?where=inputs.epochs%3D3", "/executions/lines?text=epoch"}
	bodies := make([]string, len(paths))
	var readers sync.WaitGroup
	for i, path := range paths {
		readers.Go(func() { bodies[i] = s.get(t, path) })
	}
	readers.Wait()
	for i, want := range []string{"epoch 3/3", "accuracy", id, id} {
		require.NotContains(t, bodies[i], `"partial":true`, paths[i])
		require.Contains(t, bodies[i], want, paths[i])
	}

	page := openOn(t, s, options{tolerates: whileUnreachable()})
	s.untilClickHouseStops(t)
	visit(t, page, "/executions/"+id)
	holds(t, page.Locator("#logs .log"), "epoch 3/3")

	again := s.launch(t, "digits.train", map[string]any{"epochs": 2})
	require.Equal(t, "SUCCEEDED", s.wait(t, again, ended).Status)
	s.untilClickHouseStops(t)
	s.stop()
	s.restart(t)
	eventually(t, "the log after the start of the server, which does not wait for ClickHouse", func() (string, bool) {
		log := s.get(t, paths[0])
		return log, !strings.Contains(log, `"partial":true`)
	})
	require.Contains(t, s.get(t, paths[0]), "epoch 3/3")
	require.Contains(t, s.get(t, "/executions/"+again+"/logs?limit=200"), "epoch 2/2")
}

type readiness struct {
	Status string
	Checks map[string]string
}

func (s *server) readiness(t *testing.T) readiness {
	t.Helper()
	res, err := http.Get(s.base + "/readyz")
	require.NoError(t, err)
	defer res.Body.Close()
	var r readiness
	require.NoError(t, json.NewDecoder(res.Body).Decode(&r))
	return r
}

func (s *server) untilClickHouseStops(t *testing.T) {
	t.Helper()
	eventually(t, "no process of ClickHouse", func() (string, bool) {
		left := s.clickHouse(t)
		return "a process is left", len(left) == 0
	})
}

// clickHouse returns the processes of ClickHouse.
func (s *server) clickHouse(t *testing.T) (found []string) {
	t.Helper()
	processes, err := processesOf(filepath.Join(s.dir, "data"))
	require.NoError(t, err)
	for _, p := range processes {
		if strings.Contains(p, "clickhouse-engine") {
			found = append(found, p)
		}
	}
	return found
}
