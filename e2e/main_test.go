package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// suite is shared by all tests: one browser and one server.
type suite struct {
	browser playwright.Browser
	server  *server
	axe     string // source of axe-core
}

var shared suite // set once by TestMain, before any test runs

func TestMain(m *testing.M) {
	if err := os.MkdirAll("out", 0o755); err != nil {
		fail(err)
	}
	os.Exit(run(m))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	os.Exit(1)
}

// setting returns an environment variable or its default, as a path relative to the
// module's root.
func setting(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	if filepath.IsAbs(fallback) {
		return fallback
	}
	path, err := filepath.Abs(filepath.Join("..", fallback))
	if err != nil {
		fail(err)
	}
	return path
}

// browserParts are the programs and files of the browser, with the part that is missing as error.
func browserParts() (axe []byte, driver, chromium string, err error) {
	driver, chromium = setting("FLOWFORGE_TEST_PLAYWRIGHT", ".cache/playwright"), setting("FLOWFORGE_TEST_CHROMIUM", "/usr/bin/chromium")
	axe, err = os.ReadFile(setting("FLOWFORGE_TEST_AXE", ".cache/axe/axe.min.js"))
	for _, path := range []string{driver, chromium} {
		if err == nil {
			_, err = os.Stat(path)
		}
	}
	return axe, driver, chromium, err
}

func run(m *testing.M) int {
	axe, driver, chromium, err := browserParts()
	if err != nil {
		fail(fmt.Errorf("there is no browser for tests: run `scripts/setup browser`, and the tests by scripts/environment (%w)", err))
	}
	shared.axe = string(axe)
	dir, err := os.MkdirTemp("", "flowforge-e2e-")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(dir)
	shared.server, err = startServer(dir, "FLOWFORGE_OPTIONS_HOSTS=127.0.0.1") // endpoints of tests
	if err != nil {
		fail(err)
	}
	defer shared.server.stop()
	pw, err := playwright.Run(&playwright.RunOptions{
		DriverDirectory: driver, SkipInstallBrowsers: true, Verbose: false,
	})
	if err != nil {
		fail(err)
	}
	defer func() { _ = pw.Stop() }()
	shared.browser, err = pw.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
		ExecutablePath: &chromium, Headless: new(true),
		Args: []string{"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"},
	})
	if err != nil {
		fail(err)
	}
	defer func() { _ = shared.browser.Close() }()
	return m.Run()
}
