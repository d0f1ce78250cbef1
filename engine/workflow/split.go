package workflow

import (
	"bytes"
	"strings"
)

// Documents splits a file into its documents: YAML documents are separated by lines
// that begin with ---. A JSON file is one document. Empty documents, and those with
// only comments, are omitted.
func Documents(file []byte) [][]byte {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	if text := bytes.TrimLeft(file, " \t\r\n"); len(text) > 0 && text[0] == '{' {
		return [][]byte{file}
	}
	var documents [][]byte
	var current []byte
	keep := func() {
		if holdsSomething(current) {
			documents = append(documents, current)
		}
		current = nil
	}
	for line := range bytes.Lines(file) {
		rest, begins := bytes.CutPrefix(line, []byte("---"))
		if begins && (len(bytes.TrimSpace(rest)) == 0 || rest[0] == ' ' || rest[0] == '\t') {
			keep()
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				current = append(append(current, rest...), '\n')
			}
			continue
		}
		current = append(current, line...)
	}
	keep()
	return documents
}

func holdsSomething(doc []byte) bool {
	for line := range strings.Lines(string(doc)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line != "..." {
			return true
		}
	}
	return false
}
