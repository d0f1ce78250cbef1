package quotas

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/quota/fair"
)

// TestEveryFieldOfALongQuotaFormHasItsID: the summary of a refused form links to the
// field, also from the eleventh resource on.
func TestEveryFieldOfALongQuotaFormHasItsID(t *testing.T) {
	t.Parallel()
	f := &quotaForm{}
	for i := range 25 {
		f.group.resources = append(f.group.resources, fair.Resource(fmt.Sprintf("resource%d", i)))
	}
	require.Equal(t, "limit-9", f.fieldID("limit.resource9"))
	require.Equal(t, "limit-10", f.fieldID("limit.resource10"))
	require.Equal(t, "lend-24", f.fieldID("lend.resource24"))
}
