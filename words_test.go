package flowforge_test

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// betterPhrases maps phrases that read as translated to standard ones. It contains only
// phrases without a legitimate use in this repository.
func betterPhrases() map[string]string {
	return map[string]string{
		"nobody": "no one, or name the subject: no user, no process", "somebody": "a user, another process",
		"anybody": "anyone, any user", "whoever": "the user who, the process that",
		"stands": "is, appears, exists", "lets go": "releases", "let go of": "release", "put away": "dismiss",
		"goes on": "continues", "went on": "continued", "has gone on": "has continued",
		"is told": "is notified, receives", "are told": "are notified, receive", "was told": "was notified, received",
		"be told": "be reported", "tells of": "reports", "asks for": "requests", "asked for": "requested",
		"taken over": "reused, adopted", "put out": "produce", "puts out": "produces", "taken up again": "retried",
		"in good order": "cleanly", "for ever": "forever, permanently", "anew": "again", "by way of": "through",
		"comes to an end": "ends", "cannot be had": "is not available", "gives way": "yields", "gives back": "releases",
		"without a word": "silently", "sign of life": "heartbeat", "needs a look": "needs attention",
		"has to be": "must be", "have to be": "must be", "tried again": "retried", "trying again": "retrying",
		"needs a change": "needs attention, is not valid", "need a change": "need attention, are not valid",
		"say where": "set, name the field", "say under which": "set, name the field", "give either": "set either",
		"give one of": "set one of", "none of argo's": "not an Argo tag", "in real time": "realtime",
		"borrowing included": "including borrowing", "at the most": "at most", "worked out": "computed",
		"that which": "name the subject", "handed out": "allocated", "to hand out": "to distribute",
		"of its own accord": "automatically", "so far as": "if, as far as", "gives its place to": "yields to",
		"also if": "even if", "answers at most": "returns at most", "who resumes it": "the person who resumes it",
		"sees no": "does not detect, does not display", "handing over": "passing", "to be had": "available",
		"thereby": "name the effect in its own sentence", "moreover": "also", "whilst": "while", "amongst": "among",
		"a look": "a poll, a check", "loops rest": "loops are idle", "the latest first": "newest first",
		"does not answer": "does not respond", "do not answer": "do not respond", "of this name": "with this name",
		"belongs to no": "does not belong to a", "belong to no": "do not belong to a",
		"is in the audit log": "the audit log records", "are in the audit log": "the audit log records",
	}
}

// documentPhrases are further phrases that documents must not contain. Elsewhere, they are also
// names and states.
func documentPhrases() map[string]string {
	return map[string]string{
		"is refused": "is rejected", "are refused": "are rejected", "was refused": "was rejected", "refusing": "rejecting",
		"texts": "strings, text", "persons": "users, people", "processor time": "CPU time", "finds nothing": "returns no result",
		"one after the other": "one after another", "gives the reasons": "explains the design", "the newest first": "newest first",
		"change of the": "change to the", "changes of the": "changes to the", "whole id": "full ID", "follows no": "does not follow",
		"too many at once": "too many at the same time", "the page says": "the page shows", "point at": "hover over",
	}
}

// phrasePattern and documentPattern match phrases, also across lines.
var (
	phrasePattern   = patternOf(betterPhrases())
	documentPattern = patternOf(documentPhrases())
)

func patternOf(phrases map[string]string) *regexp.Regexp {
	all := make([]string, 0, len(phrases))
	for phrase := range phrases {
		all = append(all, strings.ReplaceAll(phrase, " ", `\s+`))
	}
	slices.Sort(all)
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}

