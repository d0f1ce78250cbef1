package runner

import (
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
	maxHTTPBody    = 256 << 20
	tlsLimit       = 20 * time.Second
	maxHTTPExcerpt = 2 << 10 // excerpt of an unexpected response, for the log
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

// do sends the request and writes the response to the files "body", "status" and, if an
// output has that name, "headers" of the outputs folder. It writes log lines with note. The
// error is a sentence.
func (r *requester) do(ctx context.Context, work *flowforgev1.Http, outputs string, outputSpecs []*flowforgev1.OutputSpec, note func(level, line string)) error {
	method := work.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, work.Url, strings.NewReader(work.Body))
	if err != nil {
		return fmt.Errorf("the request is not valid: %w", err)
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return fmt.Errorf("%q is not an http or https address", work.Url)
	}
	for name, value := range work.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	begin := time.Now()
	resp, err := r.send(req, work, note)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, size, err := saveBody(resp.Body, filepath.Join(outputs, "body"))
	if err != nil {
		return fmt.Errorf("the response could not be read: %w", err)
	}
	note(levelInfo, fmt.Sprintf("%s %s: %s, %d bytes in %s", method, req.URL.Redacted(), resp.Status, size, time.Since(begin).Round(time.Millisecond)))
	if err := os.WriteFile(filepath.Join(outputs, "status"), []byte(strconv.Itoa(resp.StatusCode)), 0o600); err != nil {
		return err
	}
	if slices.ContainsFunc(outputSpecs, func(o *flowforgev1.OutputSpec) bool { return o.Name == "headers" }) {
		headers, err := json.Marshal(resp.Header)
		if err = errors.Join(err, os.WriteFile(filepath.Join(outputs, "headers"), headers, 0o600)); err != nil {
			return err
		}
	}
	if acceptedStatus(resp.StatusCode, work.SuccessCodes) {
		return nil
	}
	if excerpt := strings.TrimSpace(cleanText(body)); excerpt != "" {
		note(levelError, excerpt)
	}
	return fmt.Errorf("%s %s answered %s", method, req.URL.Redacted(), resp.Status)
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
func saveBody(body io.Reader, path string) (begin []byte, size int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, 0, err
	}
	size, err = io.Copy(file, io.LimitReader(body, maxHTTPBody+1))
	if err == nil && size > maxHTTPBody {
		err = fmt.Errorf("it has more than %d MiB", maxHTTPBody>>20)
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
