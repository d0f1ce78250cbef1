package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// HTTP is the request of an http operator. URL, Headers and Body can have tags such as {{name}}, whose
// expressions read the inputs of the operator; those of translated files have the tags of their format.
type HTTP struct {
	Connection string // the input with a connection; "": none, and URL is a whole address
	Method     string
	URL        string // with a connection, a path below its base URL
	Headers    map[string]string
	Body       string
	JSONBody   bool       // Body is JSON
	Success    []int      // status codes; empty: 200 to 299
	Again      *HTTPRetry // nil: the request is sent once
	Pages      *HTTPPages // nil: one request
	MaxMiB     int        // size of the body of the response, of all pages together; 0: DefaultHTTPMiB

	// Expected must be true for a response that Success accepts; nil: none. It reads status, headers
	// and body, and the inputs. The runner evaluates it.
	Expected *expression.Expression
	// Condition is that of an Argo file: it reads response.statusCode, response.body and
	// response.headers. The engine evaluates it. The operator has the outputs of HTTPOutputs.
	Condition *expression.Expression
}

// HTTPOutputs are the outputs of an operator with HTTP.Condition besides the body.
func HTTPOutputs() (status, headers string) { return "status", "headers" }

// HTTPPages collects the items of several responses in one list.
type HTTPPages struct {
	// Next finds the next page in status, headers, body, link and page: an address, an object with the
	// query parameters that change, or nothing after the last page.
	Next  *expression.Expression
	Items *expression.Expression // the list in a response; nil: body
	Limit int                    // more pages are an error
}

// HTTPRetry sends a request again within the same attempt.
type HTTPRetry struct {
	Status   []int // after answers with these status codes
	Limit    int
	MaxDelay time.Duration // of one pause; a longer Retry-After ends the attempt
}

// DefaultHTTPMiB is the maximum size of a response whose operator sets none.
const DefaultHTTPMiB = 256

const (
	defaultHTTPRetries = 5
	maxHTTPRetries     = 100
	defaultHTTPDelay   = time.Minute
	firstError         = 400 // the lowest status code that can be retried
	defaultHTTPPages   = 100
	maxHTTPPages       = 100_000
	httpConnection     = "http"
)

type httpJSON struct {
	Connection string            `json:"connection,omitempty"`
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers,omitempty"`
	Body       any               `json:"body,omitempty"` // text or JSON
	Success    []int             `json:"success,omitempty"`
	Condition  string            `json:"condition,omitempty"`
	Retry      *httpRetryJSON    `json:"retry,omitempty"`
	Pages      *httpPagesJSON    `json:"pages,omitempty"`
	MaxSize    string            `json:"max_size,omitempty"`
}

type httpRetryJSON struct {
	Status   []int  `json:"status"`
	Limit    int    `json:"limit"`
	MaxDelay string `json:"max_delay"`
}

type httpPagesJSON struct {
	Next  string `json:"next"`
	Items string `json:"items,omitempty"`
	Limit int    `json:"limit"`
}

func (h *HTTP) wire() *httpJSON {
	if h == nil {
		return nil
	}
	out := &httpJSON{Connection: h.Connection, Method: h.Method, URL: h.URL, Headers: h.Headers, Success: h.Success, Retry: h.Again.wire(), Pages: h.Pages.wire()}
	switch {
	case h.JSONBody:
		out.Body = json.RawMessage(h.Body)
	case h.Body != "":
		out.Body = h.Body
	}
	if h.Expected != nil {
		out.Condition = h.Expected.String()
	}
	if h.MaxMiB != 0 {
		out.MaxSize = writeMiB(h.MaxMiB)
	}
	return out
}

// Text is the request for people to read.
func (h *HTTP) Text() string {
	lines := []string{h.Method + " " + h.URL}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		lines = append(lines, name+": "+h.Headers[name])
	}
	if h.Body != "" {
		lines = append(lines, "", h.Body)
	}
	if h.Connection != "" {
		lines = append(lines, "", "Connection: "+h.Connection)
	}
	if h.Expected != nil {
		lines = append(lines, "", "Condition: "+h.Expected.String())
	}
	if h.Pages != nil {
		lines = append(lines, "", "Next page: "+h.Pages.Next.String())
	}
	return strings.Join(lines, "\n")
}

