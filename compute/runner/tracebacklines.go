package runner

import "strings"

// tracebackPart is what a line is to the traceback of an exception.
type tracebackPart int

const (
	tracebackNone   tracebackPart = iota
	tracebackFrames               // the first line, a frame, or a sentence between two exceptions
	tracebackCause                // the first line of the exception's text
	tracebackMember               // a line of a member of an exception group
)

// levelGuess detects the level of lines; it keeps track of tracebacks.
type levelGuess struct {
	traceback bool // the next line without an indentation is an exception
	chained   bool // a sentence announced another exception, which may have no frames
	group     bool // the traceback is that of an exception group
}

const (
	tracebackHeader = "Traceback (most recent call last):"
	groupHeader     = "+ Exception Group " + tracebackHeader
	groupMargin     = "  | "
)

// These sentences are between the tracebacks of an exception and of the one that it caused.
const (
	causeSentence   = "The above exception was the direct cause of the following exception:"
	contextSentence = "During handling of the above exception, another exception occurred:"
)

// ownErrors begins the text of exceptions that the SDK shows as a sentence, without frames.
const ownErrors = "flowforge.exceptions."

// read returns the level of a line, and what it is to a traceback.
func (g *levelGuess) read(line string) (string, tracebackPart) {
	switch {
	case strings.HasPrefix(line, tracebackHeader), !g.group && strings.HasPrefix(line, "  File \""), strings.HasPrefix(strings.TrimLeft(line, " "), groupHeader):
		*g = levelGuess{traceback: true, group: strings.HasSuffix(line, groupHeader)}
		return levelError, tracebackFrames
	case isChain(line):
		*g = levelGuess{chained: true}
		return levelError, tracebackFrames
	case g.group:
		return g.ofGroup(line)
	case g.traceback && indented(line), g.chained && line == "":
		return levelError, tracebackFrames
	case g.traceback, g.chained, strings.HasPrefix(line, ownErrors):
		*g = levelGuess{}
		return levelError, tracebackCause
	}
	return levelOf(line), tracebackNone
}

// ofGroup reads a line of an exception group, whose lines begin with a margin of | and +.
func (g *levelGuess) ofGroup(line string) (string, tracebackPart) {
	inner, margin := strings.CutPrefix(line, groupMargin)
	switch {
	case margin && g.traceback && inner != "" && !indented(inner):
		g.traceback = false // the text of the group; those of its members follow
		return levelError, tracebackCause
	case indented(line):
		return levelError, tracebackMember
	}
	*g = levelGuess{}
	return levelOf(line), tracebackNone
}

func indented(line string) bool { return line == "" || line[0] == ' ' || line[0] == '\t' }

func isChain(line string) bool { return line == causeSentence || line == contextSentence }
