package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	statement = regexp.MustCompile(`LOG: +(?:statement|execute [^:]*): (.*)`)
	comment   = regexp.MustCompile(`^-- name: (\w+)`)
)

// logged makes PostgreSQL log its statements for a time, and returns how often it executed each.
func logged(ctx context.Context, dir string, length time.Duration) (map[string]int, error) {
	data := filepath.Join(dir, "postgres")
	pid, err := os.ReadFile(filepath.Join(data, "data", "postmaster.pid"))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(pid), "\n")
	if len(lines) < 5 {
		return nil, fmt.Errorf("postmaster.pid has %d lines", len(lines))
	}
	query := url.Values{"host": {lines[4]}, "user": {"flowforge"}}.Encode()
	conn, err := pgx.Connect(ctx, "postgres:///flowforge?"+query)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	set := func(value string) error {
		for _, sql := range []string{"ALTER SYSTEM SET log_statement = " + value, "SELECT pg_reload_conf()"} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}
	if err := set("'all'"); err != nil {
		return nil, err
	}
	time.Sleep(time.Second) // sessions read the setting with their next statement
	path := filepath.Join(data, "postgres.log")
	begin, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	time.Sleep(length)
	end, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := set("DEFAULT"); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, match := range statement.FindAllStringSubmatch(string(end[len(begin):]), -1) {
		text := strings.Join(strings.Fields(match[1]), " ")
		if name := comment.FindStringSubmatch(text); name != nil {
			text = name[1]
		}
		counts[text]++
	}
	return counts, nil
}
