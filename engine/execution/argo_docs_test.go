package execution_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateDocs = flag.Bool("update", false, "rewrite docs/argo.md")

// TestArgoFeaturesAreDocumented: docs/argo.md lists the features of the conformance tests.
func TestArgoFeaturesAreDocumented(t *testing.T) {
	t.Parallel()
	const file, begin = "../../docs/argo.md", "<!-- features: written by the tests -->\n"
	var b strings.Builder
	b.WriteString("| stage | feature |\n|---|---|\n")
	for _, stage := range []string{"M1", "M2", "M3", "M4", "M5"} {
		for _, c := range argoCases() {
			if c.group == stage {
				fmt.Fprintf(&b, "| %s | %s |\n", stage, strings.ReplaceAll(c.feature, "|", "\\|"))
			}
		}
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	got, after, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok)
	if got == b.String() {
		return
	}
	require.True(t, *updateDocs, "docs/argo.md is not up to date: run go test ./engine/execution -run Documented -update")
	require.NoError(t, os.WriteFile(file, []byte(before+begin+b.String()+"<!-- end -->"+after), 0o644))
}
