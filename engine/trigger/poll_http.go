package trigger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/units"
)

const (
	// maxBody is the maximum size of a response that expressions can read.
	maxBody = 256 << 10
	// maxHashed is the maximum size of a response without ETag and Last-Modified.
	maxHashed = 64 << 20
)

// cursor identifies the last response of an address.
type cursor struct {
	Address  string `json:"address,omitempty"` // a connection can lead to another one without a change of the trigger
	Present  bool   `json:"present"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"` // Last-Modified, if there is no ETag
	Hash     string `json:"hash,omitempty"`     // of the body, if there is neither
}

// response is the response of an address.
type response struct {
	cursor

	unchanged bool // the server says so
	env       map[string]any
	size      int64
}

// http polls an address. A change moves the cursor in the transaction that launches for it.
func (p *poll) http(ctx context.Context) (found, error) {
	var was cursor
	if err := json.Unmarshal(p.state.Cursor, &was); err != nil {
		return found{}, fmt.Errorf("cursor of trigger %s: %w", p.row.ID, err)
	}
	first := string(p.state.Cursor) == "{}"
	address, header, err := p.address(ctx)
	if err != nil {
		return found{}, err
	}
	// A response of another address is no change: the poll starts again, as after the trigger is turned on.
	if was.Address != "" && was.Address != address {
		was, first, p.state.Baseline = cursor{}, true, true
	}
	r, err := p.request(ctx, address, header, was)
	if err != nil {
		return found{}, err
	}
	p.config.Crash("poll.requested")
	r.Address = address
	if r.unchanged {
		r.cursor, r.Address = was, address
	}
	f := found{status: "No change"}
	moved := r.cursor != was
	was.Address = address
	changed := r.cursor != was
	event := changed && r.Present
	if p.condition.HTTP.When == Appears {
		event = r.Present && !was.Present
		if !r.Present {
			f.status = "The address does not exist yet"
		}
	}
	if first && p.state.Baseline {
		event = false
	}
	switch {
	case event:
		f.status = "Changed"
		if p.condition.HTTP.When == Appears {
			f.status = "Appeared"
		}
		return f, p.changed(ctx, address, r)
	case moved || first:
		if first && r.Present {
			f.status = "Waiting for the first change"
		}
		return f, p.move(ctx, p.queries, r.cursor, p.state.Sequence)
	}
	return f, nil
}

// changed delivers the event of a response.
func (p *poll) changed(ctx context.Context, address string, r response) error {
	verb := "changed"
	if p.condition.HTTP.When == Appears {
		verb = "appeared"
	}
	next := p.state.Sequence + 1
	return p.pass(ctx, event{
		key: fmt.Sprintf("poll/%s/%d", p.state.Epoch, next), subject: shortAddress(address) + " " + verb, env: map[string]any{"http": r.env}, depth: 1,
		within: func(ctx context.Context, q *db.Queries) error { return p.move(ctx, q, r.cursor, next) },
	})
}

// move stores the identity of the last response, unless another server has claimed the trigger.
func (p *poll) move(ctx context.Context, q *db.Queries, c cursor, sequence int64) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode cursor: %w", err)
	}
	return settled(q.MovePoll(ctx, db.MovePollParams{
		TriggerID: p.row.ID, Condition: p.state.Condition, Turn: p.state.Turn, Cursor: raw, Sequence: sequence, LeasedUntil: new(p.now().Add(pollLease)),
	}))
}

// shortAddress is an address without its query, which can have a token.
func shortAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "The address"
	}
	return u.Host + u.Path
}

// address returns the address to poll, and the headers with the credentials of the connection.
func (p *poll) address(ctx context.Context) (string, http.Header, error) {
	h, header := p.condition.HTTP, http.Header{}
	if h.Connection == "" {
		return h.URL, header, nil
	}
	c, err := p.connection(ctx, connection.HTTP, h.Connection)
	if err != nil {
		return "", nil, err
	}
	address := c.text("base_url")
	if h.Path != "" {
		address = strings.TrimSuffix(address, "/") + "/" + strings.TrimPrefix(h.Path, "/")
	}
	switch c.text("authentication") {
	case connection.Bearer:
		header.Set("Authorization", "Bearer "+c.secrets["token"])
	case connection.Basic:
		req := http.Request{Header: header}
		req.SetBasicAuth(c.text("username"), c.secrets["password"])
	case connection.OAuth2:
		token, err := p.token(ctx, c)
		if err != nil {
			return "", nil, err
		}
		header.Set("Authorization", token.Type()+" "+token.AccessToken)
	}
	return address, header, nil
}

// opened is a connection with its secret fields.
type opened struct {
	fields  map[string]any
	secrets map[string]string
}

func (o opened) text(name string) string {
	if o.fields[name] == nil {
		return ""
	}
	return fmt.Sprint(o.fields[name])
}

// connection returns a connection that the owner of the trigger may still use.
func (p *poll) connection(ctx context.Context, kind, name string) (opened, error) {
	owner, err := p.owner(ctx, p.row)
	if err != nil {
		return opened{}, err
	}
	exists, err := p.config.Connections.Exists(owner, kind, name)
	if err != nil {
		return opened{}, fmt.Errorf("find connection %s: %w", name, err)
	}
	if !exists {
		return opened{}, apperr.New(apperr.NotFound, "There is no connection %q of the kind %s in this project that %s may use.", name, kind, p.row.OwnerName)
	}
	d, err := p.config.Connections.Document(ctx, p.row.ProjectID, name)
	if err != nil {
		return opened{}, fmt.Errorf("read connection %s: %w", name, err)
	}
	o := opened{fields: d.Fields, secrets: map[string]string{}}
	for _, field := range d.Secrets {
		if o.secrets[field], err = p.config.Connections.Reveal(ctx, p.row.ProjectID, name, field); err != nil {
			return opened{}, fmt.Errorf("read connection %s: %w", name, err)
		}
	}
	return o, nil
}

