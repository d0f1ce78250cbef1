package kube_test

import (
	"strings"
	"testing"

	"github.com/flowforge/flowforge/compute/launcher"
)

// TestLog: the end of a container without a runner includes the end of its log.
func TestLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	task := w.start(w.pod(map[string]string{"exit-code": "5"}))
	end := w.untilEnd(task, launcher.ClassError)
	sentence, log, _ := strings.Cut(end.Message, "\n")
	if !strings.Contains(sentence, "code 5") || log == "" {
		t.Errorf("sentence %q, log %q", sentence, log)
	}
}
