package worker

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/compute/runner"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestAnAttemptThatCannotStartDelaysNoOther: it waits for a GPU that another attempt still has.
func TestAnAttemptThatCannotStartDelaysNoOther(t *testing.T) {
	t.Parallel()
	supervisor, err := runner.New(runner.Config{Dir: t.TempDir(), Server: runner.Endpoint{URL: "http://127.0.0.1:1"}, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(supervisor.Close)
	w := &worker{
		config: Config{Runner: runner.Config{Server: runner.Endpoint{URL: "http://127.0.0.1:1"}}}, logger: slog.New(slog.DiscardHandler),
		supervisor: supervisor, given: map[string]bool{}, devices: devices{all: []int{0}, of: map[string][]int{"e.0.1": {0}}},
	}
	var specs [][]byte
	for i, gpus := range []int32{1, 0} {
		spec, err := proto.Marshal(&flowforgev1.AttemptSpec{
			TaskId: fmt.Sprintf("e.%d.1", i+1), InputsJson: "{}", Resources: &flowforgev1.Resources{Gpus: gpus}, Work: &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"true"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, spec)
	}
	if err := w.startAll(specs); err == nil {
		t.Error("an attempt starts without its GPU")
	}
	if held := w.held(); !slices.Equal(held, []string{"e.2.1"}) {
		t.Errorf("the worker holds %v, not e.2.1", held)
	}
}
