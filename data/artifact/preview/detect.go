package preview

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
)

// Format is how the bytes of a file are read, by its name, its media type and its first bytes:
// "json", "jsonl", "notebook", "npy", "npz", "safetensors", "onnx", "pickle", "torch", an archive
// ("zip", "tar", "tar.gz", "tar.zst", "gz", "zst"), or "" for others.
func Format(f File, name, mediaType string) string {
	head := make([]byte, min(512, f.Size))
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	lower := strings.ToLower(name)
	ending := path.Ext(lower)
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return zipFormat(f, ending)
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return "npy"
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if strings.HasSuffix(lower, ".tar.gz") || ending == ".tgz" {
			return "tar.gz"
		}
		if ending == ".pkl" || ending == ".joblib" || ending == ".pickle" {
			return "pickle"
		}
		return "gz"
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		if strings.HasSuffix(lower, ".tar.zst") || ending == ".tzst" {
			return "tar.zst"
		}
		return "zst"
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "tar"
	case isSafetensors(f, head):
		return "safetensors"
	case ending == ".onnx", len(head) > 3 && head[0] == 0x08 && head[1] < 0x20 && head[2] == 0x12 && ending == "":
		return "onnx"
	case isPickle(head, ending):
		return "pickle"
	case ending == ".ipynb", mediaType == "application/x-ipynb+json":
		return "notebook"
	case ending == ".jsonl", ending == ".ndjson", mediaType == "application/jsonl", mediaType == "application/x-ndjson":
		return "jsonl"
	case ending == ".json", mediaType == "application/json", ending == ".geojson":
		return "json"
	}
	return ""
}

func isSafetensors(f File, head []byte) bool {
	if len(head) < 10 || head[8] != '{' {
		return false
	}
	n := binary.LittleEndian.Uint64(head)
	return n >= 2 && n <= uint64(f.Size) //nolint:gosec // not negative
}

func isPickle(head []byte, ending string) bool {
	switch ending {
	case ".pkl", ".pickle", ".joblib":
		return true
	case "", ".pt", ".pth", ".ckpt", ".bin":
		return len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
	}
	return false
}

// zipFormat distinguishes arrays and models in ZIP files by what they contain.
func zipFormat(f File, ending string) string {
	r, err := openZip(f)
	if err != nil || len(r.File) == 0 {
		return "zip"
	}
	arrays := true
	for _, z := range r.File[:min(len(r.File), 1000)] {
		if strings.HasSuffix(z.Name, "/data.pkl") && strings.Count(z.Name, "/") == 1 {
			return "torch"
		}
		arrays = arrays && strings.HasSuffix(z.Name, ".npy") && ending != ".zip"
	}
	if arrays {
		return "npz"
	}
	return "zip"
}

// Container is the format of the archive that a format is, "" for files without entries.
func Container(format string) string {
	switch format {
	case "npz", "torch":
		return "zip"
	case "zip", "tar", "tar.gz", "tar.zst", "gz", "zst":
		return format
	}
	return ""
}

// SniffJSON tells JSON ("json") and JSON Lines ("jsonl") by the beginning of a file of a size, ""
// for other texts.
func SniffJSON(head []byte, size int64) string {
	trimmed := bytes.TrimLeft(head, "\ufeff \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(trimmed))
	var first, second json.RawMessage
	err := d.Decode(&first)
	if err != nil {
		if int64(len(head)) < size && errors.Is(err, io.ErrUnexpectedEOF) {
			return "json"
		}
		return ""
	}
	rest := trimmed[d.InputOffset():]
	if len(bytes.TrimSpace(rest)) == 0 {
		return "json"
	}
	err = d.Decode(&second)
	if rest = bytes.TrimLeft(rest, " \t\r"); len(rest) > 0 && rest[0] == '\n' && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) {
		return "jsonl"
	}
	return ""
}
