package unixsocket_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/platform/unixsocket"
)

func TestListenAndDial(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{
		"short": "a",
		"long":  strings.Repeat("deep/", 60),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), folder, "s.sock")
			listener, err := unixsocket.Listen(path)
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "hello")
			})}
			go func() { _ = server.Serve(listener) }()
			client := unixsocket.Client(path)
			resp, err := client.Get("http://any/")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(body) != "hello" {
				t.Fatalf("body %q", body)
			}
			if _, err := unixsocket.Listen(path); err == nil {
				t.Fatal("a second listener took a served socket")
			}
			client.CloseIdleConnections()
			_ = server.Close()
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Fatalf("socket file is left: %v", err)
			}
		})
	}
}

func TestListenReplacesDeadSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := unixsocket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}
