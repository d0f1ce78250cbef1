// Package flowforge_test checks the rules of the whole repository: allowed imports, sizes
// of files and functions, wording, and that documents refer only to what exists.
package flowforge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/flowforge/flowforge"

// rule is a row of the import table in docs/design.md. A name with /... matches the
// package and all packages below it. A package may always import the packages of its own
// tree.
type rule struct {
	packages string
	may      string // allowed packages of this module; "*": all
	not      string // forbidden packages of any module
}

const services = "access/auth/... access/audit access/identity access/tenancy access/secret access/connection access/secretstore engine/quota/... data/artifact/... data/telemetry/... data/index data/view data/report/... data/catalogue data/registry data/dataset/... data/metaflow/... data/message engine/search engine/workflow engine/execution engine/execution/query compute/resident compute/pool engine/retention engine/launchfile engine/preset engine/options engine/comparison/... engine/sweep/... engine/lineage/... engine/schedule/... engine/backfill engine/notify engine/inbox engine/trigger engine/feed/..."

// site is what every part of the site works with, and shared what areas of it share.
const (
	site   = "platform/release platform/sharing platform/units web views/... static typeregistry engine/argo engine/dag engine/protect data/channel/... proto/... access/masking apperr " + services + " "
	shared = "handlers/amount handlers/content handlers/form handlers/label handlers/leader handlers/page handlers/planview handlers/request handlers/sentence handlers/source handlers/table"
)

// allGroups are the packages of client-go that use every group of the Kubernetes API. They
// added 11 MB to the program, which calls six groups (kube.API).
const allGroups = "k8s.io/client-go/kubernetes k8s.io/client-go/informers/..."

