package sqlquery

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFirstRow(t *testing.T) {
	t.Parallel()
	for _, r := range []Request{postgres(t, ""), clickhouse(t, "")} {
		of := func(query string) Request {
			r.Query = query
			return r
		}
		for query, want := range map[string]string{
			"SELECT 1 AS a, 'x' AS b":               `{"a":1,"b":"x"} true`,
			"SELECT 0 AS a":                         `{"a":0} false`,
			"SELECT '' AS a":                        `{"a":""} false`,
			"SELECT NULL AS a":                      `{"a":null} false`,
			"SELECT count(*) AS a":                  `{"a":1} true`,
			"SELECT 1.5 AS a":                       `{"a":1.5} true`,
			"SELECT true AS a":                      `{"a":true} true`,
			"SELECT 3 AS a UNION ALL SELECT 3 AS a": `{"a":3} true`,
		} {
			r := of(query)
			row, found, err := First(t.Context(), r)
			if err != nil || !found {
				t.Errorf("%s %s: %v, %v", r.Kind, query, found, err)
				continue
			}
			encoded, _ := json.Marshal(row.Object())
			if got := string(encoded) + map[bool]string{true: " true", false: " false"}[row.True()]; got != want {
				t.Errorf("%s %s: %s, want %s", r.Kind, query, got, want)
			}
		}
		if _, found, err := First(t.Context(), of("SELECT 1 AS a WHERE 1 = 0")); found || err != nil {
			t.Errorf("no rows: %v, %v", found, err)
		}
		if _, _, err := First(t.Context(), of("SELECT nothing")); err == nil {
			t.Error("a wrong statement succeeds")
		}
		r := of("SELECT 1 AS a UNION ALL SELECT 2 AS a")
		r.MaxRows = 1
		if _, _, err := First(t.Context(), r); err == nil || !strings.Contains(err.Error(), "max_rows") {
			t.Errorf("too many rows: %v", err)
		}
	}
}
