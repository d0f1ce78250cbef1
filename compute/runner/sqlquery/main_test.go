package sqlquery

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/platform/unixsocket"
)

// postgres is a request to a database of the test alone.
func postgres(t *testing.T, query string) Request {
	t.Helper()
	return Request{Kind: Postgres, URL: dbtest.NewURL(t), Query: query, ReadOnly: true, MaxRows: 1000, MaxBytes: 1 << 20, Timeout: time.Minute, Path: filepath.Join(t.TempDir(), "result.parquet")}
}

// clickhouse is a request to the ClickHouse of the tests, which listens on a socket.
func clickhouse(t *testing.T, query string) Request {
	t.Helper()
	u, err := url.Parse(os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL"))
	if err != nil || u.Scheme == "" {
		t.Fatal("FLOWFORGE_TEST_CLICKHOUSE_URL is not set; run scripts/environment go test …")
	}
	address := u.String()
	if strings.HasSuffix(u.Scheme, "unix") {
		proxy := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: "clickhouse"}) },
			Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsocket.Dial(ctx, u.Path) }},
		})
		t.Cleanup(proxy.Close)
		address = proxy.URL
	}
	return Request{
		Kind: ClickHouse, URL: address, Fields: map[string]any{"database": "default", "user": "default"}, Query: query,
		ReadOnly: true, MaxRows: 1000, MaxBytes: 1 << 20, Timeout: time.Minute, Path: filepath.Join(t.TempDir(), "result.parquet"),
	}
}

func run(t *testing.T, r Request) Result {
	t.Helper()
	result, err := Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func wantError(t *testing.T, r Request, part string) {
	t.Helper()
	_, err := Run(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: %v; want %q", r.Query, err, part)
	}
}

// table reads the columns with their types, and the values, of a result.
func table(t *testing.T, path string) (columns []string, rows [][]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Root().Columns() {
		columns = append(columns, c.Name()+" "+c.Type().String())
	}
	reader := parquet.NewReader(p)
	defer reader.Close()
	buffer := make([]parquet.Row, p.NumRows())
	n, _ := reader.ReadRows(buffer)
	for _, row := range buffer[:n] {
		var values []string
		for _, v := range row {
			values = append(values, v.String())
		}
		rows = append(rows, values)
	}
	return columns, rows
}
