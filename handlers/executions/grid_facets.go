package executions

import (
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// facetLinks add a condition to the query, or remove it.
func facetLinks(q url.Values, f index.Facets) []views.Facet {
	facet := func(name, fact string, counts []index.Count) views.Facet {
		out := views.Facet{Name: name}
		for _, c := range counts {
			value := search.Quote(c.Value)
			v := views.FacetValue{Name: c.Value, N: units.Number(int64(c.N))}
			if fact == "state" {
				v.State, value = c.Value, strings.ToLower(value)
			}
			where, on := toggled(q.Get("where"), fact+":"+value)
			v.On, v.URL = on, label.ListURL(views.ExecutionsURL(), q, "where", where)
			out.Values = append(out.Values, v)
		}
		return out
	}
	return []views.Facet{facet("State", "state", f.States), facet("Tag", "tag", f.Tags), facet("Workflow", "workflow", f.Workflows), facet("Person", "user", f.People)}
}

// toggled adds a condition to the end of a query, or removes it from there or from its beginning.
// The second result says that the query had it: as one of two alternatives, it does not hold for all.
func toggled(where, condition string) (string, bool) {
	switch {
	case where == "":
		return condition, false
	case where == condition:
		return "", true
	case search.Alternatives(where):
		return "(" + where + ") and " + condition, false
	}
	if rest, found := strings.CutSuffix(where, " and "+condition); found {
		return rest, true
	}
	if rest, found := strings.CutPrefix(where, condition+" and "); found {
		return rest, true
	}
	return where + " and " + condition, false
}
