package typeregistry

import (
	"fmt"
	"net/url"
	"time"

	"github.com/flowforge/flowforge/platform/units"
)

// durationKind is Duration: a length of time, canonically ISO 8601 in hours,
// minutes and seconds ("PT1H30M").
type durationKind struct{ single }

func (durationKind) entry() Entry {
	return Entry{Name: "Duration", Group: "time", Summary: "A length of time, such as 1h30m, 90 s or 2 days.", Example: `Duration(min="1s", max="24h")`}
}

func (durationKind) params() []parameter {
	return []parameter{
		textParam("min", "The shortest duration, such as \"1s\".", func(p *Params) *string { return &p.Earliest }),
		textParam("max", "The longest duration.", func(p *Params) *string { return &p.Latest }),
	}
}

func (durationKind) prepare(t *Type) error {
	for _, bound := range []*string{&t.Params.Earliest, &t.Params.Latest} {
		if *bound == "" {
			continue
		}
		d, err := units.ParseDuration(*bound)
		if err != nil {
			return err
		}
		*bound = units.ISO(d)
	}
	least, most := durationBounds(t)
	if t.Params.Latest != "" && least > most {
		return fmt.Errorf("min %s is more than max %s", units.Exact(least), units.Exact(most))
	}
	return nil
}

func durationBounds(t *Type) (least, most time.Duration) {
	least, most = 0, 1<<63-1
	if d, err := units.ParseDuration(t.Params.Earliest); err == nil {
		least = d
	}
	if d, err := units.ParseDuration(t.Params.Latest); err == nil {
		most = d
	}
	return least, most
}

func (durationKind) noun(*Type) string { return "a duration" }

func (durationKind) hint(t *Type) string {
	least, most := durationBounds(t)
	switch p := t.Params; {
	case p.Earliest != "" && p.Latest != "":
		return fmt.Sprintf("Enter %s to %s.", units.Exact(least), units.Exact(most))
	case p.Earliest != "":
		return fmt.Sprintf("Enter %s or more.", units.Exact(least))
	case p.Latest != "":
		return fmt.Sprintf("Enter %s or less.", units.Exact(most))
	}
	return "Enter a duration, such as 90 s or 1 h 30 min."
}

func (k durationKind) normalize(c *checker, t *Type, path string, v any) any {
	s, ok := v.(string)
	if !ok {
		return c.wrong(t, path, v)
	}
	d, err := units.ParseDuration(s)
	if err != nil {
		c.problem(path, err.Error())
		return s
	}
	least, most := durationBounds(t)
	switch {
	case d < least:
		c.problem(path, sentence(units.Exact(d)+" is less than "+units.Exact(least)+".", k.hint(t)))
	case d > most:
		c.problem(path, sentence(units.Exact(d)+" is more than "+units.Exact(most)+".", k.hint(t)))
	}
	return units.ISO(d)
}

func (durationKind) jsonSchema(*Type) map[string]any {
	return map[string]any{"type": "string", "pattern": units.DurationPattern()}
}

func (durationKind) ui(t *Type, f *UIField, _ Env) {
	f.Component = "DurationInput"
	setBounds(f, t.Params.Earliest, t.Params.Latest)
}

func (durationKind) encode(t *Type, v any, name string, out url.Values) {
	out.Set(name, durationKind{}.render(t, v))
}

func (durationKind) render(_ *Type, v any) string {
	if d, err := units.ParseDuration(inputText(v)); err == nil {
		return units.Exact(d)
	}
	return inputText(v)
}

func (durationKind) accept(t, from *Type) error { return sameKind(t, from) }
