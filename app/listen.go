package app

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers"
)

// serve serves on every address of this server.
func (a *App) serve(p *parts) {
	if a.taskListener != nil {
		a.life.serveTLS(a.taskListener, a.monitoring.observed(handlers.TaskRoutes(a.deps(p, false))), a.certs.taskServer())
	}
	a.serveInternal(p)
	a.life.serve(a.listener, a.monitoring.observed(a.fromOutside(a.handler(p, false))))
}

// handler returns the handler for the network, or for the socket in the data directory. A
// server without the role web answers only other servers and probes.
func (a *App) handler(p *parts, onSocket bool) http.Handler {
	site := handlers.New(a.deps(p, onSocket))
	switch {
	case onSocket:
		return site
	case !a.cfg.Roles.Have(Web):
		return p.hopSigner.received(inside(a.cfg.Roles, site, site.ForLeader))
	}
	return p.hopSigner.received(site)
}

// inside returns the site of a server that answers only other servers and probes. forLeader
// reports which requests other servers send to the leader.
func inside(roles Roles, site http.Handler, forLeader func(*http.Request) bool) http.Handler {
	scheduler := roles.Have(Scheduler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || r.URL.Path == "/metrics"
		sent := scheduler && r.Header.Get(hopHeader) != "" && forLeader(r)
		if !probe && !sent {
			http.Error(w, "This server does not serve pages. Use a server that has the role web.", http.StatusNotFound)
			return
		}
		site.ServeHTTP(w, r)
	})
}

// checks returns the checks of /readyz.
func (a *App) checks(p *parts) []handlers.Check {
	return append([]handlers.Check{
		{Name: "serving", Required: true, Ready: a.ready.check},
		{Name: "postgres", Required: true, Ready: p.pool.Ping},
		{Name: "disk", Required: a.cfg.DatabaseURL == "", Ready: func(context.Context) error { return diskReady(a.paths.root, minFreeMiB) }},
		{Name: "clickhouse", Ready: p.telemetry.Ready},
		{Name: "quotas", Ready: p.quotas.Reconciler.Ready},
	}, slices.Concat(sessionChecks(a.cfg, p), replicaChecks(p), storeChecks(p))...)
}

// readiness says whether the server is between its start and its stop.
type readiness struct {
	started  atomic.Bool // the examples are registered
	stopping atomic.Bool // load balancers stop sending requests
}

// check fails until a new installation has its examples, and again once the server has
// been asked to stop.
func (r *readiness) check(context.Context) error {
	switch {
	case r.stopping.Load():
		return apperr.New(apperr.Unavailable, "The server is stopping.")
	case !r.started.Load():
		return apperr.New(apperr.Unavailable, "The server is starting: registering the examples.")
	default:
		return nil
	}
}

// internalURL returns the address at which other servers reach this one.
func (a *App) internalURL() string {
	scheme, listener := "http://", a.listener
	if a.internalListener != nil {
		scheme, listener = "https://", a.internalListener
	}
	if a.cfg.AdvertiseAddr != "" {
		return scheme + a.cfg.AdvertiseAddr
	}
	return scheme + reachable(listener.Addr())
}

// taskURL returns the address at which tasks reach the server.
func (a *App) taskURL() string {
	switch {
	case a.cfg.TaskURL != "":
		return a.cfg.TaskURL
	case a.taskListener != nil && a.certs.task != nil:
		return "https://" + reachable(a.taskListener.Addr())
	case a.taskListener != nil:
		return "http://" + reachable(a.taskListener.Addr())
	default:
		return "http://" + a.Addr()
	}
}

// reachable returns an address for use by other machines: the unspecified address is
// replaced by the host name.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	host := "127.0.0.1"
	if name, err := os.Hostname(); err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if ips, err := net.DefaultResolver.LookupIPAddr(ctx, name); err == nil && len(ips) > 0 {
			host = ips[0].IP.String()
		}
	}
	return net.JoinHostPort(host, port)
}
