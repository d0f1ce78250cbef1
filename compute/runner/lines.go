package runner

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxLine is the maximum length of a log entry, in bytes; longer lines are split.
const maxLine = 64 << 10

// lineSplitter cuts a byte stream into lines. It splits a line longer than maxLine
// between characters. A carriage return restarts the line, as on a terminal, so a
// progress bar is one line.
type lineSplitter struct {
	emit func(line string)
	// cut, when set, holds back the end of a piece that may be the beginning of a secret.
	cut func(piece string) (send, hold string)
	buf []byte
	cr  bool // the last byte was a carriage return
}

// write takes the next bytes of the stream. It searches for each line feed, and then for carriage returns
// before it, because a search for one byte is much faster than one for any of two.
func (s *lineSplitter) write(p []byte) {
	for len(p) > 0 {
		feed := bytes.IndexByte(p, '\n')
		line := p
		if feed >= 0 {
			line = p[:feed]
		}
		for {
			i := bytes.IndexByte(line, '\r')
			if i < 0 {
				break
			}
			s.add(line[:i])
			s.cr, line = true, line[i+1:]
		}
		s.add(line)
		if feed < 0 {
			return
		}
		s.emitLine(s.buf)
		s.buf, s.cr, p = s.buf[:0], false, p[feed+1:]
	}
}

// close sends a last line that has no line feed.
func (s *lineSplitter) close() {
	if len(s.buf) > 0 {
		s.emitLine(s.buf)
		s.buf = nil
	}
}

func (s *lineSplitter) add(p []byte) {
	if len(p) == 0 {
		return
	}
	if s.cr {
		s.buf, s.cr = s.buf[:0], false
	}
	for len(s.buf)+len(p) > maxLine {
		n := maxLine - len(s.buf)
		s.buf = append(s.buf, p[:n]...)
		p = p[n:]
		s.emitPiece()
	}
	s.buf = append(s.buf, p...)
}

// emitPiece sends the beginning of a line that is too long.
func (s *lineSplitter) emitPiece() {
	if s.cut == nil {
		at := runeBoundary(s.buf)
		s.emitLine(s.buf[:at])
		s.buf = append(s.buf[:0], s.buf[at:]...)
		return
	}
	send, hold := s.cut(string(s.buf))
	at := runeBoundary([]byte(send))
	s.emitLine([]byte(send[:at]))
	s.buf = append(append(s.buf[:0], send[at:]...), hold...)
}

// runeBoundary returns the length of b without an incomplete character at its end.
func runeBoundary(b []byte) int {
	for back := 1; back <= utf8.UTFMax && back <= len(b); back++ {
		if utf8.RuneStart(b[len(b)-back]) {
			if !utf8.FullRune(b[len(b)-back:]) {
				return len(b) - back
			}
			break
		}
	}
	return len(b)
}

func (s *lineSplitter) emitLine(line []byte) { s.emit(cleanText(line)) }

// cleanText returns b as valid UTF-8 without zero bytes.
func cleanText(b []byte) string { return validText(string(b)) }

// validText returns text as valid UTF-8 without zero bytes.
func validText(text string) string {
	if !utf8.ValidString(text) { // faster than a replacement of nothing
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return text
}

// terminalEscapes matches the colors and cursor movements of a terminal.
var terminalEscapes = regexp.MustCompile("\x1b\\[[0-9;?]*[@-~]")

// withoutEscapes returns text without them, for messages. Logs keep and show them.
func withoutEscapes(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	return terminalEscapes.ReplaceAllString(text, "")
}

// The levels of log entries.
const (
	levelDebug = "DEBUG"
	levelInfo  = "INFO"
	levelWarn  = "WARN"
	levelError = "ERROR"
)

// levelWindow is how far into a line its level word may appear: after a timestamp and a
// logger name.
const levelWindow = 48

// levelOf returns the level word that appears in capitals near the beginning of the line,
// or in any case as the first word before a colon or in brackets.
func levelOf(line string) string {
	head := line
	if len(head) > levelWindow {
		head = head[:levelWindow]
	}
	start := -1
	first := true
	for i := 0; i <= len(head); i++ {
		if i < len(head) && isLetter(head[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start < 0 {
			continue
		}
		word := head[start:i]
		if first && i < len(head) && (head[i] == ':' || head[i] == ']') {
			word = strings.ToUpper(word)
		}
		if level := levelWord(word); level != "" {
			return level
		}
		first, start = false, -1
	}
	return levelInfo
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func levelWord(word string) string {
	switch word {
	case "ERROR", "CRITICAL", "FATAL", "PANIC":
		return levelError
	case "WARN", "WARNING":
		return levelWarn
	case "DEBUG", "TRACE":
		return levelDebug
	case "INFO", "NOTICE":
		return levelInfo
	}
	return ""
}
