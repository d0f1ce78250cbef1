package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/bucket/webtest"
	"github.com/flowforge/flowforge/platform/certificate/certtest"
)

// argoWebStories are about artifacts at addresses that require credentials.
func argoWebStories() []argoStory {
	const (
		login  = "usernameSecret: {name: web, key: username}, passwordSecret: {name: web, key: password}"
		oauth2 = "oauth2: {clientIDSecret: {name: web, key: client}, clientSecretSecret: {name: web, key: secret}, tokenURLSecret: {name: web, key: token}, scopes: [files], endpointParams: [{key: resource, value: urn:files}]}"
		cert   = "clientCert: {clientCertSecret: {name: web, key: cert.pem}, clientKeySecret: {name: web, key: key.pem}}"
	)
	return []argoStory{
		{group: "M2", feature: "artifacts: outputs and inputs in artifactory", local: true, spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{tasks.read.outputs.parameters.all}}"}}]}
  dag: {tasks: [{name: write, template: write}, {name: read, template: read, depends: write}]}
- name: write
  outputs: {artifacts: [{name: packed, path: $DIR/folder, artifactory: {url: "$WEB/basic/run.tgz", ` + login + `}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR/folder; echo packed > $DIR/folder/a.txt"]}
- name: read
  inputs:
    artifacts:
    - {name: packed, path: $DIR/in, artifactory: {url: "$WEB/basic/run.tgz", ` + login + `}}
    - {name: none, path: $DIR/none, optional: true, artifactory: {url: "$WEB/basic/none", ` + login + `}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["test ! -e $DIR/none && cp $DIR/in/a.txt $DIR/all"]}`, outputs: map[string]any{"all": "packed"}},
		{group: "M2", feature: "artifacts: outputs and inputs of http, with basicAuth, oauth2 and clientCert", local: true, spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{tasks.read.outputs.parameters.all}}"}}]}
  dag: {tasks: [{name: write, template: write}, {name: read, template: read, depends: write}]}
- name: write
  outputs:
    artifacts:
    - {name: basic, path: $DIR/one, archive: {none: {}}, http: {url: "$WEB/basic/one", auth: {basicAuth: {` + login + `}}}}
    - {name: oauth, path: $DIR/two, archive: {none: {}}, http: {url: "$WEB/oauth/two", auth: {` + oauth2 + `}}}
    - {name: cert, path: $DIR/three, archive: {none: {}}, http: {url: "$WEB/moved/cert/three?op=CREATE", auth: {` + cert + `}}}
    - {name: open, path: $DIR/four, archive: {none: {}}, http: {url: "$WEB/open/four", headers: [{name: X-Note, value: x}]}}
  container: {image: $IMAGE, command: [sh, -c], args: ["cd $DIR; for f in one two three four; do echo $f > $f; done"]}
- name: read
  inputs:
    artifacts:
    - {name: basic, path: $DIR/in/1, http: {url: "$WEB/basic/one", auth: {basicAuth: {` + login + `}}}}
    - {name: oauth, path: $DIR/in/2, http: {url: "$WEB/oauth/two", auth: {` + oauth2 + `}}}
    - {name: cert, path: $DIR/in/3, http: {url: "$WEB/cert/three", auth: {` + cert + `}}}
    - {name: open, path: $DIR/in/4, http: {url: "$WEB/open/four"}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cat $DIR/in/* | tr '\\n' ' ' > $DIR/all"]}`, outputs: map[string]any{"all": "one two three four "}},
	}
}

// webOf starts a web server that requires credentials, gives s their secrets, and returns its
// address.
func webOf(t *testing.T, s *server, authority *certtest.Authority) string {
	t.Helper()
	dir := t.TempDir()
	certificate, key := authority.Issue(t, dir, "localhost", time.Now().Add(time.Hour))
	pair, err := tls.LoadX509KeyPair(certificate, key)
	require.NoError(t, err)
	trusted, err := os.ReadFile(authority.File)
	require.NoError(t, err)
	clients := x509.NewCertPool()
	require.True(t, clients.AppendCertsFromPEM(trusted))
	web := httptest.NewUnstartedServer(webtest.New())
	web.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.VerifyClientCertIfGiven}
	web.StartTLS()
	t.Cleanup(web.Close)
	address := strings.Replace(web.URL, "127.0.0.1", "localhost", 1)
	read := func(path string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	for name, value := range map[string]string{
		"username": webtest.Username, "password": webtest.Password,
		"client": webtest.Client, "secret": webtest.Secret, "token": address + "/token",
		"cert.pem": read(certificate), "key.pem": read(key),
	} {
		s.api(t, http.MethodPut, "/secrets/web."+name, map[string]any{"value": value}, nil)
	}
	return address
}