func table() []rule {
	return []rule{
		// 0: no imports of this module
		{packages: "apperr engine/memo migrations static proto/... sdk examples platform/unixsocket access/masking engine/protect data/channel/... platform/freeport platform/testlog platform/testserver platform/release platform/units platform/memory platform/sharing engine/execution/stored engine/search engine/comparison/curve engine/comparison/sheet engine/sweep/sobol engine/sweep/stopping engine/sweep/importance engine/sweep/optuna engine/lineage/graph engine/schedule/cron data/markdown docs"},
		// 1
		{packages: "db", may: "apperr migrations"},
		{packages: "db/dbtest", may: "db apperr migrations"},
		{packages: "db/replica", may: "db"},
		{packages: "typeregistry", may: "apperr platform/units engine/expression"},
		{packages: "engine/expression platform/embedded/...", may: "apperr platform/units"},
		// 2
		{packages: "engine/dag", may: "typeregistry engine/expression apperr"},
		{packages: "compute/launcher compute/launcher/local", may: "apperr proto/... sdk platform/unixrpc platform/unixsocket compute/launcher"},
		{packages: "compute/launcher/kube/kubetest"},
		{packages: "compute/launcher/kube/...", may: "apperr platform/units proto/... sdk compute/launcher", not: allGroups},
		{packages: "compute/runner/...", may: "engine/expression proto/... sdk platform/memory platform/unixrpc platform/unixsocket access/masking data/bucket data/channel/..."},
		{packages: "platform/unixrpc", may: "platform/unixsocket"},
		{packages: "platform/observability/..."},
		{packages: "platform/certificate platform/certificate/certtest"},
		// 3
		{packages: "access/auth/...", may: "db apperr access/auth"},
		{packages: "access/audit", may: "db apperr access/auth"},
		{packages: "platform/election/...", may: "db apperr", not: allGroups},
		{packages: "access/identity", may: "db apperr access/auth/... access/audit"},
		{packages: "engine/quota/fair", may: "apperr platform/units"},
		{packages: "access/tenancy access/secret engine/quota data/artifact/... data/bucket/...", may: "db apperr access/auth access/audit engine/quota/fair engine/search data/channel/mark data/markdown platform/freeport platform/testserver platform/units"},
		{packages: "data/outgoing", may: "data/bucket"},
		{packages: "data/message", may: "data/outgoing platform/units"},
		{packages: "engine/notify", may: "apperr access/auth access/audit data/markdown data/message db engine/expression platform/units"},
		{packages: "engine/inbox", may: "apperr access/auth access/audit data/message db engine/notify platform/units"},
		{packages: "access/connection", may: "db apperr access/auth access/audit access/secret access/masking data/bucket data/message data/outgoing typeregistry"},
		{packages: "access/secretstore", may: "db apperr access/auth access/audit access/secret access/connection access/masking data/outgoing platform/units"},
		{packages: "compute/pool", may: "db apperr access/auth access/audit proto/... compute/launcher"},
		{packages: "compute/worker", may: "compute/runner/... proto/..."},
		{packages: "compute/resident", may: "db apperr access/auth proto/... compute/launcher"},
		{packages: "data/artifact/preview", may: "apperr"},
		{packages: "data/metaflow/pickle"},
		{packages: "data/metaflow/...", may: "db apperr access/auth access/audit data/bucket platform/units"},
		{packages: "data/telemetry/...", may: "migrations platform/sharing platform/unixsocket db apperr access/auth"},
		{packages: "data/index", may: "db apperr access/auth access/audit data/telemetry engine/search"},
		{packages: "data/view", may: "db apperr access/auth access/audit data/index"},
		{packages: "data/report/document", may: "data/markdown"},
		{packages: "data/report", may: "db apperr access/auth access/audit data/report/document"},
		{packages: "data/catalogue", may: "db engine/search typeregistry apperr access/auth access/audit"},
		{packages: "data/dataset/drift", may: "data/artifact/preview"},
		{packages: "data/dataset", may: "db typeregistry apperr access/auth access/audit data/artifact data/artifact/preview data/catalogue data/dataset/drift"},
		{packages: "data/registry", may: "db typeregistry apperr access/auth access/audit data/catalogue"},
		{packages: "engine/workflow", may: "engine/dag engine/protect typeregistry engine/expression access/auth access/audit db apperr platform/units"},
		{packages: "engine/argo", may: "engine/schedule/cron engine/workflow engine/dag engine/protect typeregistry engine/expression apperr platform/units"},
		// 4
		{packages: "engine/execution/query", may: "apperr db access/auth engine/dag engine/protect engine/quota engine/quota/fair engine/workflow compute/launcher engine/execution/stored"},
		{packages: "engine/execution", may: "engine/execution/query engine/execution/stored apperr engine/memo access/masking proto/... db typeregistry engine/expression engine/dag engine/protect data/channel compute/launcher access/auth access/audit engine/quota engine/quota/fair access/secret access/connection data/artifact data/bucket data/telemetry data/catalogue engine/workflow platform/units"},
		{packages: "engine/options", may: "db engine/execution engine/execution/query typeregistry apperr access/auth data/artifact data/catalogue data/index data/outgoing engine/search engine/workflow platform/units"},
		{packages: "engine/launchfile", may: "apperr engine/workflow"},
		{packages: "engine/preset", may: "typeregistry db apperr access/auth access/audit engine/workflow"},
		{packages: "engine/retention", may: "platform/units db apperr access/auth access/audit data/artifact engine/workflow"},
		{packages: "engine/comparison/change", may: "engine/workflow engine/dag typeregistry platform/units engine/comparison/sheet"},
		{packages: "engine/comparison", may: "apperr access/auth data/artifact data/telemetry engine/execution/query engine/workflow engine/search engine/comparison/curve engine/comparison/sheet platform/units"},
		{packages: "engine/comparison/model", may: "apperr access/auth data/catalogue data/registry engine/comparison engine/comparison/sheet engine/lineage"},
		{packages: "engine/sweep/space", may: "apperr typeregistry"},
		{packages: "engine/sweep", may: "typeregistry db apperr access/auth access/audit data/index data/telemetry engine/quota/fair engine/execution engine/execution/query engine/workflow engine/sweep/space engine/sweep/sobol engine/sweep/stopping engine/sweep/importance engine/sweep/optuna platform/units"},
		{packages: "engine/feed/sink/sinktest", may: "*"},
		{packages: "engine/feed/...", may: "db apperr access/auth access/audit platform/certificate platform/units"},
		{packages: "engine/trigger", may: "typeregistry db apperr access/auth access/audit access/connection data/bucket data/outgoing platform/units engine/expression engine/execution engine/execution/query engine/feed engine/workflow"},
		{packages: "engine/backfill", may: "typeregistry db apperr access/auth access/audit engine/execution engine/execution/query engine/workflow engine/schedule"},
		{packages: "engine/schedule", may: "typeregistry db apperr access/auth access/audit engine/expression engine/execution engine/execution/query engine/workflow engine/schedule/cron"},
		{packages: "engine/lineage", may: "apperr db access/auth data/catalogue engine/dag engine/workflow engine/lineage/graph typeregistry"},
		// 5
		{packages: "views/...", may: "static typeregistry platform/units", not: "net/http database/sql"},
		{packages: "web", may: "access/auth apperr views/... static platform/units"},
		{packages: "web/contract", may: "apperr engine/execution/query engine/feed engine/quota/fair"}, // what answers contain
		// 6
		{packages: shared, may: site + shared},
		{packages: "handlers/catalogue handlers/executions handlers/home", may: site + shared + " handlers/artifacts handlers/executions handlers/metaflowruns docs sdk"}, // rows of lists; the documents and the wheel that pages show
		{packages: "handlers/account handlers/admin handlers/artifacts handlers/backfills handlers/compare handlers/datasets handlers/events handlers/failures handlers/inbox handlers/launch handlers/lineage handlers/metaflowruns handlers/notifications handlers/quotas handlers/registry handlers/schedules handlers/sweeps handlers/triggers", may: site + shared},
		{packages: "handlers/reports", may: site + shared + " handlers/artifacts handlers/executions handlers/sweeps"}, // blocks show what these areas show
		{packages: "handlers/api", may: site + shared + " web/contract"}, // pages have models of their own
		{packages: "handlers/hooks handlers/metaflow handlers/scheduler handlers/tasks", may: site + shared + " platform/unixrpc"},
		{packages: "handlers", may: site + "handlers/... platform/unixrpc sdk"}, // the wheel that it serves
		{packages: "jobs", may: "apperr " + services},
		// 7
		{packages: "cmd/flowforge/...", may: "*", not: module + "/handlers/..."}, // a client of the API
		{packages: "app", may: "*", not: allGroups},
		{packages: "cmd/... e2e/... bench/... deploy/... engine/enginetest", may: "*"},
	}
}

