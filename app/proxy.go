package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/election"
)

// hopHeader marks a request that another server of the installation has forwarded, and
// names the client: "<address> <unix seconds> <signature>". A request is forwarded at
// most once.
const hopHeader = "X-Flowforge-Hop"

const (
	hopAge     = time.Minute     // maximum age of a signature, including clock differences
	hopDial    = time.Second     // timeout for connecting to the leader
	hopSilence = 2 * time.Second // idle time before a ping of the leader, and timeout of its response
)

// hopSigner signs and verifies requests that servers forward to each other.
type hopSigner struct{ key []byte }

func newHops(secret []byte) hopSigner {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("flowforge requests between servers"))
	return hopSigner{mac.Sum(nil)}
}

func (h hopSigner) signature(text, method, uri string) string {
	mac := hmac.New(sha256.New, h.key)
	fmt.Fprintf(mac, "%s\n%s\n%s", text, method, uri)
	return hex.EncodeToString(mac.Sum(nil))
}

func (h hopSigner) sign(r *http.Request, address string, now time.Time) string {
	text := address + " " + strconv.FormatInt(now.Unix(), 10)
	return text + " " + h.signature(text, r.Method, r.URL.RequestURI())
}

// verify returns the client of a forwarded request.
func (h hopSigner) verify(r *http.Request, now time.Time) (address string, ok bool) {
	parts := strings.Fields(r.Header.Get(hopHeader))
	if len(parts) != 3 {
		return "", false
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > hopAge {
		return "", false
	}
	good := hmac.Equal([]byte(parts[2]), []byte(h.signature(parts[0]+" "+parts[1], r.Method, r.URL.RequestURI())))
	return parts[0], good
}

// received restores a forwarded request to its state at the first server.
func (h hopSigner) received(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(hopHeader) == "" {
			next.ServeHTTP(w, r)
			return
		}
		address, ok := h.verify(r, time.Now())
		if !ok {
			http.Error(w, "The request was not forwarded by a server of this installation.", http.StatusBadRequest)
			return
		}
		if _, err := netip.ParseAddr(address); err == nil {
			r.RemoteAddr = net.JoinHostPort(address, "0")
			r.Header.Del("X-Forwarded-For")
		}
		next.ServeHTTP(w, r)
	})
}

// leaderProxy forwards requests to the process that leads the scheduler.
type leaderProxy struct {
	hopSigner hopSigner
	parts     *parts
	transport *http.Transport
}

// newLeaderProxy returns a proxy. Its connections to a leader that dies or freezes end
// within seconds.
func newLeaderProxy(h hopSigner, p *parts) *leaderProxy {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true) // one connection for pages, streams and gRPC
	protocols.SetHTTP2(true)
	return &leaderProxy{hopSigner: h, parts: p, transport: &http.Transport{
		Protocols:   protocols,
		DialContext: (&net.Dialer{Timeout: hopDial}).DialContext,
		HTTP2:       &http.HTTP2Config{SendPingTimeout: hopSilence, PingTimeout: hopSilence}, IdleConnTimeout: time.Minute,
	}}
}

// startProxy creates the proxy to the leader.
func (a *App) startProxy(p *parts) error {
	key, err := a.keys.read("session-block")
	if err != nil {
		return err
	}
	p.hopSigner = newHops(key)
	p.proxy = newLeaderProxy(p.hopSigner, p)
	if a.certs.internal != nil {
		p.proxy.secure(a.certs.internal, a.cfg.TLS.InternalName)
	}
	a.life.onStop(p.proxy.close)
	return nil
}

func (l *leaderProxy) close() { l.transport.CloseIdleConnections() }

// toLeader implements leader.Forward.
func (l *leaderProxy) toLeader(w http.ResponseWriter, r *http.Request) (bool, error) {
	if l.parts.leads.Load() {
		return false, nil
	}
	if r.Header.Get(hopHeader) != "" {
		return false, errNoLeader()
	}
	leader, err := election.Find(r.Context(), l.parts.pool, election.Scheduler)
	if apperr.Is(err, apperr.Unavailable) || err == nil && leader.Holder == l.parts.holder {
		return false, errNoLeader()
	}
	if err != nil {
		return false, err
	}
	target, err := url.Parse(leader.Address)
	if err != nil {
		return false, fmt.Errorf("the address of the leader: %w", err)
	}
	return true, l.forward(w, r, target)
}

func errNoLeader() error {
	return apperr.New(apperr.Unavailable, "A new scheduler is being elected. This page will be available again within seconds; all other pages work.")
}

// forward sends r to target. Headers of the leader's response replace those that this
// server has already set.
func (l *leaderProxy) forward(w http.ResponseWriter, r *http.Request, target *url.URL) error {
	var failed error
	proxy := &httputil.ReverseProxy{
		Transport: l.transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = p.In.Host
			p.Out.Header.Set(hopHeader, l.hopSigner.sign(p.Out, clientOf(p.In.Context()), time.Now()))
		},
		ModifyResponse: func(answer *http.Response) error {
			for name := range answer.Header {
				w.Header().Del(name)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			failed = apperr.Wrap(apperr.Unavailable, err, "The scheduler is not responding. This page will be available again within seconds; all other pages work.")
		},
	}
	proxy.ServeHTTP(w, r)
	return failed
}

// clientOf returns the client's address of a request, or "-" for a request that did not
// come over the network.
func clientOf(ctx context.Context) string {
	if address := auth.OriginOf(ctx).Address; address != "" {
		return address
	}
	return "-"
}
