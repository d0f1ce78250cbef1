package fair

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flowforge/flowforge/apperr"
)

// forest builds trees by name: "tenant/team/project".
type forest struct {
	levels []Level
	ids    map[string]uuid.UUID
}

// grow returns a forest whose cluster has the given capacity.
func grow(capacity Vector) *forest {
	f := &forest{ids: map[string]uuid.UUID{}}
	f.put("", "installation", "installation", Limits{Limit: capacity}, uuid.Nil)
	return f
}

func (f *forest) put(path, kind, name string, l Limits, parent uuid.UUID) *forest {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(path))
	f.ids[path] = id
	f.levels = append(f.levels, Level{ID: id, Parent: parent, Kind: kind, Name: name, Limits: l})
	return f
}

// tenant, team and project add a level below the one that its path names.
func (f *forest) tenant(path string, l Limits) *forest { return f.below(path, "tenant", l) }
func (f *forest) team(path string, l Limits) *forest   { return f.below(path, "team", l) }
func (f *forest) project(path string, l Limits) *forest {
	return f.below(path, "project", l)
}

func (f *forest) below(path, kind string, l Limits) *forest {
	parent, name := "", path
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			parent, name = path[:i], path[i+1:]
			break
		}
	}
	return f.put(path, kind, name, l, f.ids[parent])
}

func (f *forest) tree(t require.TestingT) *Tree {
	tree, err := NewTree(f.levels)
	require.NoError(t, err)
	return tree
}

func gpus(n int64) Vector { return Vector{GPU: n} }

func TestTreeRefusesUnsoundLimits(t *testing.T) {
	t.Parallel()
	sound := func() *forest { return grow(gpus(8)).tenant("a", Limits{Limit: gpus(4)}) }
	for name, c := range map[string]struct {
		levels []Level
		says   string
	}{
		"child above parent":      {sound().project("a/p", Limits{Limit: gpus(5)}).levels, "The limit of GPUs for project p is 5 GPUs, which exceeds the 4 GPUs of tenant a."},
		"child above grandparent": {sound().team("a/t", Limits{}).project("a/t/p", Limits{Limit: gpus(5)}).levels, "exceeds the 4 GPUs of tenant a"},
		"weight":                  {sound().project("a/p", Limits{Weight: -1}).levels, "The weight of project p is -1; it must be above 0 and at most 1000."},
		"resource":                {sound().project("a/p", Limits{Limit: Vector{"bananas": 1}}).levels, `"bananas"`},
		"negative":                {sound().project("a/p", Limits{Limit: gpus(-1)}).levels, "0 or more"},
		"lend":                    {sound().project("a/p", Limits{Limit: gpus(2), Lend: gpus(3)}).levels, "project p cannot lend 3 GPUs: its limit is 2 GPUs."},
		"borrow without limit":    {sound().project("a/p", Limits{Borrow: gpus(3)}).levels, "only if it has its own limit"},
		"unknown parent":          {append(sound().levels, Level{ID: uuid.New(), Parent: uuid.New(), Kind: "team", Name: "x"}), "The parent of team x is unknown."},
		"two roots":               {append(sound().levels, Level{ID: uuid.New(), Kind: "team", Name: "x"}), "one root"},
		"root borrows":            {[]Level{{ID: uuid.New(), Kind: "installation", Limits: Limits{Limit: gpus(1), Borrow: gpus(1)}}}, "cannot borrow"},
	} {
		_, err := NewTree(c.levels)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, apperr.Invalid, apperr.CodeOf(err), name)
	}
	circle := sound().levels
	a, b := uuid.New(), uuid.New()
	_, err := NewTree(append(circle, Level{ID: a, Parent: b}, Level{ID: b, Parent: a}))
	require.ErrorContains(t, err, "their own ancestors")
	f := sound().project("a/p", Limits{Limit: Vector{GPU: 9, CPU: -1}})
	_, err = NewTree(f.levels)
	fields := apperr.FieldsOf(err)
	require.Len(t, fields, 2)
	require.Equal(t, f.ids["a/p"].String()+".limit.cpu", fields[0].Path)
}

