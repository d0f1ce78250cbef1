package dag

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flowforge/flowforge/apperr"
)

// spec reads "name: dependency dependency/label".
func spec(text string) Spec {
	name, deps, _ := strings.Cut(text, ":")
	s := Spec{Name: name}
	for d := range strings.FieldsSeq(deps) {
		dep, label, _ := strings.Cut(d, "/")
		s.Dependencies = append(s.Dependencies, Dependency{Name: dep, Label: label})
	}
	return s
}

func specs(texts ...string) []Spec {
	out := make([]Spec, len(texts))
	for i, t := range texts {
		out[i] = spec(t)
	}
	return out
}

func TestCompileDiamond(t *testing.T) {
	t.Parallel()
	plan, problems := Compile(specs("report: train/model evaluate/score train/loss", "load:", "train: load/data", "evaluate: train/model load/data"))
	if problems != nil {
		t.Fatal(problems)
	}
	want := []Edge{{From: 1, To: 2, Label: "data"}, {From: 1, To: 3, Label: "data"}, {From: 2, To: 3, Label: "model"}}
	want = append([]Edge{{From: 2, To: 0, Label: "model, loss"}, {From: 3, To: 0, Label: "score"}}, want...)
	if diff := cmp.Diff(want, plan.Edges); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int{{1}, {2}, {3}, {0}}, plan.Levels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Node{
		{Name: "report", Index: 0, Level: 3, Dependencies: []int{2, 3}, Dependents: []int{}},
		{Name: "load", Index: 1, Level: 0, Dependencies: []int{}, Dependents: []int{2, 3}},
		{Name: "train", Index: 2, Level: 1, Dependencies: []int{1}, Dependents: []int{0, 3}},
		{Name: "evaluate", Index: 3, Level: 2, Dependencies: []int{1, 2}, Dependents: []int{0}},
	}, plan.Nodes, cmpopts.IgnoreUnexported(Node{})); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(plan.Entry, []int{1}) || !slices.Equal(plan.Exit, []int{0}) {
		t.Errorf("entry %v, exit %v", plan.Entry, plan.Exit)
	}
	if i, ok := plan.Lookup("train"); !ok || i != 2 {
		t.Errorf("Lookup(train) = %d, %v", i, ok)
	}
}

func TestCompileReportsEverythingTogether(t *testing.T) {
	t.Parallel()
	plan, problems := Compile(specs("a: a", "b: nowhere", "a:", "c: e b", "d: c", "e: d", "f: e", "x: y", "y: x"))
	if plan != nil {
		t.Error("got a plan despite the problems")
	}
	want := []apperr.Field{
		{Path: "operators[2].name", Message: `The name "a" is already used by operators[0].`},
		{Path: "operators[0].depends_on[0]", Message: `Operator "a" depends on itself.`},
		{Path: "operators[1].depends_on[0]", Message: `There is no operator called "nowhere".`},
		{Path: "operators[3]", Message: "Operators depend on each other: c → d → e → c."},
		{Path: "operators[7]", Message: "Operators depend on each other: x → y → x."},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}

func TestCompileUsesTheGivenPaths(t *testing.T) {
	t.Parallel()
	_, problems := Compile([]Spec{{Name: "a", Path: "steps.a", Dependencies: []Dependency{{Name: "b", Path: "steps.a.inputs[1].from"}}}})
	if len(problems) != 1 || problems[0].Path != "steps.a.inputs[1].from" {
		t.Errorf("%v", problems)
	}
}

func TestCompileShortensLongCycles(t *testing.T) {
	t.Parallel()
	ring := make([]Spec, 1000)
	for i := range ring {
		ring[i] = spec(fmt.Sprintf("n%d: n%d", i, (i+999)%1000))
	}
	_, problems := Compile(ring)
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "n18 → n19 → … (980 more) → n0.") {
		t.Errorf("%v", problems)
	}
}

