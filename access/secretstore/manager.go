package secretstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/flowforge/flowforge/access/secret"
)

// manager reads from one store. It is safe for concurrent use.
type manager interface {
	// read returns the value of a reference, or a failure.
	read(ctx context.Context, ref secret.Reference) (string, error)
	// check signs in without reading a value, and returns what it found, for people.
	check(ctx context.Context) (string, error)
}

const (
	// requestLimit bounds one request to a store.
	requestLimit = 10 * time.Second
	// maxAnswer is the maximum number of bytes of one answer.
	maxAnswer = 1 << 20
)

// opened are the decoded fields of a store.
type opened struct {
	settings map[string]any
	secrets  map[string]string
}

func (o opened) text(name string) string { value, _ := o.settings[name].(string); return value }

// open returns the manager of a store.
func (s *Service) open(kind string, o opened) (manager, error) {
	client := s.Dialer.Client(requestLimit)
	switch kind {
	case Vault:
		roots, err := rootsOf(o.text("ca_certificate"))
		if err != nil {
			return nil, err
		}
		if t, ok := client.Transport.(*http.Transport); ok && roots != nil {
			t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		}
		return newVault(o, client, s.Now), nil
	case AWS:
		return newAWS(o, client, s.Now), nil
	case GCP:
		return newGCP(o, client, s.MetadataURL, s.Now), nil
	case File:
		return files{o.text("directory")}, nil
	case Environment:
		return environment{o.text("variables"), s.Environ}, nil
	}
	return nil, fmt.Errorf("there is no kind %q of secret stores", kind)
}

// rootsOf are the certificates of the system and those in text; nil for no text.
func rootsOf(text string) (*x509.CertPool, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // the default of the system
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM([]byte(text)) {
		return nil, errors.New("the CA certificate is not PEM")
	}
	return roots, nil
}

// send sends a request and reads its answer.
func send(client *http.Client, req *http.Request) (int, []byte, error) {
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, transport(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, transport(err)
	}
	if len(raw) > maxAnswer {
		return 0, nil, fail(refused, "its response exceeds %d KiB", maxAnswer>>10)
	}
	return res.StatusCode, raw, nil
}

// field is a field of a JSON object in text: a text as it is, other values as JSON. key "" is all of
// text.
func field(text, key string) (string, error) {
	if key == "" {
		return text, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		return "", fail(refused, "the value is not a JSON object, so it has no key: remove the key from the secret")
	}
	return member(object, key)
}

func member(object map[string]json.RawMessage, key string) (string, error) {
	raw, ok := object[key]
	if !ok || bytes.Equal(raw, []byte("null")) {
		return "", fail(refused, "there is no such key")
	}
	var value string
	if json.Unmarshal(raw, &value) == nil {
		return value, nil
	}
	return string(raw), nil
}
