package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/peterhellberg/link"

	"github.com/flowforge/flowforge/engine/expression"
)

// maxPage is the maximum size of one page in bytes.
const maxPage = 64 << 20

func decodeJSON(raw []byte) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return v, nil
}

// environment is what the expressions of a response read: the inputs; status; headers with lower-case
// names; body, decoded if it is JSON and otherwise as a text; link, the addresses of the header Link
// by their relation.
func (c *call) environment(resp *http.Response, body []byte) map[string]any {
	env := maps.Clone(c.inputs)
	if env == nil {
		env = map[string]any{}
	}
	headers, links := map[string]any{}, map[string]any{"first": nil, "prev": nil, "next": nil, "last": nil}
	for name, values := range resp.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	for rel, l := range link.ParseResponse(resp) {
		links[rel] = l.URI
	}
	env["status"], env["headers"], env["link"] = int64(resp.StatusCode), headers, links
	if decoded, err := decodeJSON(body); err == nil {
		env["body"] = decoded
	} else {
		env["body"] = cleanText(body)
	}
	return env
}

// expect checks the condition of the operator.
func (c *call) expect(req *http.Request, resp *http.Response, body []byte) error {
	if c.work.Condition == "" {
		return nil
	}
	condition, err := expression.Parse(c.work.Condition)
	if err != nil {
		return err
	}
	met, err := condition.Bool(c.environment(resp, body))
	switch {
	case err != nil:
		return fmt.Errorf("%s responded with %s, but the condition could not be evaluated: %w", nameOf(req), resp.Status, err)
	case !met:
		return notYetf("%s responded with %s, which does not meet the condition %s", nameOf(req), resp.Status, condition)
	}
	return nil
}

// pages writes the items of all pages to the file body, as one JSON list.
func (c *call) pages(req *http.Request, begin time.Time) error {
	file, err := os.Create(filepath.Join(c.outputs, "body"))
	if err != nil {
		return err
	}
	list := &jsonList{file: file, to: bufio.NewWriter(file), limit: c.limit()}
	pages, err := c.collect(req, list)
	if err = errors.Join(err, list.close()); err != nil {
		return err
	}
	c.note(levelInfo, fmt.Sprintf("%s: %d pages with %d items, %d bytes in %s", nameOf(req), pages, list.items, list.size, time.Since(begin).Round(time.Millisecond)))
	return nil
}

// collect requests one page after the other.
func (c *call) collect(first *http.Request, list *jsonList) (pages int, err error) {
	for req := first; req != nil; pages++ {
		if pages == int(c.work.MaxPages) {
			return pages, fmt.Errorf("there are more pages than pages.limit (%d); raise the limit, or request less", c.work.MaxPages)
		}
		if req, err = c.onePage(first, req, pages+1, list); err != nil {
			return pages, fmt.Errorf("page %d: %w", pages+1, err)
		}
	}
	return pages, nil
}

// onePage requests a page, adds its items to list, and returns the request of the next page; nil after
// the last one.
func (c *call) onePage(first, req *http.Request, page int, list *jsonList) (*http.Request, error) {
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the response could not be read: %w", err)
	case len(body) > maxPage:
		return nil, fmt.Errorf("the page has more than %d MiB; request smaller pages", maxPage>>20)
	}
	if err := errors.Join(c.record(resp), c.accept(req, resp, body), c.expect(req, resp, body)); err != nil {
		return nil, err
	}
	env := c.environment(resp, body)
	env["page"] = int64(page)
	items, err := c.items(env)
	if err != nil {
		return nil, err
	}
	if err := list.add(items); err != nil {
		return nil, err
	}
	next, err := evaluate(c.work.NextPage, env)
	if err != nil {
		return nil, err
	}
	return following(first, req, next)
}

func evaluate(text string, env map[string]any) (any, error) {
	e, err := expression.Parse(text)
	if err != nil {
		return nil, err
	}
	return e.Value(env)
}

// items is the list in a page.
func (c *call) items(env map[string]any) ([]any, error) {
	found, name := env["body"], "body"
	if c.work.Items != "" {
		var err error
		if found, err = evaluate(c.work.Items, env); err != nil {
			return nil, err
		}
		name = c.work.Items
	}
	list, isList := found.([]any)
	if !isList {
		return nil, fmt.Errorf("%s is not a list; set pages.items to the list in the response", name)
	}
	return list, nil
}

// following is the request after req, as pages.next describes it: an address, or changed parameters of
// the query. It stays on the server of the first request, which alone gets the credentials.
func following(first, req *http.Request, next any) (*http.Request, error) {
	to := *req.URL
	switch next := next.(type) {
	case nil, bool:
		if next == true {
			return nil, errors.New("pages.next is true; it must be an address, or an object with query parameters")
		}
		return nil, nil
	case string:
		if next == "" {
			return nil, nil
		}
		resolved, err := req.URL.Parse(next)
		if err != nil {
			return nil, fmt.Errorf("pages.next: %w", err)
		}
		to = *resolved
	case map[string]any:
		query := to.Query()
		for _, name := range slices.Sorted(maps.Keys(next)) {
			value, err := plainText(next[name])
			if err != nil {
				return nil, err
			}
			query.Set(name, value)
		}
		to.RawQuery = query.Encode()
	default:
		return nil, fmt.Errorf("pages.next is %v; it must be an address, or an object with query parameters", next)
	}
	switch {
	case to.String() == req.URL.String():
		return nil, fmt.Errorf("pages.next leads to the same page again: %s", to.Redacted())
	case !keepsCredentials(first.URL, &to):
		return nil, fmt.Errorf("pages.next leads to another server: %s", to.Redacted())
	}
	out := req.Clone(req.Context())
	out.URL = &to
	return out, nil
}

// jsonList writes a JSON list to a file.
type jsonList struct {
	file  *os.File
	to    *bufio.Writer
	limit int64 // bytes
	size  int64
	items int
}

func (l *jsonList) add(items []any) error {
	for _, item := range items {
		encoded, err := json.Marshal(item)
		if err != nil {
			return err
		}
		separator := byte(',')
		if l.items == 0 {
			separator = '['
		}
		if l.size += int64(len(encoded)) + 1; l.size >= l.limit {
			return fmt.Errorf("the items of all pages have more than %d MiB; raise max_size", l.limit>>20)
		}
		if err := errors.Join(l.to.WriteByte(separator), writeAll(l.to, encoded)); err != nil {
			return err
		}
		l.items++
	}
	return nil
}

func writeAll(to io.Writer, p []byte) error {
	_, err := to.Write(p)
	return err
}

func (l *jsonList) close() error {
	end := "]"
	if l.items == 0 {
		end = "[]"
	}
	l.size += int64(len(end))
	_, err := l.to.WriteString(end)
	return errors.Join(err, l.to.Flush(), l.file.Close())
}
