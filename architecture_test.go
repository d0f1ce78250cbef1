// Package flowforge_test holds the rules of the whole repository: who may import
// whom, how long things may be, and that documents name what exists.
package flowforge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/flowforge/flowforge"

// rule is a row of the import table in docs/design.md. A name with /... stands
// for the package and all below it; what is below a package may always import
// its own tree.
type rule struct {
	packages string
	may      string // packages of ours; "*" is all of them
	not      string // packages of anybody
}

const services = "auth/... audit identity tenancy secret quota/... artifact/... telemetry/... notify catalogue workflow execution resident schedule metaflow retention"

func table() []rule {
	return []rule{
		// 0: they know nothing of ours
		{packages: "apperr memo migrations static proto/... sdk examples unixsocket masking protect channel/... freeport"},
		// 1
		{packages: "db", may: "apperr migrations"},
		{packages: "db/dbtest", may: "db apperr migrations"},
		{packages: "typeregistry expression embedded/...", may: "apperr"},
		// 2
		{packages: "dag", may: "typeregistry expression apperr"},
		{packages: "launcher launcher/local", may: "apperr proto/... sdk unixsocket launcher"},
		{packages: "launcher/kube/...", may: "apperr proto/... sdk launcher"},
		{packages: "runner/...", may: "proto/... sdk unixsocket masking channel/..."},
		{packages: "observability/..."},
		{packages: "certificate certificate/certtest"},
		// 3
		{packages: "auth/...", may: "db apperr auth"},
		{packages: "audit", may: "db apperr auth"},
		{packages: "election/...", may: "db apperr"},
		{packages: "identity", may: "db apperr auth/... audit"},
		{packages: "quota/fair", may: "apperr"},
		{packages: "tenancy secret quota artifact/... notify", may: "db apperr auth audit quota/fair channel/mark freeport"},
		{packages: "resident", may: "db apperr auth proto/... launcher"},
		{packages: "telemetry/...", may: "migrations unixsocket db apperr auth"},
		{packages: "catalogue", may: "db typeregistry apperr auth audit"},
		{packages: "workflow", may: "dag protect typeregistry expression auth audit db apperr"},
		{packages: "argo", may: "workflow dag protect typeregistry expression apperr"},
		// 4
		{packages: "execution schedule metaflow", may: "apperr memo masking proto/... db typeregistry expression dag protect channel launcher auth audit quota quota/fair secret artifact telemetry notify catalogue workflow"},
		{packages: "retention", may: "db apperr auth audit artifact workflow"},
		// 5
		{packages: "views/...", may: "static typeregistry", not: "net/http database/sql"},
		{packages: "web", may: "auth apperr views/... static"},
		// 6
		{packages: "handlers", may: "web views/... static typeregistry dag protect channel/... proto/... masking apperr " + services},
		{packages: "jobs", may: "apperr " + services},
		// 7
		{packages: "app cmd/... e2e/... bench/... deploy/...", may: "*"},
	}
}

// onClusters are the packages that may talk to Kubernetes; the runner and the
// engine never do.
const onClusters = "launcher/kube/... election/kubernetes observability app cmd/... e2e/... bench/..."

// listed is what `go list` says of a package.
type listed struct {
	ImportPath string
	Imports    []string
}

// violations returns the imports of p that the table does not allow.
func violations(p listed) []string {
	name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if name == "" {
		return nil // this package of tests
	}
	i := slices.IndexFunc(table(), func(r rule) bool { return matches(name, r.packages) })
	if i < 0 {
		return []string{name + " is in no row of the import table: add it, and a line to docs/design.md"}
	}
	row := table()[i]
	var bad []string
	for _, path := range p.Imports {
		ours, isOurs := strings.CutPrefix(path, module+"/")
		switch {
		case matches(path, row.not), matches(path, "k8s.io/...") && !matches(name, onClusters):
			bad = append(bad, name+" imports "+path)
		case !isOurs || row.may == "*" || matches(ours, row.may) || strings.HasPrefix(ours, tree(name, row.packages)):
		default:
			bad = append(bad, name+" imports "+ours)
		}
	}
	return bad
}

// matches reports whether one of the patterns stands for name.
func matches(name, patterns string) bool {
	for pattern := range strings.FieldsSeq(patterns) {
		root, below := strings.CutSuffix(pattern, "/...")
		if name == root || below && strings.HasPrefix(name, root+"/") {
			return true
		}
	}
	return false
}

// tree is the package that the pattern for name stands for, when it stands for
// all below it.
func tree(name, patterns string) string {
	for pattern := range strings.FieldsSeq(patterns) {
		if root, below := strings.CutSuffix(pattern, "/..."); below && matches(name, pattern) {
			return root
		}
	}
	return "\x00"
}

func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; packages++ {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, v := range violations(p) {
			t.Error(v)
		}
	}
	if packages < 20 {
		t.Errorf("go list names %d packages only: this test does not look", packages)
	}
}

// TestImportsBite shows that the table refuses what it is there to refuse.
func TestImportsBite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"handlers", module + "/execution", true},
		{"handlers", module + "/db", false},
		{"handlers", module + "/jobs", false},
		{"jobs", module + "/views", false},
		{"jobs", module + "/execution", true},
		{"views", module + "/execution", false},
		{"views/ui", module + "/views", true},
		{"views/forms", "net/http", false},
		{"apperr", module + "/db", false},
		{"dag", module + "/db", false},
		{"embedded/postgres", module + "/embedded/child", true},
		{"embedded/postgres", module + "/db", false},
		{"runner", module + "/apperr", false},
		{"workflow", module + "/execution", false},
		{"app", module + "/db", true},
		{"launcher/kube", "k8s.io/api/core/v1", true},
		{"execution", "k8s.io/api/core/v1", false},
		{"launcher/local", module + "/launcher/kube", false},
		{"util", "strings", false},
	} {
		got := violations(listed{ImportPath: module + "/" + c.from, Imports: []string{c.to}})
		if (len(got) == 0) != c.allowed {
			t.Errorf("%s → %s: %q, want allowed %v", c.from, c.to, got, c.allowed)
		}
	}
}
