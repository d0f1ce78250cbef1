// Package media detects the media type of a text file without an extension from its
// first bytes. It is pure, and small enough for the runner.
package media

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Text returns the media type of text that begins with head: JSON, CSV, tab-separated
// values or Markdown, and text/plain for any other. whole means that head is the
// complete text.
func Text(head []byte, whole bool) string {
	const plain = "text/plain; charset=utf-8"
	if !whole { // the last line, and its last character, may be truncated
		if end := bytes.LastIndexByte(head, '\n'); end >= 0 {
			head = head[:end+1]
		}
	}
	if !utf8.Valid(head) {
		return plain
	}
	text := strings.TrimPrefix(string(head), "\ufeff")
	switch {
	case isJSON(text, whole):
		return "application/json"
	case isTable(text, ','):
		return "text/csv"
	case isTable(text, '\t'):
		return "text/tab-separated-values"
	case isMarkdown(text):
		return "text/markdown"
	}
	return plain
}

func isJSON(text string, whole bool) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	if whole {
		return json.Valid([]byte(text))
	}
	tokens := json.NewDecoder(strings.NewReader(text))
	for {
		if _, err := tokens.Token(); err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

const (
	rowsRead  = 20 // rows that must be as wide as the first
	longTitle = 60 // characters of the title of a column
)

var columnTitle = regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_ .\-/()%#:\[\]]*$`)

// isTable reports whether text has a header row, and rows below it of the same width.
func isTable(text string, comma rune) bool {
	rows := csv.NewReader(strings.NewReader(text))
	rows.Comma = comma
	titles, err := rows.Read()
	if err != nil || len(titles) < 2 {
		return false
	}
	for _, t := range titles {
		if len(t) > longTitle || !columnTitle.MatchString(t) {
			return false
		}
	}
	read := 0
	for ; read < rowsRead; read++ {
		if _, err := rows.Read(); errors.Is(err, io.EOF) {
			break
		} else if err != nil { // a row of another width, or an unclosed quote
			return false
		}
	}
	return read > 0
}

var (
	heading = regexp.MustCompile(`^#{1,6} \S`)
	mark    = regexp.MustCompile("(?m)^(#{1,6} \\S|[-*] \\S|\\|.+\\|\\s*$|```)|\\[[^\\]]+\\]\\((https?:|/|#|\\.)")
)

// isMarkdown reports whether text begins with a heading that a blank line follows, and
// has other Markdown syntax below it.
func isMarkdown(text string) bool {
	first, rest, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	next, _, _ := strings.Cut(rest, "\n")
	return heading.MatchString(first) && strings.TrimSpace(next) == "" && mark.MatchString(rest)
}