func (r *HTTPRetry) wire() *httpRetryJSON {
	if r == nil {
		return nil
	}
	return &httpRetryJSON{r.Status, r.Limit, units.Compact(r.MaxDelay)}
}

func (p *HTTPPages) wire() *httpPagesJSON {
	if p == nil {
		return nil
	}
	out := &httpPagesJSON{Next: p.Next.String(), Limit: p.Limit}
	if p.Items != nil {
		out.Items = p.Items.String()
	}
	return out
}

func (p *parser) http(parent *object) *HTTP {
	v, at, _ := parent.get("http")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	h := &HTTP{
		Connection: o.text(100, "connection"), Method: strings.ToUpper(o.text(20, "method")), URL: o.text(8000, "url"), Headers: o.textMap("headers"),
		MaxMiB: o.size(0, "max_size"), Expected: o.expression("condition"),
	}
	if h.Method == "" {
		h.Method = "GET"
	}
	switch body, _, _ := o.get("body"); b := body.(type) {
	case nil:
	case string:
		h.Body = b
	default: // a JSON body may be written as a mapping
		if encoded, err := json.Marshal(b); err == nil {
			h.Body, h.JSONBody = string(encoded), true
		}
	}
	h.Success = o.statusCodes(100, "success")
	h.Again = p.httpRetry(o)
	for _, code := range h.Success {
		if h.Again != nil && slices.Contains(h.Again.Status, code) {
			o.add(o.at("retry")+".status", "The status %d cannot mean both success and a retry.", code)
		}
	}
	h.Pages = p.httpPages(o)
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

func (p *parser) httpPages(parent *object) *HTTPPages {
	v, at, _ := parent.get("pages")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	pages := &HTTPPages{Next: o.expression("next"), Items: o.expression("items"), Limit: o.whole(defaultHTTPPages, 1, maxHTTPPages, "limit")}
	if next, path, _ := o.get("next"); next == nil {
		o.add(path, "Set the expression that finds the next page, such as body.next or link.next.")
	}
	return pages
}

// expression reads an expression of FlowForge's own; nil when it is absent or cannot be parsed.
func (o *object) expression(name string) *expression.Expression {
	text := strings.TrimSpace(o.text(expression.MaxLength, name))
	if text == "" {
		return nil
	}
	e, err := expression.Parse(text)
	if err != nil {
		o.add(o.at(name), "%s", apperr.MessageOf(err))
		return nil
	}
	return e
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

func checkHTTP(c *sectionCheck) {
	c.refuseCode()
	h := c.op.HTTP
	if h == nil {
		c.add(c.path+".http", "Set the request: http: {url: …}.")
		return
	}
	c.request(c.path)
}

// request checks the request below path.
func (c *sectionCheck) request(path string) {
	h := c.op.HTTP
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, h.Method) {
		c.add(path+".http.method", "The method %q is not one of GET, HEAD, POST, PUT, PATCH and DELETE.", h.Method)
	}
	for name, value := range h.Headers {
		if !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n") {
			c.add(path+".http.headers."+shorten(name, 60), "This is not a valid header.")
		}
	}
}

var headerName = formOf("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", 200)

// Names that the expressions of a response read.
const (
	responseStatus  = "status"
	responseHeaders = "headers"
	responseBody    = "body"
	responseLink    = "link"
	responsePage    = "page"
)