// onClusters are the packages that may use Kubernetes; the runner and the engine must
// not.
const onClusters = "compute/launcher/kube/... platform/election/kubernetes platform/observability app cmd/... e2e/... bench/..."

// listed is the part of the output of `go list` that the test reads.
type listed struct {
	ImportPath string
	Imports    []string
}

// violations returns the imports of p that the table does not allow.
func violations(p listed) []string {
	name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if name == "" {
		return nil // this test package
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

// matches reports whether one of the patterns matches name.
func matches(name, patterns string) bool {
	for pattern := range strings.FieldsSeq(patterns) {
		root, below := strings.CutSuffix(pattern, "/...")
		if name == root || below && strings.HasPrefix(name, root+"/") {
			return true
		}
	}
	return false
}

// tree returns the root of the /... pattern that matches name.
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
	var names []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(p.ImportPath, module+"/"))
		for _, v := range violations(p) {
			t.Error(v)
		}
	}
	if len(names) < 20 {
		t.Errorf("go list returned only %d packages: this test checks nothing", len(names))
	}
	for _, pattern := range unmatched(names) {
		t.Errorf("the import table contains %s, which does not exist", pattern)
	}
}

// unmatched returns the patterns of the import table that match none of the packages.
func unmatched(packages []string) (patterns []string) {
	for _, r := range table() {
		for pattern := range strings.FieldsSeq(r.packages + " " + r.may) {
			if pattern != "*" && !slices.ContainsFunc(packages, func(name string) bool { return matches(name, pattern) }) {
				patterns = append(patterns, pattern)
			}
		}
	}
	return patterns
}

