package index

import (
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// Missing is a part of a query that cannot be resolved, such as a column of a saved view whose metric
// no execution has any more.
type Missing struct {
	Parameter string // "columns" or "sort"
	Entry     string // the entry of Query.Columns, or Query.Sort
	Reason    string // a sentence
}

// Without returns the query without what is missing.
func (q Query) Without(missing []Missing) Query {
	q.Columns = slices.DeleteFunc(slices.Clone(q.Columns), func(entry string) bool {
		return slices.ContainsFunc(missing, func(m Missing) bool { return m.Parameter == "columns" && m.Entry == entry })
	})
	if slices.ContainsFunc(missing, func(m Missing) bool { return m.Parameter == "sort" }) {
		q.Sort = ""
	}
	return q
}

// missing returns the columns and the order of a query that the names of the project do not have.
func (p project) missing(q Query) []Missing {
	var list []Missing
	check := func(parameter, entry, name string) {
		if _, err := p.column(name, parameter); err != nil {
			list = append(list, Missing{parameter, entry, apperr.MessageOf(err)})
		}
	}
	for _, entry := range q.Columns {
		if name, layout, err := ParseColumn(entry); err == nil && !layout.Chart {
			check("columns", entry, name)
		}
	}
	if q.Sort != "" {
		check("sort", q.Sort, strings.TrimPrefix(q.Sort, "-"))
	}
	return list
}
