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

// hopHeader says that another server of the installation has sent a request on, and
// for which client: "<address> <unix seconds> <signature>". A request goes on once.
const hopHeader = "X-Flowforge-Hop"

const (
	hopAge     = time.Minute     // of a signature, and of clocks that differ
	hopDial    = time.Second     // to reach the leader
	hopSilence = 2 * time.Second // of a leader before it is asked for a sign of life, and for its answer
)

// hopSigner signs and checks what servers send on to one another.
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

// verify returns the client of a request that was sent on.
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

// received makes a request that was sent on look as it did to the first server.
func (h hopSigner) received(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(hopHeader) == "" {
			next.ServeHTTP(w, r)
			return
		}
		address, ok := h.verify(r, time.Now())
		if !ok {
			http.Error(w, "The request was not sent on by a server of this installation.", http.StatusBadRequest)
			return
		}
		if _, err := netip.ParseAddr(address); err == nil {
			r.RemoteAddr = net.JoinHostPort(address, "0")
			r.Header.Del("X-Forwarded-For")
		}
		next.ServeHTTP(w, r)
	})
}

// leaderProxy sends requests on to the process that leads the scheduler.
type leaderProxy struct {
	hopSigner hopSigner
	parts     *parts
	transport *http.Transport
}

// newLeaderProxy returns a proxy; its connections to a leader that dies or freezes end
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

// startProxy makes what sends requests on to the leader.
func (a *App) startProxy(p *parts) error {
	key, err := a.secretBytes("session-block")
	if err != nil {
		return err
	}
	p.hopSigner = newHops(key)
	p.proxy = newLeaderProxy(p.hopSigner, p)
	if a.internalTLS != nil {
		p.proxy.secure(a.internalTLS, a.cfg.TLS.InternalName)
	}
	a.onStop(p.proxy.close)
	return nil
}

func (l *leaderProxy) close() { l.transport.CloseIdleConnections() }

// toLeader is handlers.ToLeader.
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
	return apperr.New(apperr.Unavailable, "The scheduler is changing hands; this page is back within seconds. Everything else works meanwhile.")
}

// forward sends r to target. What this server has put into the answer already gives
// way to what the leader answers.
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
			failed = apperr.Wrap(apperr.Unavailable, err, "The scheduler does not answer; this page is back within seconds. Everything else works meanwhile.")
		},
	}
	proxy.ServeHTTP(w, r)
	return failed
}

// clientOf is where a request came from, or "-" when that is not on the network.
func clientOf(ctx context.Context) string {
	if address := auth.OriginOf(ctx).Address; address != "" {
		return address
	}
	return "-"
}