func TestCompileNothing(t *testing.T) {
	t.Parallel()
	plan, problems := Compile(nil)
	if problems != nil || len(plan.Nodes) != 0 || len(plan.Levels) != 0 {
		t.Errorf("%+v %v", plan, problems)
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	plan, _ := Compile(specs("a:", "b: a", "c: a", "d: b c", "e:"))
	for i, want := range [][]int{{1, 2, 3}, {3}, {3}, nil, nil} {
		if got := plan.Downstream(i); !slices.Equal(got, want) {
			t.Errorf("Downstream(%d) = %v, want %v", i, got, want)
		}
	}
	if got := plan.Upstream(3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("Upstream(3) = %v", got)
	}
}

// randomSpecs has edges from earlier to later nodes of a shuffled order, and in one
// case out of four edges in either direction, so cycles occur.
func randomSpecs(r *rand.Rand, nodes, edges int) []Spec {
	out := make([]Spec, nodes)
	order := r.Perm(nodes)
	for i := range out {
		out[i].Name = fmt.Sprintf("n%d", i)
	}
	any := r.IntN(4) == 0
	for range edges {
		a, b := r.IntN(nodes), r.IntN(nodes)
		if a == b {
			continue
		}
		if !any && a > b {
			a, b = b, a
		}
		to := &out[order[b]]
		to.Dependencies = append(to.Dependencies, Dependency{Name: out[order[a]].Name, Label: fmt.Sprintf("v%d", r.IntN(3))})
	}
	return out
}

// checkPlan checks the invariants of a plan.
func checkPlan(t *testing.T, in []Spec, plan *Plan) {
	t.Helper()
	leveled := 0
	for level, nodes := range plan.Levels {
		leveled += len(nodes)
		if !slices.IsSorted(nodes) || len(nodes) == 0 {
			t.Fatalf("level %d: %v", level, nodes)
		}
	}
	if leveled != len(in) {
		t.Fatalf("%d of %d nodes have a level", leveled, len(in))
	}
	for i, n := range plan.Nodes {
		longest := -1
		for _, d := range n.Dependencies {
			longest = max(longest, plan.Nodes[d].Level)
			if !slices.Contains(plan.Nodes[d].Dependents, i) {
				t.Fatalf("%s is not among the dependents of %s", n.Name, plan.Nodes[d].Name)
			}
		}
		if n.Level != longest+1 || !slices.Contains(plan.Levels[n.Level], i) {
			t.Fatalf("%s: level %d, longest dependency %d", n.Name, n.Level, longest)
		}
		names := map[string]bool{}
		for _, d := range in[i].Dependencies {
			names[d.Name] = true
		}
		if len(names) != len(n.Dependencies) || !slices.IsSorted(n.Dependencies) || !slices.IsSorted(n.Dependents) {
			t.Fatalf("%s: dependencies %v, want %v", n.Name, n.Dependencies, names)
		}
		if slices.Contains(plan.Entry, i) != (len(n.Dependencies) == 0) || slices.Contains(plan.Exit, i) != (len(n.Dependents) == 0) {
			t.Fatalf("%s: wrong entry or exit", n.Name)
		}
	}
	if data, err := json.Marshal(plan); err != nil || len(data) == 0 {
		t.Fatalf("%s: %v", data, err)
	}
}

func checkCompile(t *testing.T, in []Spec) {
	t.Helper()
	plan, problems := Compile(in)
	if (plan == nil) == (problems == nil) {
		t.Fatalf("plan %v, problems %v", plan, problems)
	}
	if plan != nil {
		checkPlan(t, in, plan)
		return
	}
	for _, p := range problems {
		if p.Path == "" || p.Message == "" {
			t.Fatalf("empty problem: %+v", p)
		}
	}
}

func TestCompileProperties(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		nodes := 1 + r.IntN(20)
		checkCompile(t, randomSpecs(r, nodes, r.IntN(3*nodes)))
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("a:\nb: a/x\nc: a b/y")
	f.Add("a: b\nb: a\nb:\nc: c")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(strings.ToValidUTF8(text, "?"), "\n")
		checkCompile(t, specs(lines[:min(len(lines), 200)]...))
	})
}

func layered(layers, width, fanIn int) []Spec {
	r := rand.New(rand.NewPCG(3, 4))
	out := make([]Spec, 0, layers*width)
	for l := range layers {
		for i := range width {
			s := Spec{Name: fmt.Sprintf("layer%d_node%d", l, i)}
			for range fanIn {
				if l > 0 {
					s.Dependencies = append(s.Dependencies, Dependency{Name: fmt.Sprintf("layer%d_node%d", l-1, r.IntN(width)), Label: "out"})
				}
			}
			out = append(out, s)
		}
	}
	return out
}

func TestCompileTenThousandNodes(t *testing.T) {
	t.Parallel()
	plan, problems := Compile(layered(100, 100, 3))
	if problems != nil {
		t.Fatal(problems)
	}
	if len(plan.Nodes) != 10_000 || len(plan.Levels) != 100 {
		t.Errorf("%d nodes in %d levels", len(plan.Nodes), len(plan.Levels))
	}
}

func BenchmarkCompile(b *testing.B) {
	in := layered(100, 100, 3)
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Compile(in); problems != nil {
			b.Fatal(problems)
		}
	}
}
