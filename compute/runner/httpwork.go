package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	maxHTTPBody      = 256 << 20 // of operators that set no limit
	maxConditionBody = 16 << 20
	tlsLimit         = 20 * time.Second
	maxHTTPExcerpt   = 2 << 10 // excerpt of an unexpected response, for the log
)

// requester sends the requests of http operators. It does not share the client of the
// server's socket.
type requester struct{ client *http.Client }

func newRequester() *requester {
	return &requester{client: &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			TLSHandshakeTimeout:   tlsLimit,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       time.Minute,
			ResponseHeaderTimeout: 0, // the attempt's own timeout applies
		},
		CheckRedirect: followRedirect,
	}}
}

// call is the work of one http operator.
type call struct {
	*requester
	work    *flowforgev1.Http
	inputs  map[string]any // of the operator, as decoded JSON
	base    string         // of the connection; "": the URL of the work is a whole address
	sign    func(*http.Request) error
	outputs string // folder
	wants   func(output string) bool
	note    func(level, line string)
}

// do sends the request, or those of all pages, and writes the files body, status and, if an output has
// that name, headers. The error is a sentence without a full stop.
func (c *call) do(ctx context.Context) error {
	req, err := c.request(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if c.work.NextPage != "" {
		return c.pages(req, begin)
	}
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	path := filepath.Join(c.outputs, "body")
	start, size, err := saveBody(resp.Body, path, c.limit())
	if err != nil {
		return fmt.Errorf("the response could not be read: %w", err)
	}
	c.note(levelInfo, fmt.Sprintf("%s: %s, %d bytes in %s", nameOf(req), resp.Status, size, time.Since(begin).Round(time.Millisecond)))
	if err := c.record(resp); err != nil {
		return err
	}
	if err := c.accept(req, resp, start); err != nil {
		return err
	}
	if c.work.Condition == "" {
		return nil
	}
	if size > maxConditionBody {
		return fmt.Errorf("the response has %d bytes; a condition can read at most %d", size, maxConditionBody)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return c.expect(req, resp, body)
}

// nameOf is the request in logs and messages.
func nameOf(req *http.Request) string { return req.Method + " " + req.URL.Redacted() }

// limit is the maximum size of the output body in bytes.
func (c *call) limit() int64 { return cmp.Or(c.work.MaxBytes, maxHTTPBody) }

// record writes the files of the status and the headers.
func (c *call) record(resp *http.Response) error {
	if err := os.WriteFile(filepath.Join(c.outputs, "status"), []byte(strconv.Itoa(resp.StatusCode)), 0o600); err != nil {
		return err
	}
	if !c.wants("headers") {
		return nil
	}
	headers, err := json.Marshal(resp.Header)
	return errors.Join(err, os.WriteFile(filepath.Join(c.outputs, "headers"), headers, 0o600))
}

// accept checks the status of a response that starts with start.
func (c *call) accept(req *http.Request, resp *http.Response, start []byte) error {
	if acceptedStatus(resp.StatusCode, c.work.SuccessCodes) {
		return nil
	}
	if excerpt := strings.TrimSpace(cleanText(start[:min(len(start), maxHTTPExcerpt)])); excerpt != "" {
		c.note(levelError, excerpt)
	}
	if comesLater(resp.StatusCode) {
		return notYetf("%s responded with %s", nameOf(req), resp.Status)
	}
	return fmt.Errorf("%s responded with %s", nameOf(req), resp.Status)
}

// acceptedStatus reports whether status is one of codes; without codes, every 2xx is
// accepted.
func acceptedStatus(status int, codes []int32) bool {
	if len(codes) == 0 {
		return status >= 200 && status < 300
	}
	return slices.Contains(codes, int32(status)) //nolint:gosec // three digits
}

// saveBody writes the body to a file and returns its beginning.
func saveBody(body io.Reader, path string, limit int64) (begin []byte, size int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, 0, err
	}
	size, err = io.Copy(file, io.LimitReader(body, limit+1))
	if err == nil && size > limit {
		err = fmt.Errorf("it has more than %d MiB; raise max_size", limit>>20)
	}
	if err == nil {
		begin = make([]byte, min(size, maxHTTPExcerpt))
		_, err = file.ReadAt(begin, 0)
	}
	return begin, size, errors.Join(err, file.Close())
}

// unwrapURL removes the method and address from an error; the surrounding sentence has
// them.
func unwrapURL(err error) error {
	type urlError interface {
		Unwrap() error
		Timeout() bool
	}
	if e, ok := err.(urlError); ok {
		return e.Unwrap()
	}
	return err
}