// TestReleaseHasNoGallery: builds for production leave the fixtures of the gallery out, and
// each build command sets the tag that does so.
func TestReleaseHasNoGallery(t *testing.T) {
	t.Parallel()
	const gallery = module + "/views/gallery"
	for tags, want := range map[string]bool{"nogallery": false, "nochdb,nogallery": false, "": true} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "./cmd/flowforge").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(strings.Fields(string(out)), gallery); got != want {
			t.Errorf("-tags %q: the program contains the gallery: %v, want %v", tags, got, want)
		}
	}
	for _, path := range []string{"Makefile", "Dockerfile"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "./cmd/flowforge") || !strings.Contains(line, " build ") {
				continue
			}
			for _, flag := range []string{"nogallery", "-trimpath", "-s -w"} {
				if !strings.Contains(line, flag) {
					t.Errorf("%s builds the program without %s: %s", path, flag, line)
				}
			}
		}
	}
}

// TestImportsBite checks that the table rejects forbidden imports.
func TestImportsBite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"handlers", module + "/engine/execution", true},
		{"handlers", module + "/db", false},
		{"handlers", module + "/jobs", false},
		{"handlers/launch", module + "/handlers/page", true},
		{"handlers/launch", module + "/handlers/executions", false},
		{"handlers/home", module + "/handlers/executions", true},
		{"handlers/label", module + "/handlers/launch", false},
		{"handlers/api", module + "/web/contract", true},
		{"handlers/executions", module + "/web/contract", false},
		{"web/contract", module + "/engine/execution", false},
		{"jobs", module + "/views", false},
		{"jobs", module + "/engine/execution", true},
		{"engine/execution", module + "/engine/execution/query", true},
		{"engine/execution/query", module + "/engine/execution", false},
		{"views", module + "/engine/execution", false},
		{"views/ui", module + "/views", true},
		{"views/forms", "net/http", false},
		{"apperr", module + "/db", false},
		{"engine/dag", module + "/db", false},
		{"platform/embedded/postgres", module + "/platform/embedded/child", true},
		{"platform/embedded/postgres", module + "/db", false},
		{"compute/runner", module + "/apperr", false},
		{"engine/workflow", module + "/engine/execution", false},
		{"app", module + "/db", true},
		{"cmd/flowforge", module + "/web/contract", true},
		{"cmd/flowforge", module + "/handlers/api", false},
		{"compute/launcher/kube", "k8s.io/api/core/v1", true},
		{"compute/launcher/kube", "k8s.io/client-go/kubernetes/typed/core/v1", true},
		{"compute/launcher/kube", "k8s.io/client-go/kubernetes", false},
		{"app", "k8s.io/client-go/informers/core/v1", false},
		{"engine/execution", "k8s.io/api/core/v1", false},
		{"compute/launcher/local", module + "/compute/launcher/kube", false},
		{"util", "strings", false},
	} {
		got := violations(listed{ImportPath: module + "/" + c.from, Imports: []string{c.to}})
		if (len(got) == 0) != c.allowed {
			t.Errorf("%s → %s: %q, want allowed %v", c.from, c.to, got, c.allowed)
		}
	}
	if got := unmatched([]string{"apperr"}); !slices.Contains(got, "db") || slices.Contains(got, "apperr") {
		t.Errorf("rows without a package: %q", got)
	}
}

// TestReleaseHasNoBroker: tests start brokers in their process; the program contains their clients alone.
func TestReleaseHasNoBroker(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/flowforge").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if matches(path, "github.com/nats-io/nats-server/...") || matches(path, "github.com/twmb/franz-go/pkg/kfake/...") {
			t.Errorf("the program contains %s", path)
		}
	}
}
