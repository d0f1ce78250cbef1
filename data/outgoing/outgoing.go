// Package outgoing opens the connections of the server to addresses that users enter. It keeps away
// from private networks, from its own machine and from the metadata services of clouds, unless the
// installation lists a host. It checks the address that a name leads to, when it connects.
package outgoing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/data/bucket"
)

// ErrRefused means that the server does not connect to an address.
var ErrRefused = errors.New("the server does not connect to this address: FLOWFORGE_OUTGOING_HOSTS does not list the host")

// dialLimit bounds the opening of one connection.
const dialLimit = 5 * time.Second

// Dialer opens connections. It is safe for concurrent use.
type Dialer struct {
	// Hosts are hosts with or without ports to which the server connects wherever they are.
	Hosts []string
	// OwnHosts allows this machine and private networks: everyone who signs in owns the machine.
	OwnHosts bool
}

// DialContext opens a TCP connection to host:port. It returns ErrRefused for an address to which the
// server must not connect.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialLimit}
	if !d.listed(address) {
		dialer.Control = d.refuse
	}
	return dialer.DialContext(ctx, network, address)
}

// Client returns a client whose requests take at most timeout. It follows no redirects, which could
// lead to another host with the credentials of the first.
func (d Dialer) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: d.DialContext, TLSHandshakeTimeout: dialLimit, ResponseHeaderTimeout: timeout,
			DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

func (d Dialer) listed(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return slices.ContainsFunc(d.Hosts, func(h string) bool {
		return strings.EqualFold(h, address) || err == nil && strings.EqualFold(strings.Trim(h, "[]"), host)
	})
}

func (d Dialer) refuse(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	ip := to.Addr()
	if bucket.IsLink(ip) || !d.OwnHosts && (bucket.IsMachine(ip) || private(ip)) {
		return ErrRefused
	}
	return nil
}

func private(ip netip.Addr) bool {
	return bucket.IsPrivate(ip) || slices.ContainsFunc(bucket.Meanings(ip), func(a netip.Addr) bool { return !a.IsGlobalUnicast() })
}
