package fair

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// chaos calls a Scheduler at random over a random tree, and keeps its own record of the
// reservations.
type chaos struct {
	*bundle

	r          *rapid.T
	projects   []string
	executions []uuid.UUID
	held       map[Key]Request
	waiting    map[Key]Request
	node       int
	lowered    bool // limits were lowered: levels may be above their ceilings
}

// TestChaos: no level is ever above its ceiling, use equals offers plus reservations,
// every waiting request has a reason, victims follow the rules, and all capacity is
// free at the end.
func TestChaos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := begin(r)
		r.Repeat(map[string]func(*rapid.T){
			"request":  func(*rapid.T) { c.requestAny() },
			"release":  func(*rapid.T) { c.releaseAny() },
			"undo":     func(*rapid.T) { c.undoAny() },
			"withdraw": func(*rapid.T) { c.withdrawAny() },
			"time": func(*rapid.T) {
				c.clock.pass(time.Duration(rapid.IntRange(1, 90).Draw(r, "s")) * time.Second)
				c.Sweep()
			},
			"preempt": func(*rapid.T) { c.preempt() },
			"limits":  func(*rapid.T) { c.change() },
			"":        func(*rapid.T) { c.check() },
		})
		c.finish()
	})
}

func begin(r *rapid.T) *chaos {
	tree := anyTree(r)
	f := &forest{levels: tree.Levels(), ids: map[string]uuid.UUID{}}
	c := &chaos{bundle: f.schedule(r), r: r, held: map[Key]Request{}, waiting: map[Key]Request{}}
	for _, l := range f.levels {
		if l.Kind == "project" {
			c.ids[l.ID.String()] = l.ID
			c.projects = append(c.projects, l.ID.String())
		}
	}
	for i := range 4 {
		c.executions = append(c.executions, uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(i)}))
	}
	if rapid.Bool().Draw(r, "machines") {
		c.SetMachines([]Machine{machine("m1", "A", 4), machine("m2", "A", 8)})
	}
	return c
}

func (c *chaos) execution() uuid.UUID { return rapid.SampledFrom(c.executions).Draw(c.r, "execution") }

func (c *chaos) any() Request {
	c.node++
	r := c.request(rapid.SampledFrom(c.projects).Draw(c.r, "project"), uuid.Nil, c.node, Amount{
		CPUMillis: rapid.IntRange(0, 8).Draw(c.r, "cpu"), GPUs: rapid.IntRange(0, 6).Draw(c.r, "gpus"), Pods: 1,
	})
	r.Priority = rapid.IntRange(0, 2).Draw(c.r, "priority")
	r.Preemptible = rapid.Bool().Draw(c.r, "preemptible")
	r.Spread = rapid.Bool().Draw(c.r, "spread")
	return r
}

func (c *chaos) admit(execution uuid.UUID, release []int, want []Request) []Grant {
	granted, refused := c.Admit(execution, release, want)
	for _, g := range granted {
		require.NotContains(c.r, c.held, g.Key, "granted twice")
		require.Contains(c.r, c.waiting, g.Key, "granted without a request")
		delete(c.waiting, g.Key)
		c.held[g.Key] = g.Request
	}
	for _, r := range refused {
		require.NotEmpty(c.r, r.Reason.Code)
		require.NotEmpty(c.r, r.Reason.Message)
		require.Contains(c.r, c.waiting, r.Key)
	}
	for _, r := range want {
		_, held := c.held[r.Key]
		_, waits := c.waiting[r.Key]
		require.NotEqual(c.r, held, waits, "granted or refused")
	}
	return granted
}

func (c *chaos) requestAny() {
	e := c.execution()
	var want []Request
	for range rapid.IntRange(0, 3).Draw(c.r, "requests") {
		r := c.any()
		r.Execution = e
		c.waiting[r.Key] = r
		want = append(want, r)
	}
	c.admit(e, nil, want)
}

