// Package channel decides how the bytes of an input come from whoever made them to
// the attempt that reads them, how they are packed on the way, and why: a pure
// function of facts. The runner and the server carry the choice out; what really
// came of it the runner reports, because only it knows.
package channel

import (
	"fmt"
	"path"
	"strings"
)

// Channel is a way for bytes from one operator to another.
type Channel string

// The channels. Whichever it is, the artifact store has the bytes before their
// producer counts as succeeded, so that a retry or a lost machine finds them.
const (
	// Memory is a value inside the attempt's own inputs, or a file that the runner
	// of both keeps in the memory of its machine.
	Memory Channel = "MEMORY"
	// LocalDisk is a file of the store on the consumer's own machine, by a link or a
	// clone that shares its bytes.
	LocalDisk Channel = "LOCAL_DISK"
	// Distributed is a download from the store.
	Distributed Channel = "DISTRIBUTED"
	// Streaming is a pipe through which the consumer reads while its producer writes.
	Streaming Channel = "STREAMING"
)

// Serialization is how a value stands in its bytes.
type Serialization string

// The serializations.
const (
	JSON    Serialization = "JSON"
	Arrow   Serialization = "ARROW"
	Parquet Serialization = "PARQUET"
	Pickle  Serialization = "PICKLE"
	NPZ     Serialization = "NPZ"
	Torch   Serialization = "TORCH"
	Raw     Serialization = "RAW" // bytes that mean what their program says
)

// Compression is how bytes are packed while they travel. Content hashes and what the
// store keeps are of the bytes themselves.
type Compression string

// The compressions. Each is also the name of its HTTP content coding.
const (
	None Compression = ""
	LZ4  Compression = "lz4"
	Zstd Compression = "zstd"
)

// Known reports whether c is a compression.
func (c Compression) Known() bool { return c == None || c == LZ4 || c == Zstd }

// The limits of the rules.
const (
	// MemoryLimit is the largest file that goes through memory.
	MemoryLimit = 1 << 30
	// NetworkLimit parts what is packed quickly (LZ4) from what is packed well (Zstd).
	NetworkLimit = 100 << 20
	// PackedAtLeast is the least file that is worth packing.
	PackedAtLeast = 64 << 10
)

// Storage hints where an output is best kept, as definitions say it.
const (
	HintMemory      = "memory"
	HintDistributed = "distributed"
	HintStreaming   = "streaming"
)

// AllOutputs as the name of an output asks the runner for every output of a task that
// its operator does not declare.
const AllOutputs = "*"

// Facts are what the choice depends on.
type Facts struct {
	Value       bool   // it stands in the inputs as JSON
	Folder      bool   // it is a folder of files
	Size        int64  // bytes; of a folder those of its list of files
	MediaType   string // of a file
	Filename    string
	Hint        string // of the output that it was
	SameMachine bool   // the consumer's machine has the store's files
	Direct      bool   // machines read the object store themselves, which keeps bytes as they are
	Streams     bool   // its producer writes while its consumer runs
	Whole       string // why it comes as a whole although its output says storage: streaming; "": nobody asks
}

// Choice is how bytes come, and why.
type Choice struct {
	Channel       Channel
	Serialization Serialization
	Compression   Compression
	Reason        string // a few words for people: "same machine"
}

// Choose returns how the bytes of f come.
func Choose(f Facts) Choice {
	c := Choice{Serialization: SerializationOf(f)}
	switch {
	case f.Streams:
		c.Channel, c.Reason = Streaming, "it is read while it is written"
		return c
	case f.Value:
		c.Channel, c.Reason = Memory, "a value travels inside the attempt's inputs"
	case f.Hint == HintDistributed:
		c.Channel, c.Reason = Distributed, "its output says storage: distributed"
	case f.SameMachine && f.Hint == HintMemory && f.Size <= MemoryLimit:
		c.Channel, c.Reason = Memory, "same machine, and its output says storage: memory"
	case f.SameMachine && f.Hint == HintMemory:
		c.Channel, c.Reason = LocalDisk, fmt.Sprintf("same machine, and more than the %d MiB that go through memory", MemoryLimit>>20)
	case f.SameMachine:
		c.Channel, c.Reason = LocalDisk, "same machine"
	default:
		c.Channel, c.Reason = Distributed, "another machine may run it"
	}
	if c.Channel == Distributed {
		c.Compression = compression(f)
		if f.Direct && !f.SameMachine {
			c.Reason += "; the object store gives the bytes as they are"
		}
	}
	if f.Whole != "" {
		c.Reason += "; " + f.Whole
	}
	return c
}

// compression is how a download is packed.
func compression(f Facts) Compression {
	if f.SameMachine || f.Direct {
		return None
	}
	if f.Folder {
		return LZ4 // of each file that it suits; f.Size is of their list
	}
	return PackFor(f.Size, f.MediaType, f.Filename)
}

// PackFor returns how size bytes are packed for a connection between machines: not at
// all where that is known not to pay. Whoever packs looks at the first bytes besides.
func PackFor(size int64, mediaType, filename string) Compression {
	switch {
	case size < PackedAtLeast, packed(mediaType, filename):
		return None
	case size < NetworkLimit:
		return LZ4
	}
	return Zstd
}

// packed reports whether the bytes are known to be compressed already.
func packed(mediaType, filename string) bool {
	switch extension(filename) {
	case ".parquet", ".pq", ".orc", ".gz", ".tgz", ".zst", ".lz4", ".bz2", ".xz", ".7z", ".zip", ".whl", ".jar", ".br",
		".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".heic", ".mp3", ".ogg", ".flac", ".m4a", ".mp4", ".mkv", ".webm", ".mov", ".avi", ".woff2":
		return true
	case ".svg", ".bmp", ".wav", ".tif", ".tiff":
		return false
	}
	switch mediaType {
	case "application/gzip", "application/zip", "application/zstd", "application/x-xz", "application/x-bzip2", "application/x-7z-compressed", "application/vnd.apache.parquet":
		return true
	case "image/svg+xml", "image/bmp", "image/tiff", "audio/wave", "audio/wav", "audio/x-wav":
		return false
	}
	group, _, _ := strings.Cut(mediaType, "/")
	return group == "image" || group == "audio" || group == "video"
}

// SerializationOf tells by the file's name, else by its media type, how the value of f
// is written.
func SerializationOf(f Facts) Serialization {
	if f.Value {
		return JSON
	}
	if f.Folder {
		return Raw
	}
	switch extension(f.Filename) {
	case ".json":
		return JSON
	case ".arrow", ".feather", ".ipc":
		return Arrow
	case ".parquet", ".pq":
		return Parquet
	case ".pkl", ".pickle", ".joblib":
		return Pickle
	case ".npz", ".npy":
		return NPZ
	case ".pt", ".pth":
		return Torch
	}
	switch f.MediaType {
	case "application/json":
		return JSON
	case "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream":
		return Arrow
	case "application/vnd.apache.parquet":
		return Parquet
	}
	return Raw
}

func extension(filename string) string { return strings.ToLower(path.Ext(filename)) }
