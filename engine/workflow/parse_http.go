package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/platform/units"
)

// HTTPRetry sends a request again within the same attempt.
type HTTPRetry struct {
	Status   []int // after answers with these status codes
	Limit    int
	MaxDelay time.Duration // of one pause; a longer Retry-After ends the attempt
}

const (
	defaultHTTPRetries = 5
	maxHTTPRetries     = 100
	defaultHTTPDelay   = time.Minute
	firstError         = 400 // the lowest status code that can be retried
)

type httpJSON struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Success []int             `json:"success,omitempty"`
	Retry   *httpRetryJSON    `json:"retry,omitempty"`
}

type httpRetryJSON struct {
	Status   []int  `json:"status"`
	Limit    int    `json:"limit"`
	MaxDelay string `json:"max_delay"`
}

func (r *HTTPRetry) wire() *httpRetryJSON {
	if r == nil {
		return nil
	}
	return &httpRetryJSON{r.Status, r.Limit, units.Compact(r.MaxDelay)}
}

func (p *parser) http(parent *object) *HTTP {
	v, at, _ := parent.get("http")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	h := &HTTP{Method: strings.ToUpper(o.text(20, "method")), URL: o.text(8000, "url"), Headers: o.textMap("headers")}
	if h.Method == "" {
		h.Method = "GET"
	}
	switch body, _, _ := o.get("body"); b := body.(type) {
	case nil:
	case string:
		h.Body = b
	default: // a JSON body may be written as a mapping
		if encoded, err := json.Marshal(b); err == nil {
			h.Body = string(encoded)
		}
	}
	h.Success = o.statusCodes(100, "success")
	h.Again = p.httpRetry(o)
	for _, code := range h.Success {
		if h.Again != nil && slices.Contains(h.Again.Status, code) {
			o.add(o.at("retry")+".status", "The status %d cannot mean both success and a retry.", code)
		}
	}
	return h
}

func (p *parser) httpRetry(parent *object) *HTTPRetry {
	v, at, _ := parent.get("retry")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	r := &HTTPRetry{
		Status: o.statusCodes(firstError, "status"), Limit: o.whole(defaultHTTPRetries, 1, maxHTTPRetries, "limit"),
		MaxDelay: o.duration(defaultHTTPDelay, "max_delay"),
	}
	if listed, path := o.list(100, "status"); len(listed) == 0 {
		o.add(path, "List the status codes after which the request is sent again, such as [429, 503].")
	}
	return r
}

// statusCodes reads a list of status codes from low to 599.
func (o *object) statusCodes(low int, name string) []int {
	var codes []int
	items, path := o.list(100, name)
	for i, c := range items {
		n, err := strconv.Atoi(numberText(c))
		if err != nil || n < low || n > 599 {
			o.add(fmt.Sprintf("%s[%d]", path, i), "This must be a status code from %d to 599.", low)
			continue
		}
		codes = append(codes, n)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
