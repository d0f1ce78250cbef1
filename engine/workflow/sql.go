package workflow

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// SQL is the statement of an sql operator.
type SQL struct {
	Connection string // the input that holds the connection
	Query      string
	ReadOnly   bool
	MaxRows    int64
	MaxMiB     int // size of the result as a Parquet file
	Timeout    time.Duration
}

// Outputs of an sql operator.
const (
	SQLResult = "result"
	SQLRows   = "rows"
)

// Kinds of connections that run SQL.
const (
	sqlPostgres   = "postgres"
	sqlClickHouse = "clickhouse"
)

const (
	maxQuery         = 256 << 10
	defaultSQLRows   = 1_000_000
	maxSQLRows       = 1_000_000_000
	defaultSQLMiB    = 1 << 10
	defaultStatement = 10 * time.Minute
)

type sqlJSON struct {
	Connection string `json:"connection"`
	Query      string `json:"query"`
	ReadOnly   bool   `json:"read_only"`
	MaxRows    int64  `json:"max_rows"`
	MaxSize    string `json:"max_size"`
	Timeout    string `json:"statement_timeout"`
}

func (s *SQL) wire() *sqlJSON {
	if s == nil {
		return nil
	}
	return &sqlJSON{s.Connection, s.Query, s.ReadOnly, s.MaxRows, writeMiB(s.MaxMiB), units.Compact(s.Timeout)}
}

func (p *parser) sql(parent *object) *SQL {
	v, at, _ := parent.get("sql")
	if query, isText := v.(string); isText {
		v = map[string]any{"query": query}
	}
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	s := &SQL{
		Connection: o.text(100, "connection"), Query: o.text(maxQuery, "query"), ReadOnly: o.boolean(true, "read_only"),
		MaxRows: int64(o.whole(defaultSQLRows, 1, maxSQLRows, "max_rows")), MaxMiB: o.size(0, "max_size"), Timeout: o.duration(defaultStatement, "statement_timeout"),
	}
	if s.MaxMiB == 0 {
		s.MaxMiB = defaultSQLMiB
	}
	if s.Timeout < time.Millisecond {
		o.add(o.at("statement_timeout"), "Set a timeout of at least 1ms.")
	}
	return s
}

func checkSQL(c *sectionCheck) {
	c.refuseHTTP()
	c.refuseCode()
	at := c.path + ".sql"
	if c.op.SQL == nil {
		c.add(at, "Set the statement: sql: {query: SELECT …}.")
		return
	}
	if strings.TrimSpace(c.op.SQL.Query) == "" {
		c.add(at+".query", "Set the statement to run.")
	}
	for i, out := range c.op.Outputs {
		path := fmt.Sprintf("%s.outputs[%d]", c.path, i)
		if out.Type == nil {
			continue
		}
		t := out.Type
		if t.Kind == typeregistry.KindOptional {
			t = t.Elem
		}
		switch out.Name {
		case SQLResult:
			if kinds := []typeregistry.Kind{typeregistry.KindFile, typeregistry.KindTable, typeregistry.KindDataset}; !slices.Contains(kinds, t.Kind) {
				c.add(path+".type", "The output result is a Parquet file; use the type Table, Dataset or File.")
			}
		case SQLRows:
			if t.Kind != typeregistry.KindInteger {
				c.add(path+".type", "The output rows is the number of rows; use the type Integer.")
			}
		default:
			c.add(path+".name", "An operator of type sql has the outputs result and rows, not %q.", shorten(out.Name, 60))
		}
	}
}

// sql checks the inputs of an sql operator, whose types are known now.
func (l *linker) sql(op *Operator, path string) {
	if op.SQL == nil || op.Type != TypeSQL && op.Type != TypeSensor {
		return
	}
	operatorPath := path
	if op.Sensor != nil {
		path += ".sensor"
	}
	path += ".sql"
	kind := l.sqlConnection(op, path)
	if kind == "" {
		return
	}
	names := valueNames(op, op.SQL.Connection)
	used := postgresParameters(op.SQL.Query)
	if kind == sqlClickHouse {
		used = clickHouseParameters(op.SQL.Query)
	}
	for _, name := range used {
		if !slices.Contains(names, name) {
			l.add(path+".query", "The query has the parameter %q, but the operator has no input of that name.%s", shorten(name, 60), suggestion(name, names))
		}
	}
	for i, in := range op.Inputs {
		if in.Type != nil && in.Name != op.SQL.Connection && slices.Contains(used, in.Name) && (in.Type.IsBlob() || in.Type.HoldsSecret()) {
			l.add(fmt.Sprintf("%s.inputs[%d].type", operatorPath, i), "A parameter of a query is a value; %s cannot be one.", in.Type)
		}
	}
}

// sqlConnection finds the input with the connection and returns its kind; "" when there is a problem.
func (l *linker) sqlConnection(op *Operator, path string) string {
	in := l.connectionInput(op, op.SQL.Connection, path)
	if in == nil {
		return ""
	}
	op.SQL.Connection = in.Name
	if in.Type == nil { // reported with the input
		return ""
	}
	kind := in.Type.Params.Connection
	if in.Type.Kind != typeregistry.KindConnection || kind != sqlPostgres && kind != sqlClickHouse {
		l.add(path+".connection", "The input %s has the type %s; use Connection<postgres> or Connection<clickhouse>.", in.Name, in.Type)
		return ""
	}
	return kind
}

// connectionInput finds the input that holds the connection of an operator: the one called name, or
// without a name the only connection. It reports a name that no input has, and a choice among several.
func (l *linker) connectionInput(op *Operator, name, path string) *Input {
	var found []*Input
	for i := range op.Inputs {
		in := &op.Inputs[i]
		if name == "" && in.Type != nil && in.Type.Kind == typeregistry.KindConnection || name != "" && in.Name == name {
			found = append(found, in)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		l.add(path+".connection", "Name the input whose connection is used: %s or %s.", found[0].Name, found[1].Name)
		return nil
	case name != "":
		l.add(path+".connection", "The operator has no input called %q.", shorten(name, 60))
	case op.Sensor != nil && op.Sensor.Object != nil:
		l.add(path, "Add an input of type Connection<s3>.")
	case op.SQL != nil:
		l.add(path, "Add an input of type Connection<postgres> or Connection<clickhouse>.")
	}
	return nil
}

// valueNames are the names of the inputs and parameters of an operator, without its connection.
func valueNames(op *Operator, connection string) []string {
	var names []string
	for _, in := range op.Inputs {
		if in.Name != connection {
			names = append(names, in.Name)
		}
	}
	for name := range op.Parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var atName = regexp.MustCompile(`@([A-Za-z_][A-Za-z0-9_]*)`)

// postgresParameters returns the names of @name in a query, outside of literals and comments.
func postgresParameters(query string) []string {
	candidates := pgx.NamedArgs{}
	for _, m := range atName.FindAllStringSubmatch(query, -1) {
		candidates[m[1]] = m[1]
	}
	_, used, err := candidates.RewriteQuery(context.Background(), nil, query, nil)
	if err != nil { // the database reports what is wrong with the query
		return nil
	}
	var names []string
	for _, name := range used {
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}

// clickHouseToken matches literals, quoted names and comments, so that parameters in them do not count,
// or a parameter {name:Type}.
var clickHouseToken = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + "`(?:[^`\\\\]|\\\\.)*`" + `|--[^\n]*|(?s:/\*.*?\*/)|\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*:[^{}]+\}`)

func clickHouseParameters(query string) []string {
	var names []string
	for _, m := range clickHouseToken.FindAllStringSubmatch(query, -1) {
		if m[1] != "" && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}
