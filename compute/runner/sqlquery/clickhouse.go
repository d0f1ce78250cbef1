package sqlquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
)

const maxClickHouseError = 4 << 10

// clickHouse is a server's HTTP interface.
type clickHouse struct {
	request Request
	client  *http.Client
}

func newClickHouse(r Request) *clickHouse {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: connectLimit, DisableKeepAlives: true}
	// Redirects would send the password elsewhere.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &clickHouse{r, &http.Client{Transport: transport, CheckRedirect: refuse}}
}

func (c *clickHouse) field(name string) string {
	value, _ := c.request.Fields[name].(string)
	return value
}

func (c *clickHouse) send(ctx context.Context, query string, settings url.Values) (*http.Response, error) {
	settings.Set("database", c.field("database"))
	address := strings.TrimSuffix(c.request.URL, "/") + "/?" + settings.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(query))
	if err != nil {
		return nil, errors.New("the endpoint of the connection is not a valid address")
	}
	req.Header.Set("X-ClickHouse-User", c.field("user"))
	if password := c.field("password"); password != "" {
		req.Header.Set("X-ClickHouse-Key", password)
	}
	res, err := c.client.Do(req)
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err // the address has the values of parameters
	}
	if err != nil {
		return nil, fmt.Errorf("the request failed: %w", err)
	}
	return res, nil
}

// runClickHouse lets the server write the result as Parquet. The server holds the result back until the
// statement has ended, so an error never follows half a file.
func runClickHouse(ctx context.Context, r Request) (Result, error) {
	c := newClickHouse(r)
	id := uuid.NewString()
	settings, err := c.settings(id)
	if err != nil {
		return Result{}, err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		c.kill(context.WithoutCancel(ctx), id)
	})
	defer func() {
		if !stop() {
			<-ended
		}
	}()
	res, err := c.send(ctx, r.Query, settings)
	if err != nil {
		return Result{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("X-ClickHouse-Exception-Code") != "" {
		return Result{}, c.refused(res)
	}
	return c.save(res)
}

func (c *clickHouse) settings(id string) (url.Values, error) {
	seconds := strconv.FormatFloat(c.request.Timeout.Seconds(), 'f', 3, 64)
	settings := url.Values{
		"query_id": {id}, "default_format": {"Parquet"}, "wait_end_of_query": {"1"},
		"max_execution_time": {seconds}, "timeout_overflow_mode": {"throw"},
		"max_result_rows": {strconv.FormatInt(c.request.MaxRows, 10)}, "result_overflow_mode": {"throw"},
		"output_format_parquet_string_as_string": {"1"},
	}
	if c.request.ReadOnly {
		settings.Set("readonly", "2") // reads only, and the query cannot change this setting
	}
	for name, value := range c.request.Args {
		text, err := clickHouseValue(value)
		if err != nil {
			return nil, fmt.Errorf("the parameter %s: %w", name, err)
		}
		settings.Set("param_"+name, text)
	}
	return settings, nil
}

func escapeParameter(text string) string {
	return strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`).Replace(text)
}

// clickHouseValue writes the value of a parameter in the format TabSeparated, which the server decodes.
func clickHouseValue(value any) (string, error) {
	if value == nil {
		return `\N`, nil
	}
	if _, object := value.(map[string]any); object {
		encoded, err := document(value)
		return escapeParameter(encoded), err
	}
	if list, ok := value.([]any); ok {
		literal, err := clickHouseList(list)
		return escapeParameter(literal), err
	}
	t, _ := text(value)
	return escapeParameter(t), nil
}

func quoteLiteral(text string) string {
	return strings.NewReplacer("\\", `\\`, "'", `\'`).Replace(text)
}

func clickHouseList(list []any) (string, error) {
	parts := make([]string, len(list))
	for i, item := range list {
		switch v := item.(type) {
		case nil:
			parts[i] = "NULL"
		case string:
			parts[i] = "'" + quoteLiteral(v) + "'"
		case json.Number, bool:
			parts[i], _ = text(v)
		default:
			return "", errors.New("use a list of numbers or strings")
		}
	}
	return "[" + strings.Join(parts, ",") + "]", nil
}

// kill ends the statement on the server.
func (c *clickHouse) kill(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, cancelLimit)
	defer cancel()
	if res, err := c.send(ctx, "KILL QUERY WHERE query_id = {id:String} ASYNC", url.Values{"param_id": {id}}); err == nil {
		_ = res.Body.Close()
	}
}

// Codes of ClickHouse errors.
const (
	codeTimeout     = "159"
	codeTooManyRows = "396"
	codeReadonly    = "164"
)

func (c *clickHouse) refused(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxClickHouseError))
	message := strings.TrimSuffix(strings.TrimSpace(strings.ToValidUTF8(string(body), "")), ".")
	code := res.Header.Get("X-ClickHouse-Exception-Code")
	switch {
	case code == codeTimeout:
		return c.request.tooSlow()
	case code == codeTooManyRows:
		return c.request.tooManyRows()
	case code == codeReadonly:
		return fmt.Errorf("%s: set read_only: false on the operator to change data", message)
	case message == "":
		return fmt.Errorf("the server responded with %s", res.Status)
	}
	return errors.New(message)
}

// save writes the result to the file.
func (c *clickHouse) save(res *http.Response) (Result, error) {
	out, err := os.Create(c.request.Path)
	if err != nil {
		return Result{}, err
	}
	size, err := io.Copy(out, io.LimitReader(res.Body, c.request.MaxBytes+1))
	if err == nil && size > c.request.MaxBytes {
		err = c.request.tooManyBytes()
	}
	if err != nil {
		return Result{}, errors.Join(err, out.Close())
	}
	if size == 0 {
		changed, err := changedRows(res.Header.Get("X-ClickHouse-Summary"))
		return Result{Rows: changed}, errors.Join(err, out.Close(), os.Remove(c.request.Path))
	}
	f, err := parquet.OpenFile(out, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return Result{}, errors.Join(errNotParquet, out.Close())
	}
	if f.NumRows() > c.request.MaxRows { // a setting in the query can replace the limit
		return Result{}, errors.Join(c.request.tooManyRows(), out.Close())
	}
	return Result{Rows: f.NumRows(), Columns: len(f.Root().Columns()), Bytes: size}, out.Close()
}

// changedRows reads the number of written rows from the summary of a statement.
func changedRows(summary string) (int64, error) {
	var s struct {
		Written string `json:"written_rows"`
	}
	if summary == "" {
		return 0, nil
	}
	if err := json.Unmarshal([]byte(summary), &s); err != nil {
		return 0, fmt.Errorf("the summary of the statement cannot be read: %w", err)
	}
	if s.Written == "" {
		return 0, nil
	}
	return strconv.ParseInt(s.Written, 10, 64)
}
