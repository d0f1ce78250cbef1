package runner

import (
	"strings"
	"testing"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestOutputsOfAServerAreTakenWhenItIsStopped: it ends no other way. What else is stopped has
// no outputs.
func TestOutputsOfAServerAreTakenWhenItIsStopped(t *testing.T) {
	t.Parallel()
	for name, serves := range map[string]bool{"server": true, "task": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			spec := shell(name, `cd "$FLOWFORGE_OUTPUTS"; trap 'mkdir data; echo last > data/rows; echo 7 > count; exit 143' TERM
				echo ready; while :; do sleep 0.02; done`)
			spec.Serves, spec.Salvage = serves, true
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