func (p *poll) token(ctx context.Context, c opened) (*oauth2.Token, error) {
	config := clientcredentials.Config{
		ClientID: c.text("client_id"), ClientSecret: c.secrets["client_secret"], TokenURL: c.text("token_url"), Scopes: strings.Fields(c.text("scope")),
	}
	if audience := c.text("audience"); audience != "" {
		config.EndpointParams = url.Values{"audience": {audience}}
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, p.config.Dialer.Client(pollLimit)))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		return nil, apperr.New(apperr.Unavailable, "%s did not issue an access token: it responded with %s.", shortAddress(config.TokenURL), statusText(refused.Response.StatusCode))
	}
	if err != nil {
		return nil, unreachable(config.TokenURL, err)
	}
	return token, nil
}

// request sends a request, and reads as much of the response as the cursor and the expressions
// need.
func (p *poll) request(ctx context.Context, address string, header http.Header, was cursor) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return response{}, apperr.New(apperr.Invalid, "The address cannot be read.")
	}
	req.Header = header
	req.Header.Set("User-Agent", "FlowForge")
	if was.ETag != "" {
		req.Header.Set("If-None-Match", was.ETag)
	} else if was.Modified != "" {
		req.Header.Set("If-Modified-Since", was.Modified)
	}
	res, err := p.config.Dialer.Client(pollLimit).Do(req)
	if err != nil {
		return response{}, unreachable(address, err)
	}
	defer func() { _ = res.Body.Close() }() // only read
	switch {
	case res.StatusCode == http.StatusNotModified:
		return response{unchanged: true}, nil
	case p.condition.HTTP.When == Appears && (res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone):
		return response{}, nil
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return response{}, apperr.New(apperr.Unavailable, "%s redirects to another address (%d). FlowForge does not follow redirects. Use the final address.", shortAddress(address), res.StatusCode)
	case res.StatusCode < 200 || res.StatusCode >= 300:
		return response{}, apperr.New(apperr.Unavailable, "%s responded with %s.", shortAddress(address), statusText(res.StatusCode))
	}
	r := response{cursor: cursor{Present: true}}
	if p.condition.HTTP.When == Changes {
		if r.ETag = cleanHeader(res.Header.Get("ETag")); r.ETag == "" {
			r.Modified = cleanHeader(res.Header.Get("Last-Modified"))
		}
	}
	body, err := r.read(res.Body, p.condition.HTTP.When == Changes && r.ETag == "" && r.Modified == "")
	if err != nil {
		return response{}, unreachable(address, err)
	}
	if r.size > maxHashed {
		return response{}, apperr.New(apperr.Unavailable, "The response of %s is larger than %s and has neither ETag nor Last-Modified, so changes cannot be detected.", shortAddress(address), units.Bytes(maxHashed))
	}
	r.env = map[string]any{
		"url": address, "status": res.StatusCode, "etag": cleanHeader(res.Header.Get("ETag")), "last_modified": cleanHeader(res.Header.Get("Last-Modified")),
		"content_type": cleanHeader(res.Header.Get("Content-Type")), "body": bodyOf(res.Header.Get("Content-Type"), body),
	}
	return r, nil
}

// read reads the beginning of a body for expressions, and the rest if its hash is needed.
func (r *response) read(body io.Reader, hashed bool) ([]byte, error) {
	sum := sha256.New()
	start, err := io.ReadAll(io.LimitReader(io.TeeReader(body, sum), maxBody+1))
	if err != nil {
		return nil, err
	}
	r.size = int64(len(start))
	if !hashed {
		return start, nil
	}
	rest, err := io.Copy(sum, io.LimitReader(body, maxHashed+1-r.size))
	if err != nil {
		return nil, err
	}
	r.size += rest
	r.Hash = hex.EncodeToString(sum.Sum(nil))
	return start, nil
}

// bodyOf returns the value of a body for expressions: the value of JSON, a text, or nil for
// other and for long bodies.
func bodyOf(contentType string, body []byte) any {
	if len(body) > maxBody || !utf8.Valid(body) || bytes.ContainsRune(body, 0) {
		return nil
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil
	}
	if kind == "application/json" || strings.HasSuffix(kind, "+json") {
		var v any
		if decode(body, &v) != nil || strings.Contains(string(body), `\u0000`) {
			return nil
		}
		return v
	}
	if strings.HasPrefix(kind, "text/") {
		return string(body)
	}
	return nil
}

// cleanHeader returns the value of a header that can be stored and sent again.
func cleanHeader(value string) string {
	if len(value) > 1000 || !utf8.ValidString(value) || unprintable(value) {
		return ""
	}
	return value
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// unreachable is the error of a request without a response. It has no query of the address.
func unreachable(address string, err error) error {
	host := shortAddress(address)
	if u, parsed := url.Parse(address); parsed == nil {
		host = u.Host
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return apperr.New(apperr.Unavailable, "%s did not respond within %s.", host, units.Exact(pollLimit))
	}
	if errors.Is(err, outgoing.ErrRefused) {
		return apperr.New(apperr.Unavailable, "%s has a private or local address, to which the server does not connect. An administrator can allow the host with FLOWFORGE_OUTGOING_HOSTS.", host)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return apperr.New(apperr.Unavailable, "The host name %s cannot be resolved. Check its spelling.", host)
	}
	return apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("%s cannot be reached.", host))
}
