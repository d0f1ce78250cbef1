package workflow

import (
	"bytes"
	"encoding/json"
)

// Gathers is a [Format] whose uploads may contain documents, such as ConfigMaps, that other
// documents read.
type Gathers interface {
	Format
	// Gather adds to docs what they read from each other. It returns the documents that were
	// read, which are not to be registered.
	Gather(docs []map[string]any) (read []bool)
}

// Gather returns docs with what they read from other documents among them. A document that
// only others read is nil.
func Gather(docs [][]byte, formats ...Format) [][]byte {
	out := make([][]byte, len(docs))
	copy(out, docs)
	objects := make([]map[string]any, len(docs))
	for i, doc := range docs {
		if tree, err := decodeDocument(doc); err == nil {
			objects[i], _ = tree.(map[string]any)
		}
	}
	for _, f := range formats {
		g, ok := f.(Gathers)
		if !ok {
			continue
		}
		before := make([][]byte, len(docs))
		for i, o := range objects {
			before[i] = encoded(o)
		}
		for i, read := range g.Gather(objects) {
			switch text := encoded(objects[i]); {
			case read:
				out[i] = nil
			case !bytes.Equal(text, before[i]):
				out[i] = text
			}
		}
	}
	return out
}

// encoded is a document as JSON, or nil for values that JSON does not have, which registering
// the document reports.
func encoded(object map[string]any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return text
}

// Gather is the function Gather with the formats that the service reads.
func (s *Service) Gather(docs [][]byte) [][]byte { return Gather(docs, s.formats...) }
