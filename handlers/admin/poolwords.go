package admin

import (
	"net/http"
	"time"

	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// poolState is the state of a pool in words, and the state whose icon it has.
func poolState(p pool.Pool) (text, mark string) {
	switch {
	case p.Draining:
		return "Draining", "PAUSED"
	case p.Connected == 0 && p.Queued > 0:
		return "No worker", "FAILED"
	case p.Connected == 0:
		return "No worker", "PENDING"
	case p.Queued > 0:
		return "Backed up", "READY"
	case p.Running > 0:
		return "Working", "RUNNING"
	}
	return "Idle", "SUCCEEDED"
}

func waitText(p pool.Pool) string {
	if p.Queued == 0 {
		return "–"
	}
	return units.Duration(p.Wait.Truncate(time.Second))
}

// poolNotice is the message after a change.
func poolNotice(r *http.Request) *views.AdminNotice {
	messages := map[string][2]string{
		"deleted":  {"The pool was deleted.", "Its workers exit."},
		"revoked":  {"The token was revoked.", "Workers that use it exit, and their tasks run again."},
		"drained":  {"The workers are draining.", "Running tasks continue. No more tasks start."},
		"resumed":  {"Draining was stopped.", "The workers take tasks again."},
		"access":   {"Access to the pool was changed.", "It applies to new executions."},
		"limit":    {"The limit was changed.", "Running tasks continue. It applies to the tasks that start next."},
		"prepared": {"The pool was created.", "Create a token, and start a worker on each machine of the pool."},
	}[r.URL.Query().Get("did")]
	if messages[0] == "" {
		return nil
	}
	return &views.AdminNotice{Kind: "ok", Strong: messages[0], Text: messages[1]}
}
