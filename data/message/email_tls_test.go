package message_test

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/data/outgoing"
)

// newSecureMailbox starts a mail server with a self-signed certificate, and returns a channel to it
// and its certificate.
func newSecureMailbox(t *testing.T, security string) (*mailbox, message.Channel, string) {
	t.Helper()
	https := httptest.NewTLSServer(nil) // has a self-signed certificate for 127.0.0.1
	https.Close()
	config := &tls.Config{Certificates: https.TLS.Certificates, MinVersion: tls.VersionTLS12}
	box := &mailbox{done: make(chan struct{})}
	server := smtp.NewServer(box)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	if security == message.TLS {
		listener = tls.NewListener(listener, config)
	} else {
		server.TLSConfig = config
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw})
	return box, message.Channel{Kind: message.Email, Settings: map[string]any{
		"host": "127.0.0.1", "port": port, "security": security, "from": "flowforge@example.com", "to": "ada@example.com",
	}}, string(certificate)
}

func TestEmailTrustsOnlyKnownCertificates(t *testing.T) {
	t.Parallel()
	own := outgoing.Dialer{OwnHosts: true}
	for _, security := range []string{message.StartTLS, message.TLS} {
		t.Run(security, func(t *testing.T) {
			t.Parallel()
			box, channel, certificate := newSecureMailbox(t, security)
			failure := failureOf(t, own, channel)
			require.Contains(t, failure.Reason, "certificate signed by unknown authority")
			require.Empty(t, box.from, "nothing is sent to a server that is not trusted")

			channel.Settings["ca_certificate"] = certificate
			_, err := message.Send(t.Context(), own, channel, sample())
			require.NoError(t, err)
			<-box.done
			require.Equal(t, []string{"ada@example.com"}, box.to)

			channel.Settings["ca_certificate"] = "not a certificate"
			require.True(t, failureOf(t, own, channel).Permanent)
		})
	}
}

func TestCheckCertificates(t *testing.T) {
	t.Parallel()
	_, _, certificate := newSecureMailbox(t, message.TLS)
	require.NoError(t, message.CheckCertificates(""))
	require.NoError(t, message.CheckCertificates(certificate+"\n"+certificate))
	for _, text := range []string{"x", certificate + "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		require.Error(t, message.CheckCertificates(text), "%q", text)
	}
}
