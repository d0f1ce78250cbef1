package flowforge_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]*)\(`)
	chapter      = regexp.MustCompile(`(?m)^## V(\d+) `)
)

// unkept returns the tests in a document that are not declared.
func unkept(document string, declared map[string]bool) (names []string) {
	for _, match := range namedTest.FindAllStringSubmatch(document, -1) {
		if !declared[match[1]] {
			names = append(names, match[1])
		}
	}
	return names
}

// TestSecurityIsHeldByTests: docs/security.md refers to declared tests and covers every
// chapter of ASVS 5.0.
func TestSecurityIsHeldByTests(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, match := range declaredTest.FindAllStringSubmatch(string(source), -1) {
			declared[match[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unkept(string(document), declared) {
		t.Errorf("docs/security.md refers to %s, which is not a test", name)
	}
	if n := len(chapter.FindAllString(string(document), -1)); n != 17 {
		t.Errorf("docs/security.md has %d of the 17 chapters", n)
	}
}

func TestSecurityMappingBites(t *testing.T) {
	t.Parallel()
	if got := unkept("`TestThere` and `TestGone`", map[string]bool{"TestThere": true}); len(got) != 1 || got[0] != "TestGone" {
		t.Errorf("got %v", got)
	}
}
