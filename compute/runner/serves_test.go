package runner

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestOutputsOfAServerAreStoredWhenItIsStopped: it ends no other way. What else is stopped has
// no outputs.
func TestOutputsOfAServerAreStoredWhenItIsStopped(t *testing.T) {
	t.Parallel()
	for name, serves := range map[string]bool{"server": true, "task": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			spec := shell(name, `cd "$FLOWFORGE_OUTPUTS"; trap 'mkdir data; echo last > data/rows; echo 7 > count; exit 143' TERM
				echo ready; while :; do sleep 0.02; done`)
			spec.Serves, spec.CollectAfterFailure = serves, true
			spec.Outputs = []*flowforgev1.OutputSpec{blob("data", "Folder"), inline("count", "Integer"), blob("absent", "File")}
			if err := b.Start(spec); err != nil {
				t.Fatal(err)
			}
			b.server.await(t, "readiness", func() bool { return len(b.server.logs[name]) == 1 })
			b.Stop([]string{name}, time.Minute)
			f := b.server.awaitFinished(t, name)
			wantOutcome(t, f, cancelled)
			if got := len(f.Outputs); got != map[bool]int{true: 2, false: 0}[serves] {
				t.Errorf("%d outputs: %v", got, f.Outputs)
			}
			for _, o := range f.Outputs {
				if o.GetBlob() != nil && !strings.Contains(string(b.server.blobs[o.GetBlob().Sha256]), "rows") {
					t.Errorf("the folder was not uploaded: %v", o)
				}
			}
		})
	}
}

// TestPathOfAServer: a task of the template of a server cannot wait for a path that the
// server uses, because the server ends after it. Other tasks wait.
func TestPathOfAServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scratch := []*flowforgev1.Scratch{{Name: "data", Path: filepath.Join(t.TempDir(), "data")}}
	spec := func(id, node, script string) *flowforgev1.AttemptSpec {
		s := shell(id, script)
		s.Node, s.Scratch = node, scratch
		return s
	}
	server := spec("server", "loop[0]/db", "echo ready; exec sleep 1000")
	server.Serves = true
	if err := b.Start(server); err != nil {
		t.Fatal(err)
	}
	b.server.await(t, "readiness", func() bool { return len(b.server.logs["server"]) == 1 })
	for id, node := range map[string]string{"use": "loop[0]/use", "deep": "loop[0]/more/use"} {
		f := b.run(t, spec(id, node, "true"))
		wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_START_FAILED)
		if want := "the daemon loop[0]/db uses " + scratch[0].Path; !strings.Contains(f.Message, want) {
			t.Errorf("the message is %q", f.Message)
		}
	}
	if err := b.Start(spec("other", "loop[1]/use", "true")); err != nil {
		t.Fatal(err)
	}
	b.Stop([]string{"server"}, time.Minute)
	wantOutcome(t, b.server.awaitFinished(t, "other"), succeeded)
}
