// Command schedule measures how late schedules are that are all due in the same second, and whether
// each launches one execution, on the database at FLOWFORGE_TEST_DATABASE_URL:
//
//	go build -o bin/flowforge ./cmd/flowforge
//	go run ./cmd/testenv go run ./bench/schedule -binary bin/flowforge
//
// With -kills, the server, which is the leader, is killed and started again so often, around the second:
// -lead sets how long before it the first kill is. Runs are counted when the transaction that launches
// them has committed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
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
	address := os.Getenv("FLOWFORGE_TEST_DATABASE_URL")
	if address == "" {
		return errors.New("FLOWFORGE_TEST_DATABASE_URL is not set: run it with cmd/testenv")
	}
	if b.dir, err = os.MkdirTemp("", "ffbench"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	admin, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("benchschedule%d", os.Getpid())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	defer func() {
		_, _ = admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		_ = admin.Close(ctx)
	}()
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	u.Path = "/" + name
	b.database = u.String()
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
	b.server, err = site.Start(ctx, b.binary, b.dir, "FLOWFORGE_DATABASE_URL="+b.database, "FLOWFORGE_LOG_LEVEL=error")
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
	watched := make(chan times, 1)
	go func() {
		time.Sleep(time.Until(at))
		watched <- b.watch(ctx, at)
	}()
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
	late := <-watched
	if late.err != nil {
		return late.err
	}
	var launched, executions int
	if err := b.conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'LAUNCHED'), (SELECT count(*) FROM executions) FROM schedule_occurrences`).Scan(&launched, &executions); err != nil {
		return err
	}
	fmt.Printf("| schedules | overlap | kills | first | lateness p50 | p99 | most | missed | doubled |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	fmt.Printf("| %d | %s | %d | %.2f s | %.2f s | %.2f s | %.2f s | %d | %d |\n", b.schedules, b.overlap, b.kills, late.first.Seconds(), late.half.Seconds(), late.most.Seconds(), late.all.Seconds(), b.schedules-launched, executions-launched)
	return nil
}

// times are the times after which the first, half, 99 % and all of the schedules are launched.
type times struct {
	first, half, most, all time.Duration
	err                    error
}

// watch waits until all schedules are launched.
func (b *bench) watch(ctx context.Context, at time.Time) (t times) {
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var left int
		if t.err = b.conn.QueryRow(ctx, "SELECT count(*) FROM schedules WHERE due_at IS NOT NULL").Scan(&left); t.err != nil {
			return t
		}
		since := time.Since(at)
		if t.first == 0 && left < b.schedules {
			t.first = since
		}
		if t.half == 0 && left <= b.schedules/2 {
			t.half = since
		}
		if t.most == 0 && left <= b.schedules/100 {
			t.most = since
		}
		if left == 0 {
			t.all = since
			return t
		}
	}
	t.err = errors.New("the schedules were not launched within ten minutes")
	return t
}
