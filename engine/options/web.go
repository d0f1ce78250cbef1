package options

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// Limits of endpoints.
const (
	maxAnswer = 4 << 20     // bytes
	maxLimit  = time.Minute // more than a definition allows
	minFresh  = 10 * time.Second
	maxKept   = 200      // answers
	maxBytes  = 64 << 20 // of all kept answers
	maxAge    = 24 * time.Hour
)

// allows reports whether a host is in a list of names, names with a port, or *.example.com for all
// below a name.
func allows(list []string, address *url.URL) bool {
	host := strings.ToLower(address.Hostname())
	port := address.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[address.Scheme]
	}
	return slices.ContainsFunc(list, func(entry string) bool {
		entry = strings.ToLower(entry)
		if name, allowedPort, err := net.SplitHostPort(entry); err == nil {
			if allowedPort != port {
				return false
			}
			entry = name
		}
		entry = strings.Trim(entry, "[]")
		if below, found := strings.CutPrefix(entry, "*."); found {
			return strings.HasSuffix(host, "."+below)
		}
		return entry == host
	})
}

// web fetches and caches responses of endpoints.
type web struct {
	hosts  []string
	now    func() time.Time
	client *http.Client

	mu      sync.Mutex
	kept    map[string]*answer
	bytes   int // of kept
	loading map[string]bool
}

// answer is a fetched response.
type answer struct {
	body []byte
	at   time.Time
}

func newWeb(c Config) *web {
	client := c.Dialer.Client(maxLimit)
	return &web{hosts: c.Hosts, now: c.Now, client: client, kept: map[string]*answer{}, loading: map[string]bool{}}
}

// fetched returns the options of an endpoint. A response older than the source allows is
// returned as stale and fetched again in the background.
func (s *Service) fetched(ctx context.Context, source typeregistry.Resolved, t *typeregistry.Type) (list, error) {
	found, stale, err := s.web.get(ctx, source)
	failed := ""
	if err != nil {
		found, stale = s.web.known(source.URL), true
		if found == nil || !refreshes(ctx) || s.config.Now().Sub(found.at) >= maxAge {
			return list{}, err
		}
		failed = "The last refresh failed. " + apperr.MessageOf(err)
	}
	out, err := readAnswer(found.body, source, t)
	out.at, out.stale = found.at, stale
	if failed != "" {
		out.note, out.unrefreshed = joinNotes(failed, out.note), true
	}
	return out, err
}

// known returns the cached response of an address, or nil.
func (w *web) known(address string) *answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept[address]
}

// get returns the response of an address, from the cache while it is fresh.
func (w *web) get(ctx context.Context, source typeregistry.Resolved) (found *answer, stale bool, err error) {
	kept := w.known(source.URL)
	if kept != nil && !refreshes(ctx) {
		age := w.now().Sub(kept.at)
		switch {
		case age < max(source.Fresh(), minFresh):
			return kept, false, nil
		case source.Fresh() > 0 && age < maxAge:
			w.renew(source)
			return kept, true, nil
		}
	}
	found, err = w.fetch(ctx, source)
	return found, false, err
}

// renew fetches a response in the background. It runs once at a time for an address.
func (w *web) renew(source typeregistry.Resolved) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loading[source.URL] {
		return
	}
	w.loading[source.URL] = true
	go func() {
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.loading, source.URL)
		}()
		_, _ = w.fetch(context.Background(), source) // the old answer stays, with its age
	}()
}

// fetch requests an address and caches the response.
func (w *web) fetch(ctx context.Context, source typeregistry.Resolved) (*answer, error) {
	address, err := url.Parse(source.URL)
	if err != nil {
		return nil, apperr.New(apperr.Invalid, "The address for the options is not valid.")
	}
	if !allows(w.hosts, address) {
		return nil, apperr.New(apperr.Unavailable, "The server is not allowed to request options from %s. An administrator can add the host to FLOWFORGE_OPTIONS_HOSTS.", address.Host)
	}
	ctx, cancel := context.WithTimeout(ctx, source.Limit())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("request options: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "FlowForge")
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, unreachable(address, source, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, unreachable(address, source, err)
	}
	if err := refusedAnswer(address, resp, body); err != nil {
		return nil, err
	}
	found := &answer{body: body, at: w.now()}
	w.keep(source.URL, found)
	return found, nil
}

// keep caches a response, and drops the oldest if there are too many or they are too large.
func (w *web) keep(address string, found *answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(address)
	w.kept[address] = found
	w.bytes += len(found.body)
	for len(w.kept) > maxKept || w.bytes > maxBytes {
		oldest := address
		for name, a := range w.kept {
			if a.at.Before(w.kept[oldest].at) {
				oldest = name
			}
		}
		w.drop(oldest)
	}
}

func (w *web) drop(address string) {
	if a := w.kept[address]; a != nil {
		w.bytes -= len(a.body)
		delete(w.kept, address)
	}
}

// refusedAnswer is the error for a response that is not a list of options.
func refusedAnswer(address *url.URL, resp *http.Response, body []byte) error {
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return apperr.New(apperr.Unavailable, "%s redirects the request for options to another address. The server does not follow redirects. Use the final address in the definition.", address.Host)
	case resp.StatusCode != http.StatusOK:
		return apperr.New(apperr.Unavailable, "%s responded to the request for options with %d %s.", address.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	case len(body) > maxAnswer:
		return apperr.New(apperr.Unavailable, "The response from %s is larger than %s. Request fewer options.", address.Host, units.Bytes(maxAnswer))
	}
	return nil
}

func unreachable(address *url.URL, source typeregistry.Resolved, err error) error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return apperr.New(apperr.Unavailable, "%s did not respond to the request for options within %s.", address.Host, units.Duration(source.Limit()))
	}
	if errors.Is(err, outgoing.ErrRefused) {
		return apperr.New(apperr.Unavailable, "%s has a private address, which the server does not connect to. An administrator can add the host to FLOWFORGE_OUTGOING_HOSTS.", address.Host)
	}
	return apperr.New(apperr.Unavailable, "%s cannot be reached.", address.Host)
}
