package handlers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDevelopPage: the form is that of the version saved last, other users do not see it, and
// the stream sends the next one.
func TestDevelopPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	save := func(version, input string) {
		t.Helper()
		document := `{"name": "tune", "version": "` + version + `", "inputs": [{"name": "` + input + `", "type": "Float", "default": 0.5}],
			"operators": [{"name": "one", "type": "command", "code": {"command": ["true"]}}]}`
		got := b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/json", document)
		require.Equal(t, http.StatusCreated, got.status, got.body)
		got = b.member.send(t, http.MethodPut, "/api/v1/workflows/tune/development", "application/json", `{"version": "`+version+`"}`)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.Contains(t, got.body, `"ui_url":"/workflows/tune/dev"`)
	}
	save("1.0.0-dev.h1", "rate")
	page := b.member.get(t, "/workflows/tune/dev")
	require.Equal(t, http.StatusOK, page.status)
	for _, part := range []string{`data-develop="1.0.0-dev.h1"`, `name="inputs.rate"`, `hx-sse:connect="/workflows/tune/dev/stream"`} {
		require.Contains(t, page.body, part)
	}
	other := b.admin.get(t, "/workflows/tune/dev")
	require.Equal(t, http.StatusNotFound, other.status)
	require.Contains(t, other.body, "Run flowforge dev")
	require.NotContains(t, b.member.get(t, "/workflows").body, `href="/workflows/tune"`)
	require.Contains(t, b.member.get(t, "/workflows").body, "1 workflow in development")
	require.Contains(t, b.member.get(t, "/workflows?development=1").body, `href="/workflows/tune"`)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stream := b.member.open(ctx, t, http.MethodGet, "/workflows/tune/dev/stream", "", nil)
	defer stream.Body.Close()
	require.Equal(t, http.StatusOK, stream.StatusCode)
	save("1.0.0-dev.h2", "momentum")
	var read strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(read.String(), `data-develop="1.0.0-dev.h2"`); {
		n, err := stream.Body.Read(buffer)
		read.Write(buffer[:n])
		require.NoError(t, err, read.String())
	}
	// What the browser then sends: the values of the old form, for the new version.
	form := b.member.send(t, http.MethodPost, "/workflows/tune/launch", "application/x-www-form-urlencoded", "version=1.0.0-dev.h2&%24version=1&%24dev=1&%24shown=1.0.0-dev.h1&inputs.rate=0.7")
	require.Equal(t, http.StatusOK, form.status, form.body)
	for _, part := range []string{`data-develop="1.0.0-dev.h2"`, `name="inputs.momentum"`, `name="$dev"`, `name="$shown" value="1.0.0-dev.h2"`} {
		require.Contains(t, form.body, part)
	}
	// The list of versions has them apart from releases.
	versions := b.member.get(t, "/workflows/tune?tab=versions").body
	require.Contains(t, versions, "Development versions")
	require.Contains(t, versions, "/workflows/tune/versions/1.0.0-dev.h1")
}