// http checks the address, the tags and the expressions of an http operator, whose inputs are known now.
func (l *linker) http(op *Operator, path string) {
	h := op.HTTP
	if h == nil || op.Type != TypeHTTP && op.Type != TypeSensor || op.Tags != nil {
		return
	}
	if op.Sensor != nil {
		path += ".sensor"
	}
	path += ".http"
	if in := l.connectionInput(op, h.Connection, path); in != nil && in.Type != nil {
		h.Connection = in.Name
		if in.Type.Kind != typeregistry.KindConnection || in.Type.Params.Connection != httpConnection {
			l.add(path+".connection", "The input %s has the type %s; use Connection<http>.", in.Name, in.Type)
		}
	}
	l.httpAddress(op, path+".url")
	names := valueNames(op, h.Connection)
	l.httpTags(op, h.URL, path+".url", names, false)
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		l.httpTags(op, h.Headers[name], path+".headers."+shorten(name, 60), names, true)
	}
	l.httpTags(op, h.Body, path+".body", names, true)
	response := []string{responseStatus, responseHeaders, responseBody}
	ofPages := slices.Concat(response, []string{responseLink, responsePage})
	for _, name := range ofPages { // the runner would replace the input by the part of the response
		if slices.Contains(names, name) && (h.Expected != nil || h.Pages != nil) {
			l.add(path, "The input %s has the name of a part of the response. Rename the input.", name)
		}
	}
	l.httpNames(op, h.Expected, path+".condition", slices.Concat(response, names), true)
	if h.Pages != nil {
		l.httpNames(op, h.Pages.Next, path+".pages.next", slices.Concat(ofPages, names), true)
		l.httpNames(op, h.Pages.Items, path+".pages.items", slices.Concat(response, names), true)
		if h.Method == http.MethodHead {
			l.add(path+".method", "A HEAD request has no pages. Use GET.")
		}
	}
}

// httpAddress checks the form of the URL. Values of tags cannot change its host.
func (l *linker) httpAddress(op *Operator, path string) {
	start, _, tagged := strings.Cut(op.HTTP.URL, "{{")
	u, err := url.Parse(start)
	switch {
	case err != nil:
		l.add(path, "This must be a full http or https address.")
	case op.HTTP.Connection != "":
		if u.Scheme != "" || u.Host != "" {
			l.add(path, "The connection sets the address of the server. Enter a path below its base URL, such as /runs.")
		}
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		l.add(path, "This must be a full http or https address, or a path below the base URL of an input of type Connection<http>.")
	case u.User != nil:
		l.add(path, "The address contains a user name or password, which every reader of the workflow could see. Use a connection.")
	case tagged && u.Path == "" && u.RawQuery == "":
		l.add(path, "The host of the address cannot contain tags; add a / after the host.")
	}
}

func (l *linker) httpTags(op *Operator, text, path string, names []string, secrets bool) {
	parsed, err := expression.ParseText(text)
	if err != nil {
		l.add(path, "%s", apperr.MessageOf(err))
		return
	}
	for _, tag := range parsed.Tags() {
		l.httpNames(op, tag, path, names, secrets)
	}
}

// httpNames checks that an expression reads only names, whose values can be part of a request.
func (l *linker) httpNames(op *Operator, e *expression.Expression, path string, names []string, secrets bool) {
	for _, in := range l.tagInputs(op, e, path, names) {
		switch {
		case in.Type == nil:
		case in.Type.IsBlob():
			l.add(path, "The input %s is a file, which cannot be part of a request.", in.Name)
		case !secrets && in.Type.HoldsSecret():
			l.add(path, "The input %s is a secret. Logs show addresses, so use it only in headers and the body.", in.Name)
		}
	}
}

// tagInputs checks that an expression reads only names, and returns the inputs of the operator among them.
func (l *linker) tagInputs(op *Operator, e *expression.Expression, path string, names []string) (read []Input) {
	if e == nil {
		return nil
	}
	for _, r := range e.References() {
		name := r.Path[0]
		at := slices.IndexFunc(op.Inputs, func(in Input) bool { return in.Name == name })
		switch {
		case slices.Contains(names, name):
			if at >= 0 {
				read = append(read, op.Inputs[at])
			}
		case name == NameInputs && len(r.Path) > 1:
			l.add(path, "A tag reads the inputs of its operator. Add the input {name: %[1]s, from: inputs.%[1]s} to the operator, and write {{%[1]s}}.", shorten(r.Path[1], 60))
		default:
			l.add(path, "%q is not an input of the operator.%s", shorten(name, 60), suggestion(name, names))
		}
	}
	return read
}
