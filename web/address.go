package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
)

// Origin records the origin of a request for the audit log, the list of sessions and
// the rate limits.
func (s *Site) Origin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := auth.Origin{Address: s.address(r), UserAgent: r.UserAgent(), RequestID: RequestID(r.Context())}
		next.ServeHTTP(w, r.WithContext(auth.WithOrigin(r.Context(), origin)))
	})
}

// address is the IP address of the client: the address of the peer, or, if trusted
// proxies forwarded the request, the last address that is not a trusted proxy. It ignores
// what the client itself writes into X-Forwarded-For. A request on the socket in the
// data directory comes from "local".
func (s *Site) address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "local"
	}
	if !s.trusted(host) {
		return host
	}
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(forwarded) {
		address := strings.TrimSpace(text)
		if _, err := netip.ParseAddr(address); err != nil {
			break
		}
		if host = address; !s.trusted(address) {
			break
		}
	}
	return host
}

func (s *Site) trusted(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(s.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address.Unmap()) })
}
