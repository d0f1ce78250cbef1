// Command schedule measures how late schedules are that are all due in the same second, and whether
// each launches one execution:
//
//	make build && scripts/environment go run ./bench/schedule
//
// It starts a separate PostgreSQL with the settings of the embedded one, which records when each
// transaction committed. The lateness of a run is the time from the second to the commit of its launch.
//
// With -kills, the server, which is the leader, is killed and started again so often, around the second:
// -lead sets how long before it the first kill is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/bench/site"
)

const workflow = `{"name": "tick", "version": "1.0.0", "operators": [{"name": "one", "type": "noop"}]}`

func main() {
	b := bench{}
	flag.StringVar(&b.binary, "binary", "bin/flowforge", "the server")
	flag.IntVar(&b.schedules, "schedules", 10_000, "that are due in the same second")
	flag.IntVar(&b.kills, "kills", 0, "of the server")
	flag.DurationVar(&b.lead, "lead", 0, "from the first life of a server that is killed to the second")
	flag.StringVar(&b.overlap, "overlap", "allow", "of the schedules")
	flag.DurationVar(&b.alive, "alive", time.Second, "how long a server lives before it is killed")
	flag.Parse()
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench/schedule:", err)
		os.Exit(1)
	}
}

type bench struct {
	binary    string
	schedules int
	kills     int
	overlap   string
	alive     time.Duration
	lead      time.Duration

	dir      string
	database string
	conn     *pgx.Conn
	server   *site.Server
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "ffbench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	database, err := site.StartDatabase(ctx, b.dir, ".cache", map[string]string{"track_commit_timestamp": "on"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	b.database = database.URL()
	if err := b.start(ctx); err != nil {
		return err
	}
	defer func() { b.server.Stop() }()
	if b.conn, err = pgx.Connect(ctx, b.database); err != nil {
		return err
	}
	at, err := b.fill(ctx)
	if err != nil {
		return err
	}
	return b.measure(ctx, at)
}

func (b *bench) start(ctx context.Context) (err error) {
	b.server, err = site.Start(ctx, b.binary, filepath.Join(b.dir, "data"), "FLOWFORGE_DATABASE_URL="+b.database, "FLOWFORGE_LOG_LEVEL=error")
	return err
}

// fill creates the schedules, and returns the second at which they are due.
func (b *bench) fill(ctx context.Context) (at time.Time, err error) {
	if _, _, err := b.server.Call(ctx, http.MethodPost, "/api/v1/workflows", workflow); err != nil {
		return at, err
	}
	body := `{"workflow": "tick", "name": "tick", "cron": "@yearly", "overlap": "` + b.overlap + `", "misfire": "all"}`
	if _, _, err := b.server.Call(ctx, http.MethodPost, "/api/v1/schedules", body); err != nil {
		return at, err
	}
	at = time.Now().Truncate(time.Second).Add(15*time.Second + b.lead)
	// The limit of schedules applies to the API.
	for _, sql := range []string{
		"CREATE TEMP TABLE made AS TABLE schedules",
		fmt.Sprintf("INSERT INTO made SELECT (m).* FROM made m, generate_series(3, %d)", b.schedules),
		"UPDATE made SET id = gen_random_uuid(), name = 'tick ' || gen_random_uuid()",
		"INSERT INTO schedules SELECT * FROM made",
	} {
		if _, err := b.conn.Exec(ctx, sql); err != nil {
			return at, err
		}
	}
	_, err = b.conn.Exec(ctx, "UPDATE schedules SET expressions = '{}', at = $1, next_at = $1, due_at = $1", at)
	return at, err
}

// measure waits for the second and prints how late the runs were.
func (b *bench) measure(ctx context.Context, at time.Time) error {
	time.Sleep(time.Until(at.Add(-b.lead)))
	for range b.kills {
		time.Sleep(b.alive)
		if err := syscall.Kill(b.server.PID(), syscall.SIGKILL); err != nil {
			return err
		}
		b.server.Stop()
		if err := b.start(ctx); err != nil {
			return err
		}
	}
	if err := b.wait(ctx); err != nil {
		return err
	}
	var launched, executions int
	if err := b.conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'LAUNCHED'), (SELECT count(*) FROM executions) FROM schedule_occurrences`).Scan(&launched, &executions); err != nil {
		return err
	}
	// The entries of the audit log never change, so the transaction of a row is that of its launch.
	var late [4]float64
	if err := b.conn.QueryRow(ctx, `
		SELECT min(late), percentile_disc(0.5) WITHIN GROUP (ORDER BY late), percentile_disc(0.99) WITHIN GROUP (ORDER BY late), max(late)
		FROM (SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - $1)::float8 AS late FROM audit_log WHERE action = 'execution.launch') l`,
		at).Scan(&late[0], &late[1], &late[2], &late[3]); err != nil {
		return err
	}
	fmt.Printf("| schedules | overlap | kills | first | lateness p50 | p99 | most | missed | doubled |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	fmt.Printf("| %d | %s | %d | %.2f s | %.2f s | %.2f s | %.2f s | %d | %d |\n", b.schedules, b.overlap, b.kills, late[0], late[1], late[2], late[3], b.schedules-launched, executions-launched)
	return nil
}

// wait returns when no schedule is due. It asks rarely, because the processors are busy.
func (b *bench) wait(ctx context.Context) error {
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		var due bool
		if err := b.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM schedules WHERE due_at IS NOT NULL)").Scan(&due); err != nil || !due {
			return err
		}
	}
	return errors.New("the schedules were not launched within ten minutes")
}
