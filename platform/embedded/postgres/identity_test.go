package postgres

import (
	"os/user"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamespaceHasAnAccount: initdb looks up the name of its user inside the user namespace.
func TestNamespaceHasAnAccount(t *testing.T) {
	t.Parallel()
	account, err := user.LookupId(strconv.Itoa(namespaceID()))
	require.NoError(t, err)
	require.NotEqual(t, "0", account.Uid)
}
