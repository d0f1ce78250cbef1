package flowforge_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// betterNames maps names that readers cannot guess to standard terms.
var betterNames = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"PutAway": "Dismiss", "letGo": "release", "goOn": "carryOver", "giveWay": "yield",
		"courier": "reporter", "crew": "containers", "obey": "applyCommand", "unpark": "takeIdle",
		"telling": "metricState", "Tidy": "Prune", "Culprit": "FailureSource", "NodePlace": "NodePath",
		"parcel": "reportBatch", "tellGrace": "setGrace", "askWhy": "requestStopReason", "roomGrace": "preemptGrace",
		"lineup": "admissionOrder", "giveBack": "release", "askAgain": "recheck", "askOnce": "repeatRequests",
		"askWithheld": "requestWithheld", "askBreaker": "checkBreaker", "tellFreed": "wakeWaiters",
		"tellAwaiting": "notifyWaiters", "tellForever": "sendHintsForever", "tellWaiting": "writeWaitReasons",
		"madeRoom": "wasPreempted", "mayEnter": "hasExecutionLocks", "takeOwn": "acquireExecutionLocks",
		"nudge": "wake", "Troubles": "ErrorLines", "Room": "ResourceOverride", "RoomID": "ResourceOverrideID",
		"prospect": "hypotheticalLaunch", "triesAgain": "shouldRetry", "mayGive": "mayAssign", "mayTake": "mayUnassign",
		"takeOut": "evict", "putBack": "requeue", "holdsUp": "preventsStart", "AtTheEnd": "Final",
		"GiveLeaseBack": "ReleaseLeadership", "AnswersOwed": "ListPendingApprovals", "LivePulse": "ChangeCounters",
		"handOver": "submit", "makeRoom": "evictFor", "roomFor": "checkStorage", "roomOf": "overrideOf", "roomProblem": "overrideProblem",
		"clockRoom": "maxClockSkew", "cutRoom": "minCross", "reservesRoom": "reservesCapacity", "strayLook": "strayInterval",
		"peel": "withoutOptional", "unmet": "conditionProblem", "unrun": "notRun", "wholes": "integers", "foreseen": "sweepEstimate",
		"maxForeseen": "maxEstimates", "cameBy": "channelOf", "itemsBeside": "siblingItems", "fieldsBeside": "inlinesFields",
		"groupAtRest": "groupSettled", "readersAtRest": "readersSettled", "restedFile": "idleFile", "ErrAway": "ErrUnreachable",
		"unlessAway": "ifReachable", "awayAfter": "unreachableAfter", "setAway": "setUnreachable", "whileAway": "whileUnreachable",
		"begunBy": "launchMessage", "begunRow": "startedRow", "FlushBegun": "FlushStarted", "eachComing": "eachUpcoming",
		"_hurry": "_flush_now",
	}
})

// betterWords maps words of names to standard terms. They are excluded in every name, such
// as asked in askedAt.
var betterWords = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"asked": "requested, looked up", "asks": "requests", "told": "reported, notified", "untold": "omitted",
		"tells": "reports, lists", "said": "present, message, described", "wanted": "requested, expected, selected",
		"misfit": "incompatible, mismatch", "misfits": "incompatible, mismatches", "doer": "producer", "doers": "producers",
		"gist": "summary", "hush": "secret value", "deed": "action", "deeds": "actions", "culprit": "failure source",
		"lessons": "recorded values",
	}
})

func TestNamesAreStandardTerms(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for id, better := range riddles(s.file) {
			t.Errorf("%s: %s: call it %s", s.where(id), id.Name, better)
		}
	}
}

// TestScriptNamesAreStandardTerms checks the names in JavaScript and Python.
func TestScriptNamesAreStandardTerms(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.js", "*.py").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if strings.Contains(path, "vendor/") || strings.Contains(path, ".min.") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files++
		for _, problem := range scriptRiddles(path, string(text)) {
			t.Error(problem)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were read: this test checks nothing", files)
	}
}

func TestRiddlesAreFound(t *testing.T) {
	t.Parallel()
	file := &ast.File{Name: ast.NewIdent("p"), Decls: []ast.Decl{&ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{
		&ast.ValueSpec{Names: []*ast.Ident{
			ast.NewIdent("courier"), ast.NewIdent("reporter"), ast.NewIdent("askedAt"), ast.NewIdent("URLTold"), ast.NewIdent("masked"),
		}},
	}}}}
	if n := len(riddles(file)); n != 3 {
		t.Fatalf("found %d riddles, want 3", n)
	}
	for path, text := range map[string]string{
		"a.js": "// it's asked\nconst was = \"it asked\";\nconst askedAt = `told`;\n",
		"a.py": "# it's asked\nwas = \"it's told\"\n_enum_misfit = '''\ntold\n'''\n",
	} {
		found := scriptRiddles(path, text)
		if len(found) != 1 || !strings.HasPrefix(found[0], path+":3: ") {
			t.Errorf("%s: found %q, want one name in line 3", path, found)
		}
	}
}

func riddles(file *ast.File) map[*ast.Ident]string {
	found := map[*ast.Ident]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if better := betterName(id.Name); better != "" {
				found[id] = better
			}
		}
		return true
	})
	return found
}

// nameWord matches the words of a name: asked, At and URL in asked_at, askedAt and askedURL.
var nameWord = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// acronym matches an acronym before a word, such as URL in URLAt.
var acronym = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)

// betterName returns what to call a name instead, or "".
func betterName(name string) string {
	if better := betterNames()[name]; better != "" {
		return better
	}
	for _, word := range nameWord.FindAllString(acronym.ReplaceAllString(name, "${1}_$2"), -1) {
		if better := betterWords()[strings.ToLower(word)]; better != "" {
			return fmt.Sprintf("%s instead of %s", better, word)
		}
	}
	return ""
}

// notCode returns the pattern of comments and string literals by the extension of a file. A
// quotation mark in a comment begins no string, because the comment matches first.
func notCode(extension string) *regexp.Regexp {
	const quoted = `"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`
	if extension == ".py" {
		return regexp.MustCompile(`(?s)#[^\n]*|""".*?"""|'''.*?'''|` + quoted)
	}
	return regexp.MustCompile("(?s)/\\*.*?\\*/|//[^\n]*|`(?:\\\\.|[^`\\\\])*`|" + quoted)
}

var identifier = regexp.MustCompile(`[A-Za-z_]\w*`)

// scriptRiddles returns the names of a JavaScript or Python file that have a better one, each
// once, with the line where it first occurs.
func scriptRiddles(path, text string) (problems []string) {
	code := notCode(filepath.Ext(path)).ReplaceAllStringFunc(text, func(s string) string {
		return strings.Repeat("\n", strings.Count(s, "\n")) // keeps line numbers
	})
	var seen []string
	for i, line := range strings.Split(code, "\n") {
		for _, name := range identifier.FindAllString(line, -1) {
			better := betterName(name)
			if better == "" || slices.Contains(seen, name) {
				continue
			}
			seen = append(seen, name)
			problems = append(problems, fmt.Sprintf("%s:%d: %s: call it %s", path, i+1, name, better))
		}
	}
	return problems
}
