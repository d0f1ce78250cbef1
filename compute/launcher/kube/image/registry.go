package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

const (
	// maxAnswer limits a registry's response, in bytes; registries themselves accept no
	// larger manifests.
	maxAnswer = 4 << 20

	dialLimit = 5 * time.Second
)

// query is a request to a registry.
type query struct {
	image        string // as written by the user
	ref          name.Reference
	architecture string
}

// pinned reports whether the name always means the same image.
func (q query) pinned() bool {
	_, ok := q.ref.(name.Digest)
	return ok
}

// parse parses an image name.
func (l *Lookup) parse(image string) (name.Reference, error) {
	ref, err := name.ParseReference(image)
	if err == nil && slices.Contains(l.config.Insecure, ref.Context().RegistryStr()) {
		ref, err = name.ParseReference(image, name.Insecure)
	}
	if err != nil {
		return nil, fmt.Errorf("name of an image: %w", err)
	}
	return ref, nil
}

var (
	errOwnAddress = errors.New("this is an address of the server itself or of its machine")
	errVariant    = errors.New("no variant for the architecture")
	errLarge      = errors.New("its configuration is too large")
)

// fetch reads an image's command from its registry, and returns the digest of the image
// with the architecture.
func (l *Lookup) fetch(ctx context.Context, q query) (Command, string, error) {
	wire := l.transport()
	defer wire.CloseIdleConnections()
	described, err := remote.Get(q.ref,
		remote.WithContext(ctx), remote.WithTransport(bounded{wire}), remote.WithUserAgent("flowforge"),
		remote.WithAuthFromKeychain(keychain(l.config.Credentials)),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: q.architecture}),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 3}))
	if err != nil {
		return Command{}, "", fmt.Errorf("manifest: %w", err)
	}
	digest := described.Digest.String() + " " + q.architecture
	if command, ok := l.remembered(digest); ok {
		return command, digest, nil
	}
	image, err := described.Image()
	if err != nil && described.MediaType.IsIndex() && !network(err) {
		return Command{}, "", fmt.Errorf("%w: %w", errVariant, err)
	}
	if err != nil {
		return Command{}, "", fmt.Errorf("manifest: %w", err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return Command{}, "", fmt.Errorf("manifest: %w", err)
	}
	if manifest.Config.Size > maxAnswer {
		return Command{}, "", errLarge
	}
	file, err := image.ConfigFile()
	if err != nil {
		return Command{}, "", fmt.Errorf("configuration: %w", err)
	}
	return Command{Entrypoint: file.Config.Entrypoint, Cmd: file.Config.Cmd}, digest, nil
}

// judge explains a failure in a sentence. Users choose the registries that this server
// accesses, so the sentence contains nothing of their responses or connection errors.
func (l *Lookup) judge(ctx context.Context, q query, err error) *Error {
	host := q.ref.Context().RegistryStr()
	failed := &Error{Image: q.image, Err: err}
	answer, answered := errors.AsType[*transport.Error](err)
	switch {
	case errors.Is(err, errOwnAddress):
		failed.Reason = fmt.Sprintf("its registry %s is on this server's own machine, which is accessed only if FLOWFORGE_KUBE_INSECURE_REGISTRIES names it", host)
	case errors.Is(err, errVariant):
		failed.Reason = fmt.Sprintf("it has no variant for linux/%s", q.architecture)
	case answered && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		failed.Reason = fmt.Sprintf("its registry %s does not have it or denies access to it; set its credentials in FLOWFORGE_KUBE_REGISTRY_CONFIG", host)
	case answered && answer.StatusCode == http.StatusNotFound:
		failed.Reason = fmt.Sprintf("its registry %s does not have it", host)
	case answered && (answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests):
		failed.Reason, failed.Passing = fmt.Sprintf("its registry %s is unavailable (status %d)", host, answer.StatusCode), true
	case ctx.Err() != nil, !answered && network(err):
		failed.Reason, failed.Passing = fmt.Sprintf("its registry %s is not responding", host), true
	default:
		failed.Reason = fmt.Sprintf("the response of its registry %s is not a readable image", host)
	}
	return failed
}

// network reports whether an error is a connection error.
func network(err error) bool {
	if _, ok := errors.AsType[*transport.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*url.Error](err)
	return ok || errors.Is(err, context.DeadlineExceeded)
}

// bounded limits responses to maxAnswer.
type bounded struct{ next http.RoundTripper }

// RoundTrip sends the request.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err //nolint:wrapcheck // error of the transport
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	return resp, nil
}

// transport returns a separate transport for one lookup.
func (l *Lookup) transport() *http.Transport {
	var proxies sync.Map // hosts of the proxies in use, which may be on this machine
	plain := &net.Dialer{Timeout: dialLimit}
	guarded := &net.Dialer{Timeout: dialLimit, Control: refuseOwn}
	return &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			proxy, err := l.config.Proxy(req)
			if err == nil && proxy != nil {
				proxies.Store(dialled(proxy), true)
			}
			return proxy, err
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, proxy := proxies.Load(address)
			if !proxy && !slices.ContainsFunc(l.config.Insecure, func(host string) bool { return hostMatches(host, address) }) {
				return guarded.DialContext(ctx, network, address)
			}
			return plain.DialContext(ctx, network, address)
		},
		TLSHandshakeTimeout: dialLimit,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 4,
	}
}

// dialled returns the address of a proxy.
func dialled(proxy *url.URL) string {
	if proxy.Port() != "" {
		return proxy.Host
	}
	port := map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	return net.JoinHostPort(proxy.Hostname(), cmp.Or(port, "80"))
}

// hostMatches reports whether an address belongs to a host, which may have no port.
func hostMatches(host, address string) bool {
	plain, _, err := net.SplitHostPort(address)
	return host == address || err == nil && host == plain
}

// refuseOwn rejects connections to this machine and to link-local addresses, where clouds
// serve machine credentials. It checks the resolved address.
func refuseOwn(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	host, _, _ = strings.Cut(host, "%")
	ip := net.ParseIP(host)
	if ip == nil || ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return errOwnAddress
	}
	return nil
}
