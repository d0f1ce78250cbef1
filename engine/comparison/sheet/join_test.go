package sheet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	table := func(columns string, rows ...string) Table {
		out := Table{Columns: strings.Fields(columns)}
		for _, r := range rows {
			out.Rows = append(out.Rows, strings.Fields(r))
		}
		return out
	}
	text := func(j Joined) []string {
		lines := []string{j.Key + "|" + strings.Join(j.Columns, " ")}
		for _, r := range j.Rows {
			line := fmt.Sprintf("%s %v:", r.Key, r.Differs)
			for _, cells := range r.Cells {
				for _, c := range cells {
					switch {
					case c.Delta != nil:
						line += fmt.Sprintf(" %s(%+g)", c.Text, *c.Delta)
					case c.Changed:
						line += " " + c.Text + "!"
					default:
						line += " " + c.Text
					}
				}
			}
			lines = append(lines, line)
		}
		return lines
	}
	joined := Join([]Table{table("n class recall", "1 a 0.5", "1 b 1"), table("class recall n", "a 0.75 1.0", "c 1 2")})
	require.Equal(t, []string{"class|n recall", "a true: 1 1.0 0.5 0.75(+0.25)", "b true: 1 ! 1 !", "c true:  2!  1!"}, text(joined), "1 and 1.0 are the same number")
	require.Equal(t, []string{"|a", "1 false: x x", "2 true: x y!"}, text(Join([]Table{table("a", "x", "x"), table("a", "x", "y")})), "without a key, rows are joined by number")
	require.Empty(t, Join(nil).Rows)

	index := Join([]Table{{Columns: []string{"", "a"}, Rows: [][]string{{"0", "x"}, {"1", "x"}}}})
	require.False(t, index.Keyed, "a column without a name is no key")
	require.Equal(t, []string{"", "a"}, index.Columns)
	ids := Join([]Table{table("k seed", "a 9007199254740992"), table("k seed", "a 9007199254740993")})
	require.Equal(t, []string{"k|seed", "a true: 9007199254740992 9007199254740993!"}, text(ids), "a floating-point number has too few digits for these")
	require.False(t, Join([]Table{table("k a", "1 1e3"), table("k a", "1 +1000.0")}).Rows[0].Differs)
	twice := Join([]Table{table("k a a", "1 x y"), table("k a a", "1 x z")})
	require.True(t, twice.Keyed)
	require.Equal(t, []string{"k|a a", "1 true: x x y z!"}, text(twice), "columns of one name are joined in their order")
}
