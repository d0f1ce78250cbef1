package datastore

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddressesAreCheckedWhenDialled: a name that leads to this machine does not pass, anyone who
// answered the lookup of it before. The server would answer.
func TestAddressesAreCheckedWhenDialled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	get := func(c Config) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		res, err := newClient(c).Do(req)
		if err == nil {
			return res.Body.Close()
		}
		return err
	}
	require.ErrorIs(t, get(Config{}), errOwnAddress)
	require.NoError(t, get(Config{OwnHosts: true}))
	require.NoError(t, get(Config{Endpoints: []string{"127.0.0.1"}}))

	s := &Service{Config: Config{OwnHosts: true}}
	for _, address := range []string{"[fd00:ec2::254]:80", "[fe80::a9fe:a9fe%eth0]:80", "100.100.100.200:80", "168.63.129.16:80", "[64:ff9b::a9fe:a9fe]:443", "[::ffff:168.63.129.16]:80"} {
		require.ErrorIs(t, s.refuse("tcp", address, nil), errOwnAddress, address)
	}
	require.NoError(t, s.refuse("tcp", "[2a05:d050::1]:443", nil))
}
