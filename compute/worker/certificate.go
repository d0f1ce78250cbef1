package worker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
)

// certificateProblem returns why the certificates of a worker and its server prevent a connection, or ""
// for any other error. Repeating the call does not help, until the certificates change.
func certificateProblem(err error) string {
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("the certificate of the server cannot be verified: %s. Pass the certificate authority of the server with --ca", untrusted.Err)
	}
	alert, ok := errors.AsType[*net.OpError](err)
	if !ok || alert.Op != "remote error" || !strings.Contains(alert.Err.Error(), "certificate") {
		return ""
	}
	reason := strings.TrimPrefix(alert.Err.Error(), "tls: ")
	if reason == "certificate required" {
		return "the server requires a client certificate of an authority that it trusts. Pass one with --cert and --key"
	}
	return fmt.Sprintf("the server rejects the client certificate (%s). Pass a certificate that the server trusts with --cert and --key", reason)
}
