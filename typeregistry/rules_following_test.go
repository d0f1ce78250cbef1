package typeregistry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFollowingFields: those that read a field themselves, and those that read one of these.
func TestFollowingFields(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]bool{"kernel": true, "gamma": true, "depth": true, "metric": true}, svc(t).Following([]string{"kind"}))
	require.Equal(t, map[string]bool{"gamma": true}, svc(t).Following([]string{"kernel"}))
	require.Empty(t, svc(t).Following([]string{"gamma"}))
}
