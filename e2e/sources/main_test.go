package sources

import (
	"fmt"
	"os"
	"testing"
)

var shared *server // set once by TestMain, before any test runs

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "flowforge-sources-")
	if err == nil {
		defer os.RemoveAll(dir)
		shared, err = startServer(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sources:", err)
		return 1
	}
	defer shared.stop()
	return m.Run()
}
