package channel_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/data/channel"
)

// facts returns random facts, with sizes around every limit.
func facts(r *rand.Rand) channel.Facts {
	sizes := []int64{0, 1, channel.PackedAtLeast - 1, channel.PackedAtLeast, channel.NetworkLimit - 1, channel.NetworkLimit, channel.MemoryLimit, channel.MemoryLimit + 1, 1 << 40}
	names := []string{"", "a.csv", "a.parquet", "a.PNG", "a.pt", "a.npz", "a.pkl", "a.json", "a.feather", "noextension", "a.svg"}
	types := []string{"", "text/csv", "image/png", "image/svg+xml", "application/zip", "video/mp4", "application/json"}
	hints := []string{"", "memory", "disk", "distributed", "streaming"}
	return channel.Facts{
		Value: r.IntN(4) == 0, Folder: r.IntN(4) == 0, Size: sizes[r.IntN(len(sizes))], Filename: names[r.IntN(len(names))],
		MediaType: types[r.IntN(len(types))], Hint: hints[r.IntN(len(hints))], SameMachine: r.IntN(2) == 0, Direct: r.IntN(2) == 0,
		Streams: r.IntN(10) == 0, Whole: []string{"", "its writer had ended"}[r.IntN(2)],
	}
}

func TestChoiceHolds(t *testing.T) {
	t.Parallel()
	seen := map[channel.Channel]int{}
	packed := map[channel.Compression]int{}
	for seed := range uint64(50_000) {
		f := facts(rand.New(rand.NewPCG(seed, 1)))
		c := channel.Choose(f)
		seen[c.Channel]++
		packed[c.Compression]++
		fail := func(rule string) { t.Fatalf("seed %d: %s: %+v gives %+v", seed, rule, f, c) }
		switch {
		case c != channel.Choose(f):
			fail("the same facts give the same choice")
		case c.Reason == "" || c.Serialization == "":
			fail("a choice has a reason and a serialization")
		case f.Streams != (c.Channel == channel.Streaming):
			fail("exactly the streaming inputs are streamed")
		case !f.Streams && f.Whole != "" && !strings.HasSuffix(c.Reason, f.Whole):
			fail("a refused request for streaming has a reason")
		case f.Streams && c.Compression != channel.None:
			fail("a pipe is not compressed")
		case f.Streams:
		case f.Value && (c.Channel != channel.Memory || c.Serialization != channel.JSON):
			fail("a value is JSON in memory")
		case !f.Value && !f.SameMachine && c.Channel != channel.Distributed:
			fail("a file comes to another machine through the store")
		case !f.Value && f.Hint == channel.HintDistributed && c.Channel != channel.Distributed:
			fail("the definition's request for the store applies")
		case !f.Value && c.Channel == channel.Memory && (f.Size > channel.MemoryLimit || f.Hint != channel.HintMemory):
			fail("memory is used only on request, up to its limit")
		case c.Compression != channel.None && (c.Channel != channel.Distributed || f.SameMachine || f.Direct):
			fail("only transfers through our own connections are compressed")
		case !f.Folder && c.Compression != channel.None && f.Size < channel.PackedAtLeast:
			fail("small files are not compressed")
		case !f.Folder && c.Compression == channel.LZ4 && f.Size >= channel.NetworkLimit || c.Compression == channel.Zstd && (f.Folder || f.Size < channel.NetworkLimit):
			fail("large files use Zstd, the others LZ4")
		}
	}
	for _, c := range []channel.Channel{channel.Memory, channel.LocalDisk, channel.Distributed, channel.Streaming} {
		if seen[c] < 1000 {
			t.Errorf("%s was chosen %d times only: the test does not look", c, seen[c])
		}
	}
	for _, c := range []channel.Compression{channel.None, channel.LZ4, channel.Zstd} {
		if packed[c] < 500 {
			t.Errorf("%q was chosen %d times only: the test does not look", c, packed[c])
		}
	}
}

func TestChoices(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		facts channel.Facts
		want  channel.Choice
	}{
		"value":           {channel.Facts{Value: true}, channel.Choice{Channel: channel.Memory, Serialization: channel.JSON}},
		"same machine":    {channel.Facts{SameMachine: true, Size: 1 << 31, Filename: "m.pt", Hint: "disk"}, channel.Choice{Channel: channel.LocalDisk, Serialization: channel.Torch}},
		"streaming":       {channel.Facts{Streams: true, SameMachine: true, Hint: "streaming", Filename: "rows"}, channel.Choice{Channel: channel.Streaming, Serialization: channel.Raw}},
		"too late":        {channel.Facts{SameMachine: true, Hint: "streaming", Filename: "rows.json"}, channel.Choice{Channel: channel.LocalDisk, Serialization: channel.JSON}},
		"memory":          {channel.Facts{SameMachine: true, Size: 1 << 20, Filename: "a.npz", Hint: "memory"}, channel.Choice{Channel: channel.Memory, Serialization: channel.NPZ}},
		"too much memory": {channel.Facts{SameMachine: true, Size: 2 << 30, Filename: "a.pkl", Hint: "memory"}, channel.Choice{Channel: channel.LocalDisk, Serialization: channel.Pickle}},
		"memory in a pod": {channel.Facts{Size: 1 << 20, Filename: "a.feather", Hint: "memory"}, channel.Choice{Channel: channel.Distributed, Serialization: channel.Arrow, Compression: channel.LZ4}},
		"csv in a pod":    {channel.Facts{Size: 1 << 30, Filename: "a.csv"}, channel.Choice{Channel: channel.Distributed, Serialization: channel.Raw, Compression: channel.Zstd}},
		"parquet":         {channel.Facts{Size: 1 << 30, Filename: "a.parquet"}, channel.Choice{Channel: channel.Distributed, Serialization: channel.Parquet}},
		"photo":           {channel.Facts{Size: 1 << 30, MediaType: "image/jpeg"}, channel.Choice{Channel: channel.Distributed, Serialization: channel.Raw}},
		"object store":    {channel.Facts{Size: 1 << 30, Filename: "a.csv", Direct: true}, channel.Choice{Channel: channel.Distributed, Serialization: channel.Raw}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := channel.Choose(c.facts)
			got.Reason = ""
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
