package apperr_test

import (
	"strings"
	"testing"

	"github.com/flowforge/flowforge/apperr"
)

func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}, {strings.Repeat("x", 200), "x", 200}} {
		if got := apperr.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	names := []string{"", "depends", "depends_on", "name"}
	for word, want := range map[string]string{"Depend": "depends", "dependson": "depends_on", "nmae": "name", "xyz": "", "": ""} {
		if got := apperr.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
