package datastore

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/bucket"
)

// errOwnAddress means that a store is on this machine, on its link, or where clouds serve metadata.
var errOwnAddress = errors.New("the server does not connect to this address")

// refusedAddress is what users read about it.
const refusedAddress = "The server does not connect to itself, link-local addresses or cloud metadata services. An administrator can allow a host with FLOWFORGE_METAFLOW_ENDPOINTS."

// newClient returns the client for object stores. It follows no redirects, which could lead to
// another address than the configured one.
func newClient(c Config) *http.Client {
	s := &Service{Config: c}
	plain := &net.Dialer{Timeout: 5 * time.Second}
	guarded := &net.Dialer{Timeout: 5 * time.Second, Control: s.refuse}
	var proxies sync.Map // addresses of proxies, which may be on this machine
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: func(req *http.Request) (*url.URL, error) {
				if c.Proxy == nil {
					return nil, nil //nolint:nilnil // none
				}
				proxy, err := c.Proxy(req)
				if err == nil && proxy != nil {
					proxies.Store(dialled(proxy), true)
				}
				return proxy, err
			},
			TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: 10 * time.Second,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if _, proxy := proxies.Load(address); proxy || s.listed(address) {
					return plain.DialContext(ctx, network, address)
				}
				return guarded.DialContext(ctx, network, address)
			},
		},
	}
}

// dialled returns the address of a proxy or of a store.
func dialled(to *url.URL) string {
	if to.Port() != "" {
		return to.Host
	}
	port := map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[to.Scheme]
	return net.JoinHostPort(to.Hostname(), cmp.Or(port, "80"))
}

// listed reports whether the installation lists a host with its port.
func (s *Service) listed(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return slices.ContainsFunc(s.Endpoints, func(e string) bool {
		return strings.EqualFold(e, address) || err == nil && strings.EqualFold(strings.Trim(e, "[]"), host)
	})
}

// refuse rejects connections to addresses to which the server must not connect. It sees the address that
// a name led to.
func (s *Service) refuse(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	if s.keepsFrom(to.Addr()) {
		return errOwnAddress
	}
	return nil
}

func (s *Service) keepsFrom(a netip.Addr) bool {
	return bucket.IsLink(a) || !s.OwnHosts && bucket.IsMachine(a)
}

// remote is a folder of a bucket.
type remote struct {
	root   bucket.Location
	client *http.Client
}

// at is the location of a file or folder.
func (r remote) at(name string) bucket.Location {
	l := r.root
	l.Key = strings.TrimPrefix(strings.TrimSuffix(l.Key, "/")+"/"+name, "/")
	if name == "." {
		l.Key = r.root.Key
	}
	return l
}

// send sends a signed request, with a range unless it is empty.
func (r remote) send(ctx context.Context, signed bucket.Request, span string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, signed.Method, signed.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("request to the datastore: %w", withoutURL(err))
	}
	for name, value := range signed.Header {
		req.Header.Set(name, value)
	}
	if span != "" {
		req.Header.Set("Range", span)
	}
	req.Header.Set("Accept-Encoding", "identity")
	res, err := r.client.Do(req)
	err = withoutURL(err)
	switch {
	case errors.Is(err, errOwnAddress):
		return nil, apperr.Wrap(apperr.Unavailable, err, refusedAddress)
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("The object store at %s cannot be reached.", req.URL.Host))
	}
	return res, nil
}

// withoutURL returns the cause of an error of a client, whose message has the address with its query.
func withoutURL(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// maxError is the maximum number of bytes that are read of an error.
const maxError = 64 << 10

// failure is the error of a response that is not a success. Of the body it uses the code alone.
func failure(res *http.Response, l bucket.Location) error {
	var body struct {
		Code string `xml:"Code"`
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxError))
	if err == nil {
		_ = xml.Unmarshal(raw, &body) // not every store explains itself
	}
	code := ""
	if len(body.Code) < 60 && prefixPattern.MatchString(body.Code) {
		code = body.Code
	}
	switch {
	case code == "NoSuchBucket":
		return apperr.New(apperr.Unavailable, "The bucket %q does not exist.", l.Bucket)
	case res.StatusCode == http.StatusNotFound:
		return absent(l.String())
	case code == "InvalidAccessKeyId", code == "SignatureDoesNotMatch", code == "ExpiredToken", code == "InvalidToken":
		return apperr.New(apperr.Unavailable, "The object store rejected the credentials (%s).", code)
	case res.StatusCode == http.StatusForbidden:
		return apperr.New(apperr.Unavailable, "The object store denied access to %s.", l)
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return apperr.New(apperr.Unavailable, "The bucket %q is in another region or at another endpoint.", l.Bucket)
	}
	return apperr.New(apperr.Unavailable, "The object store responded with status %d.", res.StatusCode)
}

