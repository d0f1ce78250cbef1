package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/flowforge/flowforge/embedded/clickhouse"
)

// clickhouseEngineName is the hidden subcommand by which the server runs its
// ClickHouse engine as a child process.
const clickhouseEngineName = "clickhouse-engine"

// clickhouseEngine is the child process. args come from the server as they are.
func clickhouseEngine(ctx context.Context, args []string) error {
	return clickhouse.RunEngine(ctx, args)
}

// clickhouseCommand is how to start that child: this program again.
func clickhouseCommand() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{self, clickhouseEngineName}, nil
}

// engineDirs are the places where scripts/setup or an operator puts the engines:
// the cache directory, and beside this program.
func engineDirs(cacheDir string) (chdb, postgresBin []string) {
	chdb = []string{filepath.Join(cacheDir, "chdb")}
	postgresBin = []string{filepath.Join(cacheDir, "postgres", "native", "bin")}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Dir(self)
		chdb = append(chdb, beside)
		postgresBin = append(postgresBin, filepath.Join(beside, "postgres", "native", "bin"))
	}
	return chdb, postgresBin
}
