package clickhouse

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// LibraryName is the file name of the engine.
const LibraryName = "libchdb.so"

// FindLibrary returns the path of the engine's library: explicit when it is not
// empty, else the first of dirs that holds it. A missing one is Unavailable;
// the server then runs without ClickHouse and spools logs and metrics to disk.
func FindLibrary(explicit string, dirs ...string) (string, error) {
	if !engineBuiltIn {
		return "", apperr.New(apperr.Unavailable, "this build has no ClickHouse engine: set FLOWFORGE_CLICKHOUSE_URL")
	}
	if explicit != "" {
		if info, err := os.Stat(explicit); err != nil || info.IsDir() {
			return "", apperr.New(apperr.Unavailable, "there is no ClickHouse library at %s (FLOWFORGE_CHDB_LIB)", explicit)
		}
		return explicit, nil
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, LibraryName)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return filepath.Abs(path)
		}
	}
	return "", apperr.New(apperr.Unavailable, "the ClickHouse library %s is in none of %s: run `make setup`, or set FLOWFORGE_CHDB_LIB or FLOWFORGE_CLICKHOUSE_URL",
		LibraryName, strings.Join(dirs, ", "))
}