// TestWordsArePlain checks comments and strings of Go, and all text of templates,
// documents, Python, SQL, protobuf and YAML files.
func TestWordsArePlain(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "testdata", "bin", "out", "static"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !hasProse(path) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || generated(text) {
			return err
		}
		files++
		for _, problem := range translated(path, text) {
			t.Error(problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were read: this test checks nothing", files)
	}
}

// hasProse reports whether a file is hand-written and can contain prose; the phrases are in
// this file.
func hasProse(path string) bool {
	return path != "words_test.go" && slices.Contains([]string{".go", ".templ", ".md", ".py", ".sql", ".proto", ".yaml", ".yml"}, filepath.Ext(path))
}

// generated reports whether the first lines contain the marker of generated files.
func generated(text []byte) bool {
	head := text[:min(len(text), 1024)]
	return bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT"))
}

// translated returns the phrases in a file that read as translated, each with its line and
// a better phrase.
func translated(path string, text []byte) (problems []string) {
	prose := proseOf(path, text)
	if mayMatch(prose) {
		problems = found(path, prose, phrasePattern, betterPhrases())
	}
	if isDocument(path) {
		problems = append(problems, found(path, prose, documentPattern, documentPhrases())...)
	}
	return problems
}

func found(path string, prose []byte, pattern *regexp.Regexp, better map[string]string) (problems []string) {
	for _, at := range pattern.FindAllIndex(prose, -1) {
		phrase := strings.ToLower(strings.Join(strings.Fields(string(prose[at[0]:at[1]])), " "))
		if legitimate(phrase, prose, at) {
			continue
		}
		line := bytes.Count(prose[:at[0]], []byte("\n")) + 1
		problems = append(problems, fmt.Sprintf("%s:%d: %q reads as translated: %s", path, line, phrase, better[phrase]))
	}
	return problems
}

// isDocument reports whether a file is a document for readers. Results of benchmarks and the
// changelog are records.
func isDocument(path string) bool {
	return filepath.Ext(path) == ".md" && path != "CHANGELOG.md" && !strings.HasPrefix(filepath.ToSlash(path), "bench/")
}

// legitimate allows "stands for", compounds such as a look-up, and nobody as the name of a user in
// quotes.
func legitimate(phrase string, prose []byte, at []int) bool {
	switch phrase {
	case "stands":
		return bytes.HasPrefix(bytes.TrimLeft(prose[at[1]:], " \t\n"), []byte("for "))
	case "a look":
		return bytes.HasPrefix(prose[at[1]:], []byte("-"))
	case "nobody":
		return at[0] > 0 && at[1] < len(prose) && prose[at[0]-1] == prose[at[1]] && strings.IndexByte("\"'`", prose[at[1]]) >= 0
	}
	return false
}

// mayMatch avoids the slower pattern for files that contain no phrase.
func mayMatch(prose []byte) bool {
	oneLine := bytes.Join(bytes.Fields(bytes.ToLower(prose)), []byte(" "))
	for phrase := range betterPhrases() {
		if bytes.Contains(oneLine, []byte(phrase)) {
			return true
		}
	}
	return false
}

// marker matches the comment marker at the beginning of a line.
var marker = regexp.MustCompile(`(?m)^[ \t]*(?://|--|#+)`)

// proseOf returns text with the same line breaks and without comment markers. Of Go files
// only comments and string literals remain.
func proseOf(path string, text []byte) []byte {
	if filepath.Ext(path) != ".go" {
		return marker.ReplaceAllFunc(text, func(m []byte) []byte { return bytes.Repeat([]byte(" "), len(m)) })
	}
	prose := bytes.Clone(text)
	for i, b := range prose {
		if b != '\n' && b != '\t' && b != ' ' {
			prose[i] = 0
		}
	}
	file := token.NewFileSet().AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return prose
		}
		if kind != token.COMMENT && kind != token.STRING {
			continue
		}
		from := file.Offset(pos)
		to := min(from+len(literal), len(prose))
		copy(prose[from:to], text[from:to])
		if kind == token.COMMENT {
			copy(prose[from:], "  ")
		}
	}
}

func TestWordsAreFound(t *testing.T) {
	t.Parallel()
	goFile := "package p\n\n// f asks\n// for more. Über: it stands for itself.\nfunc f(nobody string) string {\n" +
		"\treturn \"Nobody waits.\" + `it\nGOES ON` + \"nobody\" // stands here\n}\n"
	for _, c := range []struct {
		path, text string
		want       []string
	}{
		{"p.go", goFile, []string{`p.go:3: "asks for"`, `p.go:6: "nobody"`, `p.go:7: "goes on"`, `p.go:7: "stands"`}},
		{"a.md", "# A\n\nIt was told.\nIt lasts for\never.", []string{`a.md:3: "was told"`, `a.md:4: "for ever"`}},
		{"a.sql", "-- what a node asks\n-- for\nSELECT 1;\n", []string{`a.sql:1: "asks for"`}},
		{"a.py", "# taken\n# over\nx = \"a sign of life\"\n", []string{`a.py:1: "taken over"`, `a.py:3: "sign of life"`}},
		{"a.templ", "<p>It needs a look</p>", []string{`a.templ:1: "needs a look"`}},
		{"a.yaml", "user: 'nobody'\nx: standstill # requests a pod\n", nil},
		{"a.sql", "-- a look-up, and a look\n", []string{`a.sql:1: "a look"`}},
		{"docs/a.md", "Texts are\nrefused. It does not\nanswer.", []string{`docs/a.md:2: "does not answer"`, `docs/a.md:1: "texts"`, `docs/a.md:1: "are refused"`}},
		{"bench/a.md", "Texts are refused.", nil},
		{"a.templ", "{ e.Texts }", nil},
	} {
		got := translated(c.path, []byte(c.text))
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: got %q, want the prefix %q", c.path, got[i], want)
			}
		}
	}
	if !generated([]byte("// Code generated by x. DO NOT EDIT.\npackage p\n")) || generated([]byte("package p\n")) {
		t.Error("generated files are not recognised")
	}
}
