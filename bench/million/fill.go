package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const block = 5_000 // executions of one insert

// names gives the inputs and metrics columns of the index, the same ones in each project.
func (b *bench) names(ctx context.Context, flows []flow) error {
	numbers, texts := 0, 0
	var rows [][]any
	seen := map[uuid.UUID]bool{}
	for _, f := range flows {
		if seen[f.project] {
			continue
		}
		seen[f.project] = true
		numbers, texts = 0, 0
		add := func(part, name, stat, kind string, slot *int) {
			rows = append(rows, []any{f.project, part, name, stat, kind, *slot})
			*slot++
		}
		for _, in := range inputs() {
			if in.values != nil {
				add("inputs", in.name, "", "text", &texts)
			} else {
				add("inputs", in.name, "", "number", &numbers)
			}
		}
		for _, m := range metrics() {
			for _, stat := range []string{"last", "min", "max"} {
				add("metrics", m.name, stat, "number", &numbers)
			}
		}
	}
	// The workflow of the tour may have run in the first project.
	if _, err := b.pool.Exec(ctx, "DELETE FROM search_fields"); err != nil {
		return err
	}
	_, err := b.pool.CopyFrom(ctx, pgx.Identifier{"search_fields"}, []string{"project_id", "part", "name", "stat", "type", "slot"}, pgx.CopyFromRows(rows))
	if err != nil {
		return err
	}
	var columns []string
	for i := range numbers {
		columns = append(columns, fmt.Sprintf("ADD COLUMN IF NOT EXISTS n%d Nullable(Float64)", i))
	}
	for i := range texts {
		columns = append(columns, fmt.Sprintf("ADD COLUMN IF NOT EXISTS t%d Nullable(String)", i))
	}
	return b.conn.Exec(ctx, "ALTER TABLE execution_values "+strings.Join(columns, ", "))
}

// executed writes the executions to PostgreSQL and to the index, and lines of the newest ones.
func (b *bench) executed(ctx context.Context, flows []flow) error {
	end := time.Now().UTC()
	if _, err := b.pool.Exec(ctx, "SELECT ensure_partitions(now() - interval '181 days', 8)"); err != nil {
		return err
	}
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// Without triggers: the index has the executions already.
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(b.seed, 0)) //nolint:gosec // seeded on purpose
	for first := 0; first < b.executions; first += block {
		list := make([]execution, min(block, b.executions-first))
		for i := range list {
			list[i] = draw(r, flows, first+i, b.executions, end)
		}
		if err := copied(ctx, conn.Conn(), list); err != nil {
			return err
		}
		if err := b.indexed(ctx, list); err != nil {
			return err
		}
		if first+len(list) > b.executions-b.lines/linesEach {
			if err := b.logged(ctx, r, list); err != nil {
				return err
			}
		}
	}
	_, err = conn.Exec(ctx, "RESET session_replication_role")
	return err
}

func copied(ctx context.Context, conn *pgx.Conn, list []execution) error {
	var executions, nodes, tags [][]any
	for _, e := range list {
		end := e.at.Add(e.took)
		states := []string{"SUCCEEDED", "SUCCEEDED", "SUCCEEDED"}
		failure := any(nil)
		if e.status != "SUCCEEDED" {
			states = []string{"SUCCEEDED", e.status, "SKIPPED"}
		}
		if e.message != "" {
			failure, _ = json.Marshal(map[string]string{"message": e.message}) //nolint:errchkjson // a text
		}
		counts := map[string]int{}
		for i, state := range states {
			counts[state]++
			problem := any(nil)
			if state == "FAILED" {
				problem = failure
			}
			nodes = append(nodes, []any{e.id, i, []string{"prepare", "train", "evaluate"}[i], i, state, 0, min(1, len(states)-i), e.at, end, problem})
		}
		executions = append(executions, []any{
			e.id, e.tenant, e.project, e.flow.id, e.version, e.name, "1.0.0", e.title, e.status, 50, e.document, failure, person(e.person), fmt.Sprintf("Person %d", e.person),
			e.at, e.at, end, 3, 0, counts["SUCCEEDED"], counts["FAILED"], counts["SKIPPED"], counts["CANCELLED"], 3, 3,
		})
		for _, tag := range e.tags {
			tags = append(tags, []any{e.id, tag, "Person 1", e.at})
		}
	}
	for _, t := range []struct {
		table, columns string
		rows           [][]any
	}{
		{"executions", "id tenant_id project_id workflow_id version_id workflow_name version name status priority inputs error submitted_by submitted_by_name " +
			"created_at started_at finished_at total pending succeeded failed skipped cancelled levels levels_done", executions},
		{"nodes", "execution_id node_index name level state pending_dependencies attempt started_at finished_at error", nodes},
		{"execution_tags", "execution_id tag added_by added_at", tags},
	} {
		if _, err := conn.CopyFrom(ctx, pgx.Identifier{t.table}, strings.Fields(t.columns), pgx.CopyFromRows(t.rows)); err != nil {
			return fmt.Errorf("copy to %s: %w", t.table, err)
		}
	}
	return nil
}

// person is the ID of a user.
func person(i int) uuid.UUID { return uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "person %d", i)) }

// indexed writes the entries of the index.
func (b *bench) indexed(ctx context.Context, list []execution) error {
	columns := strings.Fields("project_id execution_id created_at version status workflow workflow_version name submitted_by submitted_by_id error tags priority started_at finished_at duration")
	for i := range list[0].numbers {
		columns = append(columns, fmt.Sprintf("n%d", i))
	}
	for i := range list[0].texts {
		columns = append(columns, fmt.Sprintf("t%d", i))
	}
	batch, err := b.conn.PrepareBatch(ctx, "INSERT INTO execution_values ("+strings.Join(columns, ", ")+")")
	if err != nil {
		return err
	}
	defer batch.Close()
	for _, e := range list {
		end := e.at.Add(e.took)
		row := []any{
			e.project, e.id, e.at, uint64(1), e.status, e.name, "1.0.0", e.title, fmt.Sprintf("Person %d", e.person), person(e.person), e.message,
			append([]string{}, e.tags...), int32(50), &e.at, &end, new(e.took.Seconds()),
		}
		for _, n := range e.numbers {
			row = append(row, n)
		}
		for _, t := range e.texts {
			row = append(row, t)
		}
		if err := batch.Append(row...); err != nil {
			return err
		}
	}
	return batch.Send()
}

const linesEach = 10 // of an execution with a log

// logged writes the log of executions. One in a hundred says CUDA.
func (b *bench) logged(ctx context.Context, r *rand.Rand, list []execution) error {
	batch, err := b.conn.PrepareBatch(ctx, `INSERT INTO logs (tenant_id, project_id, execution_id, node_index, node, attempt, stream, sequence, timestamp, level, message, writer, position)`)
	if err != nil {
		return err
	}
	defer batch.Close()
	for _, e := range list {
		for i := range linesEach {
			message, level := fmt.Sprintf("epoch %d/10: loss %.4f, accuracy %.4f, %d images/s", i, r.Float64(), r.Float64(), 200+r.IntN(900)), "INFO"
			if i == linesEach-1 && r.IntN(100) == 0 {
				message, level = fmt.Sprintf("RuntimeError: CUDA out of memory: tried to allocate %d MiB", r.IntN(9000)), "ERROR"
			}
			err := batch.Append(e.tenant, e.project, e.id, uint32(1), "train", uint16(1), "stdout", int64(i), e.at.Add(time.Duration(i)*time.Second), level, message, uint64(1), uint64(i))
			if err != nil {
				return err
			}
		}
	}
	return batch.Send()
}
