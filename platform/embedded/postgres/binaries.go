package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// binaries is one PostgreSQL installation.
type binaries struct {
	dir   string // of initdb and postgres
	major int
}

var versionNumber = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// findBinaries returns the installation that fits data of major version want (0:
// any, then the newest of the first place that has one): the one in explicit, or
// when that is empty one of the system's own places, then of extra.
func findBinaries(ctx context.Context, want int, explicit string, extra []string) (binaries, error) {
	dirs := []string{explicit}
	if explicit == "" {
		dirs = candidates(extra)
	}
	var seen []string
	for _, dir := range dirs {
		major, err := majorOf(ctx, dir)
		if err != nil {
			continue
		}
		if want == 0 || want == major {
			return binaries{dir: dir, major: major}, nil
		}
		seen = append(seen, strconv.Itoa(major))
	}
	if want != 0 && len(seen) > 0 {
		return binaries{}, apperr.New(apperr.Unavailable,
			"the data directory belongs to PostgreSQL %d, but only version %s is installed: install PostgreSQL %d, or dump the data and start with a new directory",
			want, strings.Join(seen, " and "), want)
	}
	if explicit != "" {
		return binaries{}, apperr.New(apperr.Unavailable, "there are no PostgreSQL programs in %s (FLOWFORGE_POSTGRES_DIR)", explicit)
	}
	return binaries{}, apperr.New(apperr.Unavailable,
		"no PostgreSQL programs found: run `make setup`, install the postgresql package, or set FLOWFORGE_DATABASE_URL")
}

// candidates lists the directories that may hold initdb, newest version first
// within a place.
func candidates(extra []string) []string {
	var dirs []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin"} {
		found, _ := filepath.Glob(pattern) // only a bad pattern is an error
		slices.SortFunc(found, func(a, b string) int { return versionIn(b) - versionIn(a) })
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	dirs = append(dirs, extra...)
	return slices.DeleteFunc(dirs, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "initdb"))
		return err != nil
	})
}

var digits = regexp.MustCompile(`\d+`)

func versionIn(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path)) // no number sorts last
	return n
}

func majorOf(ctx context.Context, dir string) (int, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Env = environment(dir)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("ask %s for its version: %w", cmd.Path, err)
	}
	match := versionNumber.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("%s has no version in %q", cmd.Path, out)
	}
	return strconv.Atoi(string(match[1]))
}

// environment keeps the settings of the caller's environment (PGDATA, locale)
// from reaching the programs in dir; installations outside the system's places
// bring their libraries along.
func environment(dir string) []string {
	return []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "LD_LIBRARY_PATH=" + filepath.Join(dir, "..", "lib")}
}
