// Package channel decides how the bytes of an input travel from their producer to the
// attempt that reads them, how they are compressed, and why: a pure function of facts.
// The runner and the server carry out the choice; the runner reports the actual
// transfer.
package channel

import (
	"fmt"
	"path"
	"strings"
)

// Channel is a transport of bytes from one operator to another.
type Channel string

// The channels. In all of them, the artifact store has the bytes before their producer
// counts as succeeded, so that they survive a retry or a lost machine.
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

// Serialization is the encoding of a value.
type Serialization string

// The serializations.
const (
	JSON    Serialization = "JSON"
	Arrow   Serialization = "ARROW"
	Parquet Serialization = "PARQUET"
	Pickle  Serialization = "PICKLE"
	NPZ     Serialization = "NPZ"
	Torch   Serialization = "TORCH"
	Raw     Serialization = "RAW" // bytes in a format of the program
)

// Compression is the compression of bytes in transit. Content hashes and the store use
// the uncompressed bytes.
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
	// NetworkLimit is the size above which Zstd (better compression) replaces LZ4
	// (faster).
	NetworkLimit = 100 << 20
	// PackedAtLeast is the smallest file that is worth compressing.
	PackedAtLeast = 64 << 10
)

// The storage hints of definitions.
const (
	HintMemory      = "memory"
	HintDistributed = "distributed"
	HintStreaming   = "streaming"
)

// AllOutputs as the name of an output requests every undeclared output of a task from
// the runner.
const AllOutputs = "*"

// Facts are the inputs of the choice.
type Facts struct {
	Value       bool   // it is in the inputs as JSON
	Folder      bool   // it is a folder of files
	Size        int64  // bytes; of a folder those of its list of files
	MediaType   string // of a file
	Filename    string
	Hint        string // the storage hint of the output
	SameMachine bool   // the consumer's machine has the store's files
	Direct      bool   // machines read directly from the object store, which stores bytes uncompressed
	Streams     bool   // its producer writes while its consumer runs
	Whole       string // why it is not streamed although its output requests storage: streaming; "": not requested
}

// Choice is the transport of bytes, and its reason.
type Choice struct {
	Channel       Channel
	Serialization Serialization
	Compression   Compression
	Reason        string // a short text for display: "same machine"
}

// Inline is the Reason of a value, which is part of the attempt's inputs.
const Inline = "passed inline"

// Choose returns the transport for the bytes of f.
func Choose(f Facts) Choice {
	c := Choice{Serialization: SerializationOf(f)}
	switch {
	case f.Streams:
		c.Channel, c.Reason = Streaming, "it is read while it is being written"
		return c
	case f.Value:
		c.Channel, c.Reason = Memory, Inline
	case f.Hint == HintDistributed:
		c.Channel, c.Reason = Distributed, "its output sets storage: distributed"
	case f.SameMachine && f.Hint == HintMemory && f.Size <= MemoryLimit:
		c.Channel, c.Reason = Memory, "same machine, and its output sets storage: memory"
	case f.SameMachine && f.Hint == HintMemory:
		c.Channel, c.Reason = LocalDisk, fmt.Sprintf("same machine, and more than the %d MiB that go through memory", MemoryLimit>>20)
	case f.SameMachine:
		c.Channel, c.Reason = LocalDisk, "same machine"
	default:
		c.Channel, c.Reason = Distributed, "it may run on another machine"
	}
	if c.Channel == Distributed {
		c.Compression = compression(f)
		if f.Direct && !f.SameMachine {
			c.Reason += "; the object store serves the bytes unchanged"
		}
	}
	if f.Whole != "" {
		c.Reason += "; " + f.Whole
	}
	return c
}

// compression returns the compression of a download.
func compression(f Facts) Compression {
	if f.SameMachine || f.Direct {
		return None
	}
	if f.Folder {
		return LZ4 // of each suitable file; f.Size is that of the manifest
	}
	return PackFor(f.Size, f.MediaType, f.Filename)
}

// PackFor returns the compression of size bytes for a connection between machines: none
// where compression is known not to pay. The sender also samples the first bytes.
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

// SerializationOf returns the encoding of the value of f, from the file's name or else
// its media type.
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
