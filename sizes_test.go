package flowforge_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	maxFile     = 400 // lines
	maxFunction = 100
	longFunc    = 60
	maxLong     = 0.03 // share of functions over longFunc
)

// source is a hand-written Go file.
type source struct {
	path string
	file *ast.File
	fset *token.FileSet
}

func (s source) dir() string { return filepath.ToSlash(filepath.Dir(s.path)) }
func (s source) test() bool  { return strings.HasSuffix(s.path, "_test.go") }
func (s source) lines() int  { return s.fset.File(s.file.Pos()).LineCount() }
func (s source) main() bool  { return s.file.Name.Name == "main" }
func (s source) where(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

func (s source) length(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// sources parses every hand-written Go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsedSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parsedSources parses the files once for all tests, which only read them.
var parsedSources = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(file) {
			all = append(all, source{path: path, file: file, fset: fset})
		}
		return nil
	})
	return all, err
})

func TestSizes(t *testing.T) {
	t.Parallel()
	functions, long := 0, 0
	for _, s := range sources(t) {
		if n := s.lines(); n > maxFile {
			t.Errorf("%s has %d lines, more than %d", s.path, n, maxFile)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := s.length(f)
			if n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d", s.where(f), f.Name.Name, n, maxFunction)
			}
			if !s.test() {
				functions++
				if n > longFunc {
					long++
				}
			}
		}
	}
	if share := float64(long) / float64(functions); share > maxLong {
		t.Errorf("%d of %d functions (%.1f %%) have more than %d lines, at most %.0f %% may", long, functions, share*100, longFunc, maxLong*100)
	}
}

// maxMethods is the number of methods above which a type usually has several purposes.
const maxMethods = 50

// TestReceivers: a type with many methods usually has several purposes.
func TestReceivers(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[s.dir()+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, more than %d: find the state that each needs, and split the type by it", name, n, maxMethods)
		}
	}
}

// receiver returns the name of the type of a receiver.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// TestSizesOfTemplates applies the file limit of TestSizes to templates.
func TestSizesOfTemplates(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("views/*/*.templ")
	own, err2 := filepath.Glob("views/*.templ")
	if err = errors.Join(err, err2); err != nil || len(own) == 0 {
		t.Fatalf("%d templates: %v", len(own), err)
	}
	for _, path := range append(own, paths...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > maxFile {
			t.Errorf("%s has %d lines, more than %d", path, n, maxFile)
		}
	}
}

// TestPackages requires a comment on every package, and forbids init functions and reads
// of the environment outside commands.
func TestPackages(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.dir()] = documented[s.dir()] || s.file.Doc != nil
		if !s.test() && !mayReadEnvironment(s) {
			for _, use := range environmentReads(s) {
				t.Errorf("%s reads the environment: only cmd may, and passes values on", use)
			}
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init runs implicitly; call a function instead", s.where(f))
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

// mayReadEnvironment allows commands, and the packages through which tests find their
// engines.
func mayReadEnvironment(s source) bool {
	return s.main() || slices.Contains([]string{"db/dbtest", "compute/launcher/kube/kubetest", "data/artifact/s3test", "platform/embedded/postgres/replicatest", "platform/testserver"}, s.dir())
}

func environmentReads(s source) (uses []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if ok && pkg.Name == "os" && (sel.Sel.Name == "Getenv" || sel.Sel.Name == "LookupEnv" || sel.Sel.Name == "ExpandEnv") {
			uses = append(uses, s.where(sel))
		}
		return true
	})
	return uses
}

// TestRulesBite checks the rules above on a file that violates them.
func TestRulesBite(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	text := "package p\nimport \"os\"\nfunc f() string {\n\n\treturn os.Getenv(\"HOME\")\n}\n"
	file, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := source{path: "p/p.go", file: file, fset: fset}
	if uses := environmentReads(s); len(uses) != 1 || uses[0] != "p/p.go:5" || mayReadEnvironment(s) {
		t.Errorf("reads of the environment: %q", uses)
	}
	if n := s.length(file.Decls[1]); n != 4 || s.lines() != 6 {
		t.Errorf("the function has %d lines, the file %d", n, s.lines())
	}
}
