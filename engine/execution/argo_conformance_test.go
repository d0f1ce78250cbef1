package execution_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// argoDocument is the document of a case, with the templates that it uses.
func argoDocument(c argoCase, number int, dir string) string {
	spec := strings.ReplaceAll(c.spec, "$DIR", dir) + argoWorkers
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: case-%d-, labels: {team: blue}}\nspec:%s", number, strings.ReplaceAll(spec, "\n", "\n  "))
}

// in is the bundle for a subtest.
func (b *testBundle) in(t testing.TB) *testBundle {
	inner := *b
	inner.t = t
	return &inner
}

func TestArgoConformance(t *testing.T) { //nolint:tparallel // one after the other, in one engine
	t.Parallel()
	b := argoSetup(t)
	for i, c := range argoCases() {
		t.Run(c.feature, func(t *testing.T) {
			b := b.in(t)
			folder, err := os.MkdirTemp("", "argo") // documents contain its name
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			id := b.launch(argoDocument(c, i, folder), nil)
			e := b.finish(id)
			require.Equal(t, c.status, e.Status, "%+v", e.Error)
			for name, state := range c.states {
				n := b.node(id, name)
				require.Equal(t, state, n.State, "%s: %+v %+v", name, n.Error, n.Reason)
			}
			for name, says := range c.messages {
				n := b.node(id, name)
				require.NotNil(t, n.Error, name)
				require.Contains(t, n.Error.Message, says)
			}
			for place, want := range c.outputs {
				at := strings.LastIndex(place, "/")
				n := b.node(id, place[:at])
				require.Equal(t, want, n.Outputs[place[at+1:]], "%s: %s %+v", place, n.State, n.Error)
			}
			events, err := b.engine.Events.After(b.ctx, id, 0, 0)
			require.NoError(t, err)
			b.checkMetrics(c, events)
			if c.result != nil {
				require.Equal(t, c.result, e.Outputs)
			}
		})
	}
}
