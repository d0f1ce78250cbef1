// Command quota measures how fast many schedulers reserve and release on one database, and prints
// a table. Every reservation is checked and counted at all levels of its path:
//
//	go run ./cmd/testenv go run ./bench/quota
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

func main() {
	schedulers := flag.Int("schedulers", 64, "that reserve at the same time")
	length := flag.Duration("for", 5*time.Second, "how long each case runs")
	teams := flag.Int("teams", 50, "each with limits and one project")
	flag.Parse()
	if err := run(context.Background(), *schedulers, *teams, *length); err != nil {
		fmt.Fprintln(os.Stderr, "bench/quota:", err)
		os.Exit(1)
	}
}

// bench is a tree of teams with a service that reserves capacity in it.
type bench struct {
	pool     *pgxpool.Pool
	quotas   *quota.Service
	projects []uuid.UUID
}

func run(ctx context.Context, schedulers, teams int, length time.Duration) error {
	address := os.Getenv("FLOWFORGE_TEST_DATABASE_URL")
	if address == "" {
		return errors.New("FLOWFORGE_TEST_DATABASE_URL is not set: run it with cmd/testenv")
	}
	b, drop, err := open(ctx, address, teams)
	if err != nil {
		return err
	}
	defer drop()
	fmt.Println("| reservations in one transaction | reservations/s | transactions/s | of one transaction |\n|--:|--:|--:|--:|")
	for _, batch := range []int{1, 8, 64} {
		if err := b.measure(ctx, schedulers, batch, length); err != nil {
			return err
		}
	}
	return nil
}

// open creates a separate database on the server at address.
func open(ctx context.Context, address string, teams int) (b *bench, drop func(), err error) {
	admin, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("benchquota%d", os.Getpid())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	u.Path = "/" + name
	b = &bench{}
	if b.pool, err = db.Open(ctx, u.String()); err != nil {
		return nil, nil, err
	}
	drop = func() {
		b.pool.Close()
		_, _ = admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		_ = admin.Close(ctx)
	}
	if err := db.Migrate(ctx, b.pool); err != nil {
		return nil, drop, err
	}
	return b, drop, b.fill(ctx, teams)
}

// fill creates the teams. Each may use a hundredth of the capacity and borrow the rest.
func (b *bench) fill(ctx context.Context, teams int) error {
	for i := range teams {
		team, project := uuid.New(), uuid.New()
		name := fmt.Sprintf("team%d", i)
		for _, statement := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name)
				SELECT $1, 'team', id, kind, id, path || $1::uuid, $2 FROM tenancy_nodes WHERE id = $3`, []any{team, name, auth.LocalTenant}},
			{`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
				SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, $2, 'ff-' || $2 FROM tenancy_nodes WHERE id = $3`, []any{project, name, team}},
			{`INSERT INTO quotas (node_id, limits, borrow) VALUES ($1, '{"cpu": 1000000, "memory": 1000000}', '{"cpu": 99000000, "memory": 99000000}')`, []any{team}},
		} {
			if _, err := b.pool.Exec(ctx, statement.sql, statement.args...); err != nil {
				return err
			}
		}
		b.projects = append(b.projects, project)
	}
	var err error
	b.quotas, err = quota.New(quota.Config{Pool: b.pool, Instance: "bench", Capacity: quota.Capacity{CPUMillis: 100_000_000, MemoryMiB: 100_000_000, Pods: 1_000_000}})
	if err != nil {
		return err
	}
	return b.quotas.Prepare(ctx)
}

// measure runs schedulers that reserve batch nodes in one transaction and release them in the
// next.
func (b *bench) measure(ctx context.Context, schedulers, batch int, length time.Duration) error {
	var reserved, transactions atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	begin := time.Now()
	for i := range schedulers {
		project := b.projects[i%len(b.projects)]
		group.Go(func() {
			for time.Since(begin) < length && failure.Load() == nil {
				if err := b.cycle(ctx, project, batch); err != nil {
					failure.Store(&err)
					return
				}
				reserved.Add(int64(batch))
				transactions.Add(2)
			}
		})
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		return *err
	}
	took := time.Since(begin)
	per := took / time.Duration(max(transactions.Load(), 1))
	fmt.Printf("| %d | %.0f | %.0f | %s |\n", batch, float64(reserved.Load())/took.Seconds(), float64(transactions.Load())/took.Seconds(), per.Round(time.Microsecond))
	return nil
}

func (b *bench) cycle(ctx context.Context, project uuid.UUID, batch int) error {
	execution := uuid.New()
	grants, slots := make([]fair.Grant, batch), make([]quota.Slot, batch)
	for i := range grants {
		grants[i] = fair.Grant{Request: fair.Request{
			Key: fair.Key{Execution: execution, Node: i}, Project: project, Attempt: 1, Preemptible: true,
			Amount: fair.Amount{CPUMillis: 500, MemoryMiB: 256, Pods: 1},
		}}
		slots[i] = quota.Slot{Execution: execution, Node: i, Attempt: 1}
	}
	err := db.Tx(ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		reason, err := b.quotas.Reservations.Reserve(ctx, q, grants)
		if err == nil && reason != nil {
			err = errors.New(reason.Message)
		}
		return err
	})
	if err != nil {
		return err
	}
	return db.Tx(ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		_, err := b.quotas.Reservations.Release(ctx, q, project, slots)
		return err
	})
}
