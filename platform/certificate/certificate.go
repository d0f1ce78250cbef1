// Package certificate creates TLS configurations from certificate files that may be
// replaced while the server runs, like a rotated Secret: every new connection uses the
// current files.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Files names PEM files: a certificate with its chain, its key, and the authorities
// that must have issued the peer's certificate.
type Files struct {
	Cert, Key string
	CA        string // "" requires no client certificate, or uses the system's authorities
}

// Texts is the content of Files; it is nil for files that are not set.
type Texts struct{ Cert, Key, CA []byte }

// Pair is a set of Files that is read again when one of them changes.
type Pair struct {
	files Files

	mu   sync.Mutex
	read time.Time // the latest change of the files in use
	cert *tls.Certificate
	pool *x509.CertPool
	text Texts
}

// Load reads files, and returns an error when they are not valid.
func Load(files Files) (*Pair, error) {
	p := &Pair{files: files}
	if _, _, err := p.current(); err != nil {
		return nil, err
	}
	return p, nil
}

// current returns the content of the files.
func (p *Pair) current() (*tls.Certificate, *x509.CertPool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.refresh()
	return p.cert, p.pool, err
}

// refresh reads the files if they have changed. It keeps the previous ones while the
// files are not valid, such as during a replacement. The caller holds the lock of p.
func (p *Pair) refresh() error {
	changed, err := p.changed()
	if err == nil && !changed.Equal(p.read) {
		err = p.load(changed)
	}
	if err != nil && p.read.IsZero() {
		return err
	}
	return nil
}

// changed returns the latest modification time of the files.
func (p *Pair) changed() (latest time.Time, err error) {
	for _, path := range []string{p.files.Cert, p.files.Key, p.files.CA} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return latest, fmt.Errorf("certificate: %w", err)
		}
		if info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	return latest, nil
}

func (p *Pair) load(changed time.Time) error {
	var text Texts
	for _, file := range []struct {
		path string
		into *[]byte
	}{{p.files.Cert, &text.Cert}, {p.files.Key, &text.Key}, {p.files.CA, &text.CA}} {
		if file.path == "" {
			continue
		}
		var err error
		if *file.into, err = os.ReadFile(file.path); err != nil {
			return fmt.Errorf("certificate: %w", err)
		}
	}
	var cert *tls.Certificate
	if p.files.Cert != "" {
		pair, err := tls.X509KeyPair(text.Cert, text.Key)
		if err != nil {
			return fmt.Errorf("certificate %s with key %s: %w", p.files.Cert, p.files.Key, err)
		}
		cert = &pair
	}
	var pool *x509.CertPool
	if p.files.CA != "" {
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text.CA) {
			return fmt.Errorf("certificate: %s holds no certificate of an authority", p.files.CA)
		}
	}
	p.cert, p.pool, p.text, p.read = cert, pool, text, changed
	return nil
}

// Texts returns the content of the files, to present and to verify.
func (p *Pair) Texts() Texts {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refresh(); err != nil {
		return Texts{}
	}
	return p.text
}

// Server returns the configuration of a listener. With a CA, every client must present
// a certificate from it.
func (p *Pair) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			cert, pool, err := p.current()
			if err != nil {
				return nil, err
			}
			if cert == nil {
				return nil, errors.New("certificate: a server needs one")
			}
			config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*cert}, NextProtos: []string{"h2", "http/1.1"}}
			if pool != nil {
				config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
			}
			return config, nil
		},
	}
}

// Client returns the configuration of a connection to a server that has a certificate from the CA for
// serverName. The connection presents our own certificate on request. protocols are offered by ALPN.
func (p *Pair) Client(serverName string, protocols ...string) (*tls.Config, error) {
	cert, pool, err := p.current()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: serverName, RootCAs: pool, NextProtos: protocols}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	return config, nil
}

// Dial connects to HTTP servers with a certificate from the CA for serverName, at any
// address, and presents our own on request.
func (p *Pair) Dial(serverName string, within time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		config, err := p.Client(serverName, "h2", "http/1.1")
		if err != nil {
			return nil, err
		}
		dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: within}, Config: config}
		return dialer.DialContext(ctx, network, addr) //nolint:wrapcheck // told with the address by the client
	}
}
