package workflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLengthsOfNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form form
		most int
	}{
		"workflow": {workflowName, 128}, "team": {teamName, 100}, "tag": {tagPattern, 63}, "operator": {operatorName, 63}, "port": {portName, 64},
		"environment": {environmentName, 128}, "GPU": {gpuType, 40}, "lock": {lockName, 200}, "header": {headerName, 200}, "metadata": {metadataName, 200},
		"label": {poolLabelValue, 63},
	} {
		require.True(t, c.form.MatchString(strings.Repeat("a", c.most)), name)
		require.False(t, c.form.MatchString(strings.Repeat("a", c.most+1)), name)
		require.False(t, c.form.MatchString("a b"), name)
		require.Equal(t, name == "label", c.form.MatchString(""), name)
	}
	for text, want := range map[string]bool{
		"prepare@1.2.0": true, "prepare@1.2.0/tune": true, "prepare": false, "prepare@": false, "@1": false, "prepare@1/": false, "prepare@1/2": false,
		"prepare@1@2": false, "prepare@1/a/b": false, "prepare@" + strings.Repeat("1", 101): false,
	} {
		require.Equal(t, want, isEmbeddedName(text), text)
	}
}
