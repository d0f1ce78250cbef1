package workflow

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/flowforge/flowforge/platform/units"
)

// Cache makes an operator reuse the result of an earlier node with the same work and
// the same inputs instead of running.
type Cache struct {
	Version string        // a change invalidates earlier results
	TTL     time.Duration // maximum age of results; 0: no limit
	Ignore  []string      // inputs that do not affect the cache key

	// Key, when it is not "", replaces everything that the operator does and reads: within
	// Store, a result of the project is found by this text, with its tags replaced, alone.
	Key, Store string
}

const maxIgnored = 500

// memo reads cache: true, or a mapping with more.
func (p *parser) memo(parent *object, op *Operator) {
	v, at, _ := parent.get("cache")
	switch v := v.(type) {
	case nil:
		return
	case bool:
		if v {
			op.Cache = &Cache{}
		}
	default:
		o := p.object(v, at)
		if o == nil {
			return
		}
		defer o.finish()
		op.Cache = &Cache{
			Version: numberOrText(o, "version"), TTL: o.duration(0, "ttl"), Ignore: o.texts(maxIgnored, "ignore_inputs"),
		}
		slices.Sort(op.Cache.Ignore)
		op.Cache.Ignore = slices.Compact(op.Cache.Ignore)
		for _, name := range op.Cache.Ignore {
			if !slices.ContainsFunc(op.Inputs, func(in Input) bool { return in.Name == name }) {
				o.add(o.at("ignore_inputs"), "The operator has no input called %q.", shorten(name, 60))
			}
		}
	}
}

// numberOrText reads a short text that may be written as a number.
func numberOrText(o *object, name string) string {
	if v, _, _ := o.get(name); numberText(v) != "" {
		return numberText(v)
	}
	return o.text(100, name)
}

// checkMemo rejects a cache on operators without attempts.
func (p *parser) checkMemo(o *object, op *Operator) {
	if op.Cache != nil && op.Type != "" && !op.Runs() {
		o.add(o.at("cache"), "An operator of type %s does not run a task, so it has no result to cache; set cache on the operators that run tasks.", op.Type)
	}
}

type cacheJSON struct {
	Version string   `json:"version,omitempty"`
	TTL     string   `json:"ttl,omitempty"`
	Ignore  []string `json:"ignore_inputs,omitempty"`
}

func (c *Cache) wire() *cacheJSON {
	if c == nil {
		return nil
	}
	out := &cacheJSON{Version: c.Version, Ignore: c.Ignore}
	if c.TTL > 0 {
		out.TTL = units.Compact(c.TTL)
	}
	return out
}

// Ignores reports whether an input does not affect the cache key.
func (c *Cache) Ignores(input string) bool {
	_, found := slices.BinarySearch(c.Ignore, input)
	return found
}

// Work is the fingerprint of the work of an attempt of o, without its input values,
// resources, timeouts and retries.
func (o *Operator) Work() [sha256.Size]byte {
	w := o.work()
	for i, in := range w.Inputs {
		w.Inputs[i] = inputJSON{Name: in.Name, Type: in.Type}
	}
	w.When, w.Depends, w.DependsOn, w.Foreach, w.AllowFailure = "", "", nil, nil, false
	return fingerprint(w)
}

// Sense is the fingerprint of everything that determines the results of o: its work,
// the sources of its values, and when it runs.
func (o *Operator) Sense() [sha256.Size]byte { return fingerprint(o.work()) }

// work is o without the fields that do not affect its results.
func (o *Operator) work() operatorJSON {
	w := o.wire()
	w.Name, w.Description, w.Resources, w.Timeout, w.Retry, w.Cache = "", "", nil, "", nil, nil
	w.Preemptible, w.GracePeriod, w.Resident, w.Fresh, w.Breaker, w.Locks, w.MadeOf = nil, "", false, nil, nil, nil, ""
	w.Pool, w.Labels = "", nil
	w.Inputs, w.Outputs = slices.Clone(w.Inputs), slices.Clone(w.Outputs)
	for i := range w.Inputs {
		w.Inputs[i].Description = ""
	}
	for i, out := range w.Outputs {
		w.Outputs[i] = outputJSON{Name: out.Name, Type: out.Type}
	}
	if w.Foreach != nil {
		w.Foreach.Limit, w.Foreach.Parallelism = 0, 0
	}
	return w
}

func fingerprint(w operatorJSON) [sha256.Size]byte {
	data, err := json.Marshal(w)
	if err != nil {
		panic("workflow: cannot encode a parsed operator: " + err.Error())
	}
	return sha256.Sum256(data)
}