// nodes draws some of the nodes that an execution holds.
func (c *chaos) nodes(e uuid.UUID) (nodes []int) {
	for _, key := range c.sorted() {
		if key.Execution == e && rapid.Bool().Draw(c.r, "node") {
			nodes = append(nodes, key.Node)
		}
	}
	return nodes
}

func (c *chaos) sorted() (keys []Key) {
	for n := range c.node + 1 {
		for _, e := range c.executions {
			if _, ok := c.held[Key{e, n}]; ok {
				keys = append(keys, Key{e, n})
			}
		}
	}
	return keys
}

func (c *chaos) releaseAny() {
	e := c.execution()
	nodes := c.nodes(e)
	for _, n := range nodes {
		delete(c.held, Key{e, n})
	}
	c.admit(e, append(nodes, nodes...), nil)
}

// undoAny reverts grants. It does not revert releases: their capacity may have been
// offered to others, and the rows decide between them.
func (c *chaos) undoAny() {
	e := c.execution()
	r := c.any()
	r.Execution = e
	c.waiting[r.Key] = r
	granted := c.admit(e, nil, []Request{r})
	c.Undo(e, nil, granted)
	for _, g := range granted {
		delete(c.held, g.Key)
	}
}

func (c *chaos) withdrawAny() {
	e := c.execution()
	c.Withdraw(e, nil)
	for key := range c.waiting {
		if key.Execution == e {
			delete(c.waiting, key)
		}
	}
}

func (c *chaos) preempt() {
	victims := c.Victims()
	st := c.state
	gone := map[Key]bool{}
	for _, v := range victims {
		require.Contains(c.r, c.held, v.Key)
		require.True(c.r, v.Preemptible)
		require.NotEqual(c.r, v.Execution, v.For.Execution)
		require.Contains(c.r, c.waiting, v.For)
		require.False(c.r, gone[v.Key], "twice")
		gone[v.Key] = true
	}
	require.Empty(c.r, c.Victims(), "not again")
	ledger := st.ledger.clone()
	for _, v := range victims {
		i := st.level(v.Project)
		ledger.add(i, st.ledger.axes.demand(v.Amount.Vector()), -1)
	}
	for _, v := range victims {
		top := st.level(v.Project)
		forWhom := st.level(c.waiting[v.For].Project)
		a, _ := st.tree().fork(top, forWhom)
		axis := st.ledger.axes.of(v.Resource)
		for l := top; l != st.tree().levels[a].parent; l = st.tree().levels[l].parent {
			if limit := st.tree().levels[l].limitOn(axis); limit != noLimit {
				require.GreaterOrEqual(c.r, ledger.used[l].at(axis), limit, "below a guarantee")
			}
		}
	}
	for _, v := range victims {
		r := c.held[v.Key]
		delete(c.held, v.Key)
		c.waiting[v.Key] = r
		c.admit(v.Execution, []int{v.Node}, []Request{r})
	}
}

// change draws new limits; no level may hold more than before.
func (c *chaos) change() {
	l := rapid.SampledFrom(c.Tree().Levels()[1:]).Draw(c.r, "level")
	limits := l.Limits
	limits.Limit = Vector{GPU: rapid.Int64Range(0, 12).Draw(c.r, "limit")}
	limits.Borrow = Vector{GPU: rapid.Int64Range(0, 4).Draw(c.r, "borrow")}
	limits.Lend = nil
	tree, err := c.Tree().With(map[uuid.UUID]Limits{l.ID: limits})
	if err != nil {
		return
	}
	p, err := c.Preview([]Edit{{l.ID, limits}})
	require.NoError(c.r, err)
	c.SetTree(tree)
	excess := c.Excess()
	require.Equal(c.r, keysOf(p.Excess), keysOf(excess), "as the preview predicted")
	for _, v := range excess {
		delete(c.held, v.Key)
		c.admit(v.Execution, []int{v.Node}, nil)
	}
	c.lowered = c.lowered || len(p.OverCeiling) > 0
}

