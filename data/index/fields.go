package index

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/search"
)

// MaxFields is the number of names with numbers, and of names with texts, that a project can
// have. Further names are not searchable, and Fields says so.
const MaxFields = 1000

// letters are the prefixes of the columns of a type.
func letter(kind search.Type) string {
	if kind == search.Number {
		return "n"
	}
	return "t"
}

// assigned are the columns of a project's names.
type assigned struct {
	columns map[key]int
	counts  map[search.Type]int
}

func newAssigned() assigned { return assigned{map[key]int{}, map[search.Type]int{}} }

func (s *Service) assigned(ctx context.Context, q *db.Queries, project uuid.UUID) (assigned, error) {
	rows, err := q.SearchFields(ctx, project)
	if err != nil {
		return assigned{}, fmt.Errorf("names of project %s: %w", project, err)
	}
	a := newAssigned()
	for _, r := range rows {
		a.add(key{search.Part(r.Part), r.Name, search.Stat(r.Stat), search.Type(r.Type)}, int(r.Slot))
	}
	return a, nil
}

// add gives a name a column. counts is one more than the last column.
func (a assigned) add(k key, slot int) {
	a.columns[k], a.counts[k.kind] = slot, max(a.counts[k.kind], slot+1)
}

// full reports whether a project can have no more names of a type.
func (a assigned) full(kind search.Type) bool { return a.counts[kind] >= MaxFields }

// slots are the columns of the values of some entries, by project.
type slots map[uuid.UUID]assigned

// slots assigns columns to the names of entries that have none yet, and adds columns to the table.
func (s *Service) slots(ctx context.Context, conn driver.Conn, entries []entry) (slots, error) {
	all := slots{}
	for _, e := range entries {
		if _, known := all[e.row.ProjectID]; !known && !e.removed {
			a, err := s.assigned(ctx, s.queries, e.row.ProjectID)
			if err != nil {
				return nil, err
			}
			all[e.row.ProjectID] = a
		}
	}
	for project, a := range all {
		if !missing(project, a, entries) {
			continue
		}
		a, err := s.assign(ctx, conn, project, entries)
		if err != nil {
			return nil, err
		}
		all[project] = a
	}
	for _, a := range all {
		if err := s.widen(ctx, conn, a.counts); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// missing reports whether entries of a project have names without a column.
func missing(project uuid.UUID, a assigned, entries []entry) bool {
	for _, e := range entries {
		if e.row.ProjectID != project {
			continue
		}
		for _, v := range e.values {
			if _, known := a.columns[v.key]; !known && !a.full(v.kind) {
				return true
			}
		}
	}
	return false
}

// assign gives columns to new names of a project. It commits by itself: a name keeps its column
// even if the entries are not written. The table has the columns before searches know the names.
func (s *Service) assign(ctx context.Context, conn driver.Conn, project uuid.UUID, entries []entry) (a assigned, err error) {
	type row struct {
		Part string `json:"part"`
		Name string `json:"name"`
		Stat string `json:"stat"`
		Type string `json:"type"`
		Slot int    `json:"slot"`
	}
	err = db.Tx(ctx, s.cfg.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.HoldSearchFields(ctx, project.String()); err != nil {
			return err
		}
		var err error
		if a, err = s.assigned(ctx, q, project); err != nil {
			return err
		}
		var fresh []row
		for _, e := range entries {
			if e.row.ProjectID != project {
				continue
			}
			for _, v := range e.values {
				if _, known := a.columns[v.key]; known || a.full(v.kind) {
					continue
				}
				slot := a.counts[v.kind]
				a.add(v.key, slot)
				fresh = append(fresh, row{string(v.part), v.name, string(v.stat), string(v.kind), slot})
			}
		}
		if len(fresh) == 0 { // another server assigned them
			return nil
		}
		if err := s.widen(ctx, conn, a.counts); err != nil {
			return err
		}
		raw, err := json.Marshal(fresh)
		if err != nil {
			return err
		}
		return q.InsertSearchFields(ctx, project, raw)
	})
	if err != nil {
		return assigned{}, fmt.Errorf("assign columns to names of project %s: %w", project, err)
	}
	return a, nil
}

// widen adds the columns that the table lacks, some in advance.
func (s *Service) widen(ctx context.Context, conn driver.Conn, counts map[search.Type]int) error {
	const ahead = 16
	if s.columns == nil {
		if err := s.countColumns(ctx, conn); err != nil {
			return err
		}
	}
	for _, kind := range []search.Type{search.Number, search.String} {
		need, from := counts[kind], s.columns[string(kind)]
		if need <= from {
			continue
		}
		to := (need + ahead - 1) / ahead * ahead
		var add []string
		for i := from; i < to; i++ {
			column := map[search.Type]string{search.Number: "Nullable(Float64)", search.String: "Nullable(String)"}[kind]
			add = append(add, fmt.Sprintf("ADD COLUMN IF NOT EXISTS %s%d %s", letter(kind), i, column))
		}
		if err := conn.Exec(ctx, "ALTER TABLE execution_values "+strings.Join(add, ", ")); err != nil {
			return fmt.Errorf("add columns to the index: %w", err)
		}
		s.columns[string(kind)] = to
	}
	return nil
}

// countColumns reads how many columns of each type the table has.
func (s *Service) countColumns(ctx context.Context, conn driver.Conn) error {
	var numbers, texts uint64
	err := conn.QueryRow(ctx, `SELECT countIf(match(name, '^n[0-9]+$')), countIf(match(name, '^t[0-9]+$'))
		FROM system.columns WHERE database = currentDatabase() AND table = 'execution_values'`).Scan(&numbers, &texts)
	if err != nil {
		return fmt.Errorf("columns of the index: %w", err)
	}
	s.columns = map[string]int{string(search.Number): int(numbers), string(search.String): int(texts)}
	return nil
}

// columns are the names of all columns that the entries may use, sorted.
func (s slots) columns() []string {
	seen := map[string]bool{}
	for _, a := range s {
		for k, slot := range a.columns {
			seen[letter(k.kind)+strconv.Itoa(slot)] = true
		}
	}
	list := make([]string, 0, len(seen))
	for c := range seen {
		list = append(list, c)
	}
	slices.Sort(list)
	return list
}

// cells are the values of an entry in the order of columns.
func (s slots) cells(e entry, columns []string) []any {
	at := make(map[string]any, len(e.values))
	for _, v := range e.values {
		slot, known := s[e.row.ProjectID].columns[v.key]
		if !known {
			continue
		}
		if v.kind == search.Number {
			at[letter(v.kind)+strconv.Itoa(slot)] = v.number
		} else {
			at[letter(v.kind)+strconv.Itoa(slot)] = v.text
		}
	}
	cells := make([]any, len(columns))
	for i, c := range columns {
		cells[i] = at[c]
	}
	return cells
}
