package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// taskClient reaches the server with the certificates that a pod was given:
// FLOWFORGE_TASK_CA verifies the server, FLOWFORGE_TASK_CERT and FLOWFORGE_TASK_KEY
// show who calls (file names). nil when there are none.
func taskClient() (*http.Client, error) {
	ca, cert, key := os.Getenv("FLOWFORGE_TASK_CA"), os.Getenv("FLOWFORGE_TASK_CERT"), os.Getenv("FLOWFORGE_TASK_KEY")
	if ca == "" && cert == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca) //nolint:gosec // whoever makes the pod names the file
		if err != nil {
			return nil, fmt.Errorf("FLOWFORGE_TASK_CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("FLOWFORGE_TASK_CA: the file holds no certificate")
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("FLOWFORGE_TASK_CERT: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, by the standard library
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport}, nil
}
