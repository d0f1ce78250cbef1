//go:build !nochdb

package facade

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	chproto "github.com/ClickHouse/ch-go/proto"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse/chdb"
)

// maxQuery limits the text of a statement; rows of an insert do not count.
const maxQuery = 64 << 20

// statement is a parsed request.
type statement struct {
	query        string
	format       string
	insertFormat string    // of the rows in body, "" when it is no insert with a body
	body         io.Reader // rows of an insert
	params       []chdb.Param
	settings     []chdb.Param
	database     string
	compress     bool // answer in LZ4 blocks
	revision     uint64
}

var (
	insertQuery = regexp.MustCompile(`(?is)^\s*INSERT\s+INTO\s.*?\sFORMAT\s+([A-Za-z]+)\s*;?\s*$`)
	formatTail  = regexp.MustCompile(`(?is)\s+FORMAT\s+[A-Za-z]+\s*;?\s*$`)
	readQuery   = regexp.MustCompile(`(?is)^\s*(SELECT|WITH)\b`)
)

func parseRequest(r *http.Request) (*statement, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return nil, errors.New("Code: 48. DB::Exception: external tables are not supported by the embedded engine. (NOT_IMPLEMENTED)")
	}
	args := r.URL.Query()
	st := &statement{
		query:    args.Get("query"),
		format:   args.Get("default_format"),
		database: args.Get("database"),
		compress: args.Get("compress") == "1",
	}
	if st.format == "" {
		st.format = "TabSeparated"
	}
	// A client that tells no revision gets the oldest form.
	st.revision, _ = strconv.ParseUint(args.Get("client_protocol_version"), 10, 64)
	for name, values := range args {
		if param, ok := strings.CutPrefix(name, "param_"); ok {
			st.params = append(st.params, chdb.Param{Name: param, Value: values[0]})
		} else if isSetting(name) {
			st.settings = append(st.settings, chdb.Param{Name: name, Value: values[0]})
		}
	}
	body, err := decodeBody(r, args.Get("decompress") == "1")
	if err != nil {
		return nil, err
	}
	return st, st.readBody(body)
}

// readBody takes the rest of the query from body, unless body holds rows.
func (st *statement) readBody(body io.Reader) error {
	if match := insertQuery.FindStringSubmatch(st.query); match != nil {
		st.insertFormat, st.body = match[1], body
		st.query = formatTail.ReplaceAllString(st.query, "")
		return nil
	}
	rest, err := io.ReadAll(io.LimitReader(body, maxQuery+1))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read the query: %w", err)
	case len(rest) > maxQuery:
		return errors.New("Code: 62. DB::Exception: the query is too long. (SYNTAX_ERROR)")
	case st.query == "":
		st.query = string(rest)
	case len(rest) > 0:
		st.query += "\n" + string(rest)
	}
	return nil
}

// streams tells a query whose result is sent while it is being computed.
func (st *statement) streams() bool {
	return st.format == "Native" && readQuery.MatchString(st.query)
}

// isSetting tells arguments that are settings of the engine from those of the
// HTTP interface. Inserts here are always synchronous: the embedded engine has
// no buffer for asynchronous ones.
func isSetting(name string) bool {
	switch name {
	case "query", "database", "default_format", "client_protocol_version", "query_id", "compress", "decompress",
		"session_id", "session_timeout", "session_check", "quota_key", "user", "password", "role",
		"wait_end_of_query", "buffer_size", "stacktrace", "async_insert", "wait_for_async_insert":
		return false
	}
	return true
}

func decodeBody(r *http.Request, blocks bool) (io.Reader, error) {
	var body io.Reader = r.Body
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("read compressed request: %w", err)
		}
		body = unzipped
	default:
		return nil, fmt.Errorf("Code: 48. DB::Exception: content encoding %q is not supported by the embedded engine. (NOT_IMPLEMENTED)", encoding)
	}
	if blocks {
		reader := chproto.NewReader(body)
		reader.EnableCompression()
		body = reader
	}
	return body, nil
}

// blockWriter writes ClickHouse's LZ4 blocks, the driver's own compression.
type blockWriter struct {
	w io.Writer
	c *compress.Writer
}

// writer returns where the rows of an answer to st go.
func (st *statement) writer(w io.Writer) io.Writer {
	if !st.compress {
		return w
	}
	return &blockWriter{w: w, c: compress.NewWriter(compress.LevelZero, compress.LZ4)}
}

func (b *blockWriter) Write(p []byte) (int, error) {
	const blockSize = 1 << 20
	for rest := p; len(rest) > 0; {
		n := min(len(rest), blockSize)
		if err := b.c.Compress(rest[:n]); err != nil {
			return 0, err
		}
		if _, err := b.w.Write(b.c.Data); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}
