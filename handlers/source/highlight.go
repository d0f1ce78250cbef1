package source

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flowforge/flowforge/views"
)

// language describes a language to the highlighter, whose work is linear in the length of a
// text, whatever the text contains.
type language struct {
	comment  string // begins a comment at the start of a line or after a space
	python   bool   // triple quotes, prefixes of strings, decorators
	keywords string
}

// Keywords, each between spaces.
const (
	pythonWords = " False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda " +
		"nonlocal not or pass raise return try while with yield "
	shellWords = " case do done elif else esac exit export fi for function if in local return set then while "
	sqlWords   = " AND AS BY CREATE DELETE FROM GROUP HAVING IN INSERT INTO JOIN LEFT LIMIT NOT NULL ON OR ORDER SELECT SET TABLE UPDATE VALUES WHERE WITH "
	constants  = " false null true "
)

// languageOf returns the language of a file by its name; unknown files have no highlighting.
func languageOf(file string) (language, bool) {
	switch strings.ToLower(path.Ext(file)) {
	case ".py", ".pyi":
		return language{comment: "#", python: true, keywords: pythonWords}, true
	case ".sh", ".bash":
		return language{comment: "#", keywords: shellWords}, true
	case ".sql":
		return language{comment: "--", keywords: sqlWords}, true
	case ".toml", ".yaml", ".yml", ".cfg", ".ini", ".lock":
		return language{comment: "#", keywords: constants}, true
	case ".json":
		return language{keywords: constants}, true
	}
	return language{}, false
}

// Highlights reports whether the language of a file is known.
func Highlights(file string) bool {
	_, known := languageOf(file)
	return known
}

// Lines are the highlighted lines of a file, numbered from first.
func Lines(file, text string, first int) []views.SourceLine {
	h := &highlighter{text: text, lines: []views.SourceLine{{Number: first}}}
	if lang, known := languageOf(file); known {
		h.language = lang
		h.scan()
	}
	h.emit("", len(text))
	if last := len(h.lines) - 1; last > 0 && len(h.lines[last].Parts) == 0 {
		h.lines = h.lines[:last] // after the last newline
	}
	return h.lines
}

// highlighter divides a text into parts with a class of their own.
type highlighter struct {
	language
	text  string
	done  int // bytes that are in lines
	lines []views.SourceLine
}

// emit adds the text up to end, in one class, to the lines.
func (h *highlighter) emit(class string, end int) {
	for n, piece := range strings.Split(h.text[h.done:end], "\n") {
		if n > 0 {
			h.lines = append(h.lines, views.SourceLine{Number: h.lines[0].Number + len(h.lines)})
		}
		if piece != "" {
			line := &h.lines[len(h.lines)-1]
			line.Parts = append(line.Parts, views.SourcePart{Class: class, Text: piece})
		}
	}
	h.done = end
}

func (h *highlighter) scan() {
	named := false // the next word is the name of a function or a class
	blank := true  // the line has only spaces so far
	for i := 0; i < len(h.text); {
		c := h.text[i]
		first := blank && !isSpace(c)
		blank = c == '\n' || blank && isSpace(c)
		switch {
		case h.comment != "" && strings.HasPrefix(h.text[i:], h.comment) && (h.python || h.afterSpace(i)):
			h.emit("", i)
			i = endOfLine(h.text, i)
			h.emit("c", i)
		case c == '"' || c == '\'' && (h.python || !h.afterWord(i)):
			h.emit("", i)
			i = h.stringEnd(i)
			h.emit("s", i)
		case h.python && c == '@' && first:
			h.emit("", i)
			i = wordEnd(h.text, i+1, true)
			h.emit("d", i)
		case isWord(h.text, i):
			end := wordEnd(h.text, i, false)
			word := h.text[i:end]
			if h.python && end < len(h.text) && (h.text[end] == '"' || h.text[end] == '\'') && isPrefix(word) {
				h.emit("", i)
				i = h.stringEnd(end)
				h.emit("s", i)
				continue
			}
			h.word(i, end, &named)
			i = end
		default:
			i++
		}
	}
}

// word adds a keyword, or the name after def and class.
func (h *highlighter) word(start, end int, named *bool) {
	word := h.text[start:end]
	class := ""
	switch {
	case *named:
		class = "f"
	case strings.Contains(h.keywords, " "+word+" "):
		class = "k"
	}
	*named = h.python && (word == "def" || word == "class")
	if class != "" {
		h.emit("", start)
		h.emit(class, end)
	}
}

// stringEnd returns the end of the string whose quote is at i. Without an end it is the line, or
// for triple quotes the text.
func (h *highlighter) stringEnd(i int) int {
	quote := h.text[i : i+1]
	if triple := strings.Repeat(quote, 3); h.python && strings.HasPrefix(h.text[i:], triple) {
		quote = triple
	}
	for at := i + len(quote); at < len(h.text); at++ {
		switch {
		case h.text[at] == '\\':
			at++
		case strings.HasPrefix(h.text[at:], quote):
			return at + len(quote)
		case len(quote) == 1 && h.text[at] == '\n':
			return at
		}
	}
	return len(h.text)
}

func (h *highlighter) afterSpace(i int) bool {
	return i == 0 || h.text[i-1] == ' ' || h.text[i-1] == '\t' || h.text[i-1] == '\n'
}

func (h *highlighter) afterWord(i int) bool {
	r, _ := utf8.DecodeLastRuneInString(h.text[:i])
	return i > 0 && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func endOfLine(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

func isWord(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordEnd returns the end of the word at i, with its dots if dotted.
func wordEnd(text string, i int, dotted bool) int {
	for i < len(text) && (isWord(text, i) || dotted && text[i] == '.') {
		_, n := utf8.DecodeRuneInString(text[i:])
		i += n
	}
	return i
}

// isPrefix reports whether word can precede the quote of a string, as in rb"…".
func isPrefix(word string) bool {
	return len(word) <= 2 && strings.Trim(strings.ToLower(word), "rbuft") == ""
}