func TestEffectiveLimit(t *testing.T) {
	t.Parallel()
	// The cluster has 10 GPUs; a and b are guaranteed 4 each, c has no limit.
	for name, c := range map[string]struct {
		a, b, c Limits
		used    map[string]int64
		at      string
		free    int64
	}{
		"its own":                  {a: Limits{Limit: gpus(4)}, at: "a", free: 4},
		"and what it may borrow":   {a: Limits{Limit: gpus(4), Borrow: gpus(3)}, at: "a", free: 7},
		"as much as there is":      {a: Limits{Limit: gpus(4), Borrow: gpus(30)}, at: "a", free: 10},
		"what the parent has left": {a: Limits{Limit: gpus(4)}, used: map[string]int64{"c": 8}, at: "a", free: 2},
		"no limit, all there is":   {at: "c", free: 10},
		"a sibling lends all":      {a: Limits{Limit: gpus(4), Borrow: gpus(9)}, b: Limits{Limit: gpus(4)}, at: "a", free: 10},
		"a sibling lends nothing":  {a: Limits{Limit: gpus(4), Borrow: gpus(9)}, b: Limits{Limit: gpus(4), Lend: gpus(0)}, at: "a", free: 6},
		"a sibling lends some":     {a: Limits{Limit: gpus(4), Borrow: gpus(9)}, b: Limits{Limit: gpus(4), Lend: gpus(1)}, at: "a", free: 7},
		"a sibling uses what it has": {
			a: Limits{Limit: gpus(4), Borrow: gpus(9)}, b: Limits{Limit: gpus(4), Lend: gpus(1)},
			used: map[string]int64{"b": 3}, at: "a", free: 7,
		},
		"without a limit what is lent": {b: Limits{Limit: gpus(4), Lend: gpus(1)}, at: "c", free: 7},
		"within the guarantee though a sibling lends nothing": {
			a: Limits{Limit: gpus(8)}, b: Limits{Limit: gpus(4), Lend: gpus(0)}, at: "a", free: 8,
		},
	} {
		b := NewLedger(grow(gpus(10)).tenant("a", c.a).tenant("b", c.b).tenant("c", c.c).tree(t))
		f := grow(gpus(10)).tenant("a", c.a).tenant("b", c.b).tenant("c", c.c)
		for path, n := range c.used {
			b.Add(f.ids[path], gpus(n))
		}
		require.Equal(t, c.free, b.available(b.tree.index[f.ids[c.at]], 2), name)
		if c.free > 0 {
			require.Nil(t, b.Check(f.ids[c.at], gpus(c.free), true), name)
		}
		require.NotNil(t, b.Check(f.ids[c.at], gpus(c.free+1), true), name)
	}
}

// TestKeptThroughLevels: what is reserved for b counts against a, even across a level
// without a limit, and where their common parent would itself borrow.
func TestKeptThroughLevels(t *testing.T) {
	t.Parallel()
	f := grow(gpus(10)).
		tenant("x", Limits{}).team("x/b", Limits{Limit: gpus(4), Lend: gpus(0)}).
		tenant("y", Limits{}).team("y/a", Limits{})
	b := NewLedger(f.tree(t))
	require.Nil(t, b.Check(f.ids["y/a"], gpus(6), true))
	reason := b.Check(f.ids["y/a"], gpus(7), true)
	require.Equal(t, GPUUnavailable, reason.Code)
	require.Equal(t, "Waiting for GPUs: requests 7 GPUs; the cluster has 6 left of 10; 4 are guaranteed to others and not lent.", reason.Message)

	f = grow(gpus(20)).tenant("z", Limits{Limit: gpus(10)}).
		tenant("p", Limits{Limit: gpus(10), Borrow: gpus(10)}).
		team("p/s", Limits{Limit: gpus(10), Lend: gpus(0)}).team("p/l", Limits{Limit: gpus(0), Borrow: gpus(20)})
	b = NewLedger(f.tree(t))
	b.Add(f.ids["z"], gpus(10))
	require.NotNil(t, b.Check(f.ids["p/l"], gpus(1), true), "p could not return the guarantee of s")
	b.Subtract(f.ids["z"], gpus(4))
	require.Nil(t, b.Check(f.ids["p/l"], gpus(4), true))
	require.NotNil(t, b.Check(f.ids["p/l"], gpus(5), true))
}

func TestNotPreemptibleKeepsToTheGuarantee(t *testing.T) {
	t.Parallel()
	f := grow(gpus(10)).tenant("a", Limits{Limit: gpus(4), Borrow: gpus(6)}).tenant("b", Limits{Limit: gpus(4)}).tenant("c", Limits{})
	b := NewLedger(f.tree(t))
	require.Nil(t, b.Check(f.ids["a"], gpus(4), false))
	reason := b.Check(f.ids["a"], gpus(5), false)
	require.Equal(t, QuotaExceeded, reason.Code)
	require.Contains(t, reason.Message, "not preemptible")
	require.Nil(t, b.Check(f.ids["c"], gpus(2), false))
	require.NotNil(t, b.Check(f.ids["c"], gpus(3), false), "8 are guaranteed to others")
	require.Nil(t, b.Check(f.ids["c"], gpus(10), true))
}

func TestReasonNamesLevelAndNumbers(t *testing.T) {
	t.Parallel()
	f := grow(Vector{CPU: 4000, OfType("A100"): 16}).tenant("a", Limits{Limit: Vector{OfType("A100"): 12}, Borrow: Vector{OfType("A100"): 2}})
	b := NewLedger(f.tree(t))
	b.Add(f.ids["a"], Vector{OfType("A100"): 12})
	reason := b.Check(f.ids["a"], Amount{GPUs: 4, GPUType: "A100", CPUMillis: 8000}.Vector(), true)
	level := LevelRef{f.ids["a"], "tenant", "a"}
	require.Equal(t, &Reason{
		Code: QuotaExceeded, Resource: "gpu:A100", Requested: 4, Free: 2, Capacity: 14, Missing: 2, Level: &level,
		Message: "Waiting for A100 GPUs: requests 4 A100 GPUs; tenant a has 2 left of 14 (12 of its own, 2 borrowed).",
	}, reason)
	reason = b.Check(f.ids["a"], Vector{CPU: 8000}, true)
	require.Equal(t, CPUUnavailable, reason.Code)
	require.Equal(t, "Waiting for CPU: requests 8 cores; the cluster has 4 cores left of 4 cores.", reason.Message)
	require.Equal(t, "m", reason.Unit)
	require.Equal(t, QuotaExceeded, b.Check(uuid.New(), nil, true).Code)
}

