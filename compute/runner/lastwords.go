package runner

import "strings"

const (
	maxLastWords = 300 // characters of a failure message that come from the process
	maxCause     = 8   // lines of the text of an exception
	allowedAfter = 20  // lines; more of them are not the text of the exception
)

// lastWords collects what a failure message says about the end of a process: the text of the
// exception that ended it, which can have several lines, or otherwise the last line of stderr.
type lastWords struct {
	cause []string // the exception's text, from its first line
	after int      // lines since the first line of cause
	last  string   // the last non-empty line
}

// add takes a line, and what it is to the exception that the stream shows.
func (w *lastWords) add(line string, part tracebackPart) {
	blank := strings.TrimSpace(line) == ""
	if !blank && part != tracebackMember {
		w.last = line
	}
	switch {
	case part == tracebackFrames:
		w.cause = nil
	case part == tracebackCause:
		w.cause, w.after = []string{strings.TrimPrefix(line, groupMargin)}, 0
	case len(w.cause) > 0 && part == tracebackNone:
		w.after++
		if !blank && len(w.cause) < maxCause {
			w.cause = append(w.cause, line)
		}
	}
}

func (w *lastWords) text() string {
	text := strings.TrimSpace(w.last)
	if len(w.cause) > 0 && w.after <= allowedAfter {
		text = strings.TrimSpace(strings.Join(w.cause, "\n"))
	}
	if words := []rune(text); len(words) > maxLastWords {
		return string(words[:maxLastWords]) + "…"
	}
	return text
}
