// Package freeport chooses ports for test servers whose address must be known before
// they listen.
package freeport

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The kernel hands out 32768 to 60999 for port 0 and for outgoing connections, and
// Kubernetes 30000 to 32767 for Services: below them, no other process takes a port
// between the choice and its use.
const first, last = 20000, 29999

// Address returns an unused host:port of this machine.
func Address(t testing.TB) string {
	t.Helper()
	return AddressOn(t, "127.0.0.1")
}

// AddressOn is Address on another address of this machine.
func AddressOn(t testing.TB, host string) string {
	t.Helper()
	for range 1000 {
		address := net.JoinHostPort(host, strconv.Itoa(first+rand.IntN(last-first+1))) //nolint:gosec // a port is not a secret
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatalf("a thousand ports between %d and %d are taken", first, last)
	return ""
}