// Open implements Store.
func (r remote) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	res, err := r.get(ctx, name, "")
	if err != nil {
		return nil, 0, err
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }() // only read
		return nil, 0, failure(res, r.at(name))
	}
	return res.Body, res.ContentLength, nil
}

func (r remote) get(ctx context.Context, name, span string) (*http.Response, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, absent(name)
	}
	signed, err := r.at(name).Get(ctx, "")
	if err != nil {
		return nil, err
	}
	return r.send(ctx, signed, span)
}

// Read implements Store by a request for a range.
func (r remote) Read(ctx context.Context, name string, offset, limit int64) ([]byte, int64, error) {
	if limit <= 0 {
		return nil, 0, nil
	}
	res, err := r.get(ctx, name, fmt.Sprintf("bytes=%d-%d", offset, offset+limit-1))
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = res.Body.Close() }() // only read
	size := res.ContentLength
	switch res.StatusCode {
	case http.StatusRequestedRangeNotSatisfiable: // nothing at the offset
		return nil, totalOf(res, offset), nil
	case http.StatusPartialContent:
		size = totalOf(res, offset+max(size, 0))
	case http.StatusOK: // the whole file
		if _, err := io.CopyN(io.Discard, res.Body, offset); errors.Is(err, io.EOF) {
			return nil, size, nil
		} else if err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", name, err)
		}
	default:
		return nil, 0, failure(res, r.at(name))
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, limit))
	if err != nil {
		return nil, 0, apperr.Wrap(apperr.Unavailable, err, "The object store ended the transfer of "+name+".")
	}
	return data, size, nil
}

// totalOf is the size in a Content-Range header, otherwise other.
func totalOf(res *http.Response, other int64) int64 {
	_, total, _ := strings.Cut(res.Header.Get("Content-Range"), "/")
	if n, err := strconv.ParseInt(total, 10, 64); err == nil && n >= 0 {
		return n
	}
	return other
}

// maxListing is the maximum size of a page of a listing in bytes.
const maxListing = 4 << 20

// List implements Store.
func (r remote) List(ctx context.Context, folder string, limit int) ([]Entry, error) {
	if !fs.ValidPath(folder) {
		return nil, nil
	}
	at := r.at(folder)
	var entries []Entry
	for marker := ""; ; {
		page, err := r.page(ctx, at, marker, limit-len(entries))
		if err != nil {
			return nil, err
		}
		entries = append(entries, page.entries(at)...)
		if marker = page.Next; marker == "" || !page.Truncated || len(entries) >= limit {
			break
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries[:min(limit, len(entries))], nil
}

// listing is a page of ListObjectsV2.
type listing struct {
	Contents []struct {
		Key          string
		Size         int64
		LastModified time.Time
	}
	Folders []struct {
		Prefix string
	} `xml:"CommonPrefixes"`
	Truncated bool   `xml:"IsTruncated"`
	Next      string `xml:"NextContinuationToken"`
}

func (r remote) page(ctx context.Context, at bucket.Location, marker string, limit int) (listing, error) {
	var page listing
	signed, err := at.Level(ctx, marker, limit)
	if err != nil {
		return page, err
	}
	res, err := r.send(ctx, signed, "")
	if err != nil {
		return page, err
	}
	defer func() { _ = res.Body.Close() }() // only read
	if res.StatusCode != http.StatusOK {
		return page, failure(res, at)
	}
	if err := xml.NewDecoder(io.LimitReader(res.Body, maxListing)).Decode(&page); err != nil {
		return page, apperr.Wrap(apperr.Unavailable, err, "The response of the object store is not an S3 listing.")
	}
	return page, nil
}

// entries are the files and folders of a page by their names in the folder.
func (p listing) entries(folder bucket.Location) []Entry {
	prefix := folder.Folder()
	var entries []Entry
	for _, f := range p.Folders {
		if name := strings.Trim(strings.TrimPrefix(f.Prefix, prefix), "/"); name != "" {
			entries = append(entries, Entry{Name: name, Folder: true})
		}
	}
	for _, o := range p.Contents {
		if name := strings.TrimPrefix(o.Key, prefix); name != "" && !strings.Contains(name, "/") {
			entries = append(entries, Entry{Name: name, Size: o.Size, Modified: o.LastModified})
		}
	}
	return entries
}