func TestBorrowDistance(t *testing.T) {
	t.Parallel()
	f := grow(gpus(20)).tenant("a", Limits{Limit: gpus(10), Borrow: gpus(10)}).
		team("a/t", Limits{Limit: gpus(8), Borrow: gpus(10)}).project("a/t/p", Limits{Limit: gpus(4), Borrow: gpus(10)}).
		project("a/t/q", Limits{})
	b := NewLedger(f.tree(t))
	p, q := b.tree.index[f.ids["a/t/p"]], b.tree.index[f.ids["a/t/q"]]
	for n, distance := range map[int64]int{4: 0, 5: 1, 9: 2, 11: 3} {
		require.Equal(t, distance, b.distance(p, demand{{2, n}}), n)
	}
	require.Equal(t, 0, b.distance(q, demand{{2, 8}}), "without a limit there is no bound")
	require.Equal(t, 2, b.distance(q, demand{{2, 9}}))
}

// TestSumsStayRight compares the sums that change maintains with those of a new Ledger.
func TestSumsStayRight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree := anyTree(t)
		b, set := NewLedger(tree), NewLedger(tree)
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			i := rapid.IntRange(0, len(tree.levels)-1).Draw(t, "level")
			a := rapid.IntRange(0, tree.axes.count()-1).Draw(t, "axis")
			b.change(i, a, int64(rapid.IntRange(-b.headroom(i, a), 10).Draw(t, "n")), -1)
		}
		for _, i := range rapid.Permutation(indexes(tree)).Draw(t, "order") {
			set.SetUsed(tree.levels[i].ID, b.axes.vector(b.used[i]))
		}
		for i := range tree.levels {
			for a := range tree.axes.count() {
				var unlent, unused int64
				for _, c := range tree.levels[i].children {
					unlent += b.reservedFor(c, a, false)
					unused += b.reservedFor(c, a, true)
				}
				require.Equal(t, unlent, b.unlent[i].at(a))
				require.Equal(t, unused, b.unused[i].at(a))
				require.Equal(t, unlent, set.unlent[i].at(a))
				require.Equal(t, unused, set.unused[i].at(a))
				require.Equal(t, b.used[i].at(a), set.used[i].at(a))
			}
		}
	})
}

func indexes(t *Tree) []int {
	all := make([]int, len(t.levels))
	for i := range all {
		all[i] = i
	}
	return all
}

// headroom returns how much can be subtracted from level i without making a level above
// it, or its sums, negative.
func (b *Ledger) headroom(i, a int) int {
	own := b.used[i].at(a)
	for _, c := range b.tree.levels[i].children {
		own -= b.used[c].at(a)
	}
	return int(max(0, min(own, 10)))
}

// anyTree draws a tree of three levels below the root with sound limits of
// CPU and GPUs.
func anyTree(t *rapid.T) *Tree {
	draw := func(above Vector) Limits {
		l := Limits{Weight: float64(rapid.IntRange(1, 4).Draw(t, "weight")), Limit: Vector{}, Borrow: Vector{}, Lend: Vector{}}
		for _, r := range above.Resources() {
			n := above[r]
			if !rapid.Bool().Draw(t, "limited") {
				continue
			}
			l.Limit[r] = rapid.Int64Range(0, n).Draw(t, "limit")
			l.Borrow[r] = rapid.Int64Range(0, n).Draw(t, "borrow")
			if rapid.Bool().Draw(t, "lends") {
				l.Lend[r] = rapid.Int64Range(0, l.Limit[r]).Draw(t, "lend")
			}
		}
		return l
	}
	within := func(above Vector, l Limits) Vector {
		v := Vector{}
		for _, r := range above.Resources() {
			n := above[r]
			v[r] = n
			if limit, ok := l.Limit[r]; ok {
				v[r] = limit
			}
		}
		return v
	}
	capacity := Vector{CPU: 12, GPU: 12}
	f := grow(capacity)
	for _, a := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "tenants")] {
		la := draw(capacity)
		f.tenant(a, la)
		for _, b := range []string{"/x", "/y"}[:rapid.IntRange(1, 2).Draw(t, "teams")] {
			lb := draw(within(capacity, la))
			f.team(a+b, lb)
			for _, c := range []string{"/1", "/2"}[:rapid.IntRange(1, 2).Draw(t, "projects")] {
				f.project(a+b+c, draw(within(within(capacity, la), lb)))
			}
		}
	}
	tree, err := NewTree(f.levels)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
