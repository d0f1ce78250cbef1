package flowforge_test

import (
	"go/ast"
	"go/token"
	"testing"
)

// betterNames maps names that readers cannot guess to standard terms.
func betterNames() map[string]string {
	return map[string]string{
		"PutAway": "Dismiss", "letGo": "release", "goOn": "carryOver", "giveWay": "yield",
		"courier": "reporter", "crew": "containers", "obey": "applyCommand", "unpark": "takeIdle",
		"telling": "metricState", "Tidy": "Prune", "Culprit": "FailureSource", "NodePlace": "NodePath",
	}
}

func TestNamesAreStandardTerms(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for id, better := range riddles(s.file) {
			t.Errorf("%s: %s: call it %s", s.where(id), id.Name, better)
		}
	}
}

func TestRiddlesAreFound(t *testing.T) {
	t.Parallel()
	file := &ast.File{Name: ast.NewIdent("p"), Decls: []ast.Decl{&ast.GenDecl{Tok: token.VAR, Specs: []ast.Spec{
		&ast.ValueSpec{Names: []*ast.Ident{ast.NewIdent("courier"), ast.NewIdent("reporter")}},
	}}}}
	if n := len(riddles(file)); n != 1 {
		t.Fatalf("found %d riddles, want 1", n)
	}
}

func riddles(file *ast.File) map[*ast.Ident]string {
	found := map[*ast.Ident]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && betterNames()[id.Name] != "" {
			found[id] = betterNames()[id.Name]
		}
		return true
	})
	return found
}
