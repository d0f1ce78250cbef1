package outgoing_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/outgoing"
)

func TestOutgoingAddresses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is dialled: Control runs before
	for _, address := range []string{
		"127.0.0.1:80", "[::1]:80", "10.1.2.3:5432", "192.168.0.1:80", "172.16.0.1:80", "169.254.169.254:80", "[::ffff:10.0.0.1]:80",
		"[64:ff9b::a00:1]:80", "100.64.0.1:80", "0.0.0.0:80", "[fd00:ec2::254]:80", "[fc00::1]:80", "[fe80::1]:80", "224.0.0.1:80",
	} {
		_, err := outgoing.Dialer{}.DialContext(context.Background(), "tcp", address)
		require.ErrorIs(t, err, outgoing.ErrRefused, address)
	}
	_, err := outgoing.Dialer{OwnHosts: true}.DialContext(context.Background(), "tcp", "169.254.169.254:80")
	require.ErrorIs(t, err, outgoing.ErrRefused, "metadata services stay away without sign-in, too")
	_, err = outgoing.Dialer{}.DialContext(ctx, "tcp", "93.184.215.14:80")
	require.NotErrorIs(t, err, outgoing.ErrRefused)
}

func TestOutgoingNamesAreCheckedWhenDialled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	require.NoError(t, err)
	byName := "http://localhost:" + port + "/away"

	_, err = get(t, outgoing.Dialer{}, byName)
	require.ErrorIs(t, err, outgoing.ErrRefused, "a name that leads to this machine")
	_, err = get(t, outgoing.Dialer{Hosts: []string{"localhost:1"}}, byName)
	require.ErrorIs(t, err, outgoing.ErrRefused, "another port")
	for _, d := range []outgoing.Dialer{{Hosts: []string{"localhost"}}, {Hosts: []string{"LOCALHOST:" + port}}, {OwnHosts: true}} {
		status, err := get(t, d, byName)
		require.NoError(t, err)
		require.Equal(t, http.StatusFound, status, "redirects are not followed")
	}
}

func get(t *testing.T, d outgoing.Dialer, url string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := d.Client(5 * time.Second).Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}
