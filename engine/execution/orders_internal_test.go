package execution

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
)

// TestOrderText: the history names what was requested, with units in the singular or plural.
func TestOrderText(t *testing.T) {
	t.Parallel()
	for gpus, want := range map[int32]string{1: "Ada requested 500m of CPU, 2048 MiB of memory, 1 GPU", 3: "Ada requested 500m of CPU, 2048 MiB of memory, 3 GPUs"} {
		require.Contains(t, orderText(db.NodeOrder{OrderedBy: "Ada", CpuMillis: new(int32(500)), MemoryMib: new(int32(2048)), Gpus: &gpus}), want)
	}
}