func keysOf(victims []Victim) (keys []Key) {
	for _, v := range victims {
		keys = append(keys, v.Key)
	}
	return keys
}

// repeatDropped repeats requests that were dropped after a missed offer, as executions do.
func (c *chaos) repeatDropped() {
	for n := range c.node + 1 {
		for _, e := range c.executions {
			r, waits := c.waiting[Key{e, n}]
			if _, known := c.Why(Key{e, n}); waits && !known {
				c.admit(e, nil, []Request{r})
			}
		}
	}
}

func (c *chaos) check() {
	c.repeatDropped()
	st := c.state
	sum := NewLedger(st.tree())
	devices := map[string]map[int]bool{}
	count := 0
	add := func(h *holding) {
		sum.add(st.level(h.Project), st.ledger.axes.demand(h.Amount.Vector()), 1)
		for _, p := range h.Placement {
			if devices[p.Machine] == nil {
				devices[p.Machine] = map[int]bool{}
			}
			for _, d := range p.Devices {
				require.False(c.r, devices[p.Machine][d], "a device has two holders")
				devices[p.Machine][d] = true
			}
			require.True(c.r, h.Spread || len(h.Placement) == 1)
		}
	}
	for _, nodes := range st.held {
		for _, h := range nodes {
			require.Contains(c.r, c.held, h.Key)
			add(h)
			count++
		}
	}
	require.Len(c.r, c.held, count)
	for _, nodes := range st.offers {
		for _, o := range nodes {
			require.Contains(c.r, c.waiting, o.Key)
			add(&o.holding)
			count++
		}
	}
	require.Equal(c.r, len(c.held)+len(c.waiting), count+st.queue.count+len(st.missed))
	for i := range st.tree().levels {
		for a := range st.ledger.axes.count() {
			require.Equal(c.r, sum.used[i].at(a), st.ledger.used[i].at(a), "use equals offers plus reservations")
			require.Equal(c.r, sum.unlent[i].at(a), st.ledger.unlent[i].at(a))
			require.Equal(c.r, sum.unused[i].at(a), st.ledger.unused[i].at(a))
			n := &st.tree().levels[i]
			if limit := n.limitOn(a); limit != noLimit && !c.lowered {
				require.LessOrEqual(c.r, st.ledger.used[i].at(a), limit+n.borrowOn(a), "%s above its ceiling", n.Ref())
			}
		}
	}
	for key := range c.waiting {
		reason, ok := c.Why(key)
		require.True(c.r, ok)
		require.NotEmpty(c.r, reason.Code)
	}
	s := c.Snapshot()
	for _, l := range s.Levels {
		for r, x := range l.Resources {
			require.Equal(c.r, x.Used, x.Guaranteed+x.Borrowed)
			if x.Limit != nil {
				require.Equal(c.r, *x.Limit, x.Guaranteed+x.Lent+x.Free)
				require.GreaterOrEqual(c.r, x.Free, int64(0), "%s %s", l.Name, r)
			}
		}
	}
}

// finish ends all running work: every request that can start starts.
func (c *chaos) finish() {
	for range 10_000 {
		for _, e := range c.executions {
			c.admit(e, nil, nil)
		}
		c.repeatDropped()
		keys := c.sorted()
		if len(keys) == 0 && len(c.state.offers)+len(c.state.missed) == 0 {
			break
		}
		if len(keys) == 0 {
			continue // a request made earlier has an offer by now
		}
		delete(c.held, keys[0])
		c.clock.pass(time.Minute)
		c.admit(keys[0].Execution, []int{keys[0].Node}, nil)
	}
	for key, r := range c.waiting {
		require.NotNil(c.r, c.NeverFits(r), "%v waits without a reason", key)
		c.Withdraw(key.Execution, []int{key.Node})
	}
	for i := range c.state.tree().levels {
		for a := range c.state.ledger.axes.count() {
			require.Zero(c.r, c.state.ledger.used[i].at(a))
		}
	}
}
