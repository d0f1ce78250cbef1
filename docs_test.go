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
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	link     = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	pathLike = regexp.MustCompile(`^\.?[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)*/?$`)
	fileLike = regexp.MustCompile(`\.(go|md|sql|templ|css|js|py|ya?ml|proto|sh|toml)$`)
)

// missing returns the paths in a document in dir that do not exist. In code spans, a path
// begins with a folder of the repository other than the ignored .cache, or contains a slash
// and ends like a source file; links must always lead to an existing path.
func missing(document, dir string, exists func(path string) bool) (paths []string) {
	for _, match := range codeSpan.FindAllStringSubmatch(document, -1) {
		path := match[1]
		first, _, inFolder := strings.Cut(path, "/")
		if !pathLike.MatchString(path) || !inFolder || first == ".cache" || !exists(first) && !fileLike.MatchString(path) {
			continue
		}
		if !exists(path) {
			paths = append(paths, path)
		}
	}
	for _, match := range link.FindAllStringSubmatch(document, -1) {
		if path := match[1]; !strings.Contains(path, ":") && !strings.HasPrefix(path, "/") && !exists(filepath.Join(dir, path)) {
			paths = append(paths, path)
		}
	}
	return paths
}

func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		document, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range missing(string(document), filepath.Dir(path), exists) {
			t.Errorf("%s refers to %s, which does not exist", path, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDocumentsBite(t *testing.T) {
	t.Parallel()
	exists := func(path string) bool {
		return path == "db" || path == ".cache" || path == "db/queries" || path == "docs/design.md"
	}
	got := missing("See `db/queries`, `.cache/bench`, `db/gone.sql`, `old/tree.go`, `a/b` and `GET /x`, [here](design.md), [there](gone.md#x), [web](https://x.y).", "docs", exists)
	if want := "db/gone.sql old/tree.go gone.md"; strings.Join(got, " ") != want {
		t.Errorf("missing %q, want %q", got, want)
	}
}
