package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// taskClient calls the server with the pod's certificates, which three variables name as files:
// FLOWFORGE_TASK_CA verifies the server; FLOWFORGE_TASK_CERT and FLOWFORGE_TASK_KEY identify the
// pod. It returns nil without certificates.
func taskClient() (*http.Client, error) {
	ca, cert, key := os.Getenv("FLOWFORGE_TASK_CA"), os.Getenv("FLOWFORGE_TASK_CERT"), os.Getenv("FLOWFORGE_TASK_KEY")
	if ca == "" && cert == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("FLOWFORGE_TASK_CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("FLOWFORGE_TASK_CA: the file contains no certificate")
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("FLOWFORGE_TASK_CERT: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library guarantees this type
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport}, nil
}
