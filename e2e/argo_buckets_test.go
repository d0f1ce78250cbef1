package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/data/bucket/azuretest"
	"github.com/flowforge/flowforge/data/bucket/gcstest"
	"github.com/flowforge/flowforge/platform/certificate/certtest"
)

// argoBucketStories are about artifacts in buckets of S3 outside of FlowForge's store.
func argoBucketStories() []argoStory {
	return []argoStory{
		{group: "M2", feature: "artifacts: an object in an s3 bucket, with credentials from secrets", local: true, spec: `
entrypoint: main
arguments: {artifacts: [{name: whole, s3: {endpoint: $S3, insecure: true, bucket: others, key: data/one.txt, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}]}
templates:
- name: main
  inputs:
    parameters: [{name: key, value: two}]
    artifacts:
    - {name: whole, path: $DIR/whole}
    - {name: got, path: $DIR/got, s3: {endpoint: "http://$S3", bucket: others, key: "data/{{inputs.parameters.key}}.txt", accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cat $DIR/whole $DIR/got > $DIR/all"]}`, outputs: map[string]any{"all": "first, second"}},
		{group: "M2", feature: "artifacts: an optional input whose object or address does not exist is left out", local: true, spec: `
entrypoint: main
templates:
- name: main
  inputs:
    artifacts:
    - {name: none, path: $DIR/none, optional: true, s3: {endpoint: $S3, insecure: true, bucket: others, key: data/none.txt, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: one, path: $DIR/one, optional: true, s3: {endpoint: $S3, insecure: true, bucket: others, key: data/one.txt, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: page, path: $DIR/page, optional: true, http: {url: "$URL/none"}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cd $DIR && touch all && { cat one; ls; } | tr '\\n' ' ' > all"]}`, outputs: map[string]any{"all": "first, all one "}},
		{group: "M2", feature: "artifacts: an object in a bucket that a template of steps passes on", local: true, spec: `
entrypoint: main
arguments: {artifacts: [{name: whole, s3: {endpoint: $S3, insecure: true, bucket: others, key: data/one.txt, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}]}
templates:
- name: main
  inputs: {artifacts: [{name: whole}]}
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.inner.outputs.parameters.all}}"}}]}
  steps: [[{name: inner, template: inner, arguments: {artifacts: [{name: given, from: "{{inputs.artifacts.whole}}"}]}}]]
- name: inner
  inputs: {artifacts: [{name: given}]}
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{steps.read.outputs.parameters.all}}"}}]}
  steps: [[{name: read, template: read, arguments: {artifacts: [{name: part, from: "{{inputs.artifacts.given}}"}]}}]]
- name: read
  inputs: {artifacts: [{name: part, path: $DIR/part}]}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cp $DIR/part $DIR/all"]}`, outputs: map[string]any{"all": "first, "}},
		{group: "M2", feature: "artifacts: outputs in an s3 bucket as tar.gz, zip and files, and folders of a bucket as inputs", local: true, spec: `
entrypoint: main
arguments: {parameters: [{name: run, value: one}]}
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{tasks.read.outputs.parameters.all}}"}}]}
  dag:
    tasks:
    - {name: write, template: write, arguments: {parameters: [{name: run, value: "{{workflow.parameters.run}}"}]}}
    - {name: read, template: read, depends: write}
- name: write
  inputs: {parameters: [{name: run}]}
  outputs:
    artifacts:
    - {name: packed, path: $DIR/folder, s3: {endpoint: $S3, insecure: true, bucket: others, key: "runs/{{inputs.parameters.run}}.tgz", accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: zipped, path: $DIR/one.txt, archive: {zip: {}}, s3: {endpoint: $S3, insecure: true, bucket: others, key: runs/one.zip, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: plain, path: $DIR/folder, archive: {none: {}}, s3: {endpoint: $S3, insecure: true, bucket: others, key: runs/files, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR/folder/deep; echo a > $DIR/folder/a.txt; echo b > $DIR/folder/deep/b.txt; ln -s a.txt $DIR/folder/link; echo one > $DIR/one.txt"]}
- name: read
  inputs:
    artifacts:
    - {name: packed, path: $DIR/in/packed, s3: {endpoint: $S3, insecure: true, bucket: others, key: runs/one.tgz, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: raw, path: $DIR/in/raw, archive: {none: {}}, s3: {endpoint: $S3, insecure: true, bucket: others, key: runs/one.tgz, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: zipped, path: $DIR/in/zipped, archive: {zip: {}}, s3: {endpoint: $S3, insecure: true, bucket: others, key: runs/one.zip, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: plain, path: $DIR/in/plain, s3: {endpoint: $S3, insecure: true, bucket: others, key: runs/files/, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
    - {name: deep, path: $DIR/in/deep, s3: {endpoint: $S3, insecure: true, bucket: others, key: runs/files/deep, accessKeySecret: {name: bucket, key: access}, secretKeySecret: {name: bucket, key: secret}}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cd $DIR/in && { cat packed/link packed/deep/b.txt zipped plain/a.txt plain/deep/b.txt deep/b.txt; ls plain; tar tzf raw | sort | head -n 1; } | tr '\\n' ' ' > $DIR/all"]}`,
			outputs: map[string]any{"all": "a b one a b b a.txt deep folder/ "}},
	}
}

// argoOtherBucketStories are about stores without the API of S3.
func argoOtherBucketStories() []argoStory {
	return []argoStory{
		{group: "M2", feature: "artifacts: outputs and inputs in an azure container", local: true, spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{tasks.read.outputs.parameters.all}}"}}]}
  dag: {tasks: [{name: write, template: write}, {name: read, template: read, depends: write}]}
- name: write
  outputs:
    artifacts:
    - {name: packed, path: $DIR/folder, azure: {endpoint: $AZURE, container: others, blob: runs/one.tgz, accountKeySecret: {name: azure, key: account}}}
    - {name: plain, path: $DIR/folder, archive: {none: {}}, azure: {endpoint: $AZURE, container: others, blob: runs/files, accountKeySecret: {name: azure, key: account}}}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR/folder/deep; echo a > $DIR/folder/a.txt; echo b > $DIR/folder/deep/b.txt"]}
- name: read
  inputs:
    artifacts:
    - {name: packed, path: $DIR/in/packed, azure: {endpoint: $AZURE, container: others, blob: runs/one.tgz, accountKeySecret: {name: azure, key: account}}}
    - {name: plain, path: $DIR/in/plain, azure: {endpoint: $AZURE, container: others, blob: runs/files, accountKeySecret: {name: azure, key: account}}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cd $DIR/in && cat packed/a.txt plain/a.txt plain/deep/b.txt | tr '\\n' ' ' > $DIR/all"]}`, outputs: map[string]any{"all": "a a b "}},
		{group: "M2", feature: "artifacts: outputs and inputs in a gcs bucket", local: true, spec: `
entrypoint: main
templates:
- name: main
  outputs: {parameters: [{name: all, valueFrom: {parameter: "{{tasks.read.outputs.parameters.all}}"}}]}
  dag: {tasks: [{name: write, template: write}, {name: read, template: read, depends: write}]}
- name: write
  outputs:
    artifacts:
    - {name: packed, path: $DIR/folder, gcs: {bucket: others, key: runs/one.tgz, serviceAccountKeySecret: {name: google, key: account}}}
    - {name: plain, path: $DIR/folder, archive: {none: {}}, gcs: {bucket: others, key: runs/files, serviceAccountKeySecret: {name: google, key: account}}}
  container: {image: $IMAGE, command: [sh, -c], args: ["mkdir -p $DIR/folder/deep; echo a > $DIR/folder/a.txt; echo b > $DIR/folder/deep/b.txt"]}
- name: read
  inputs:
    artifacts:
    - {name: packed, path: $DIR/in/packed, gcs: {bucket: others, key: runs/one.tgz, serviceAccountKeySecret: {name: google, key: account}}}
    - {name: plain, path: $DIR/in/plain, gcs: {bucket: others, key: runs/files, serviceAccountKeySecret: {name: google, key: account}}}
  outputs: {parameters: [{name: all, valueFrom: {path: $DIR/all}}]}
  container: {image: $IMAGE, command: [sh, -c], args: ["cd $DIR/in && cat packed/a.txt plain/a.txt plain/deep/b.txt | tr '\\n' ' ' > $DIR/all"]}`, outputs: map[string]any{"all": "a a b "}},
	}
}

// TestArgoBucketWithoutSecret: an output whose credentials do not exist fails before the command
// runs.
func TestArgoBucketWithoutSecret(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "FLOWFORGE_LOCAL_IMAGES=host")
	ran := filepath.Join(t.TempDir(), "ran")
	e := runArgo(t, s, 0, argoStory{spec: `
entrypoint: main
templates:
- name: main
  outputs: {artifacts: [{name: out, path: $RAN, s3: {bucket: others, key: k, accessKeySecret: {name: absent, key: access}, secretKeySecret: {name: absent, key: secret}}}]}
  container: {image: any, command: [touch, $RAN]}`}, "$RAN", ran)
	require.Equal(t, "FAILED", e.Status)
	require.NoFileExists(t, ran)
	var attempts any
	s.api(t, http.MethodGet, "/executions/"+e.ID+"/nodes/main/attempts", nil, &attempts)
	require.Contains(t, fmt.Sprint(attempts), `The project has no secret "absent.`)
}

// containerOf starts an Azure server whose container "others" is empty, gives s the secret of
// its account, and returns its endpoint.
func containerOf(t *testing.T, s *server) string {
	t.Helper()
	s.api(t, http.MethodPut, "/secrets/azure.account", map[string]any{"value": azuretest.Key}, nil)
	return azuretest.Start(t, "others")
}

// news starts a server whose responses repeat the request; it has no page /none.
func news(t *testing.T, host string) string {
	t.Helper()
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			w.WriteHeader(http.StatusNotFound)
		}
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		_, _ = w.Write([]byte(strings.TrimSpace("for " + r.Header.Get("Authorization") + " " + string(body[:n]))))
	}))
	listener, err := listenOn(host)
	require.NoError(t, err)
	_ = web.Listener.Close()
	web.Listener = listener
	web.Start()
	t.Cleanup(web.Close)
	return web.URL
}

// googleServer is ownServer with another server in the place of Google Cloud Storage. Its bucket
// "others" is empty, and a secret has the key of its service account. The server trusts the
// authority.
func googleServer(t *testing.T, environ ...string) (*server, *certtest.Authority) {
	t.Helper()
	store, authority := gcstest.Start(t, "others"), certtest.New(t)
	certificate, err := tls.LoadX509KeyPair(authority.Issue(t, t.TempDir(), gcstest.Host, time.Now().Add(time.Hour)))
	require.NoError(t, err)
	front := httptest.NewUnstartedServer(store)
	front.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	front.StartTLS()
	t.Cleanup(front.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != gcstest.Host+":443" {
			http.Error(w, "this proxy reaches "+gcstest.Host+" alone", http.StatusForbidden)
			return
		}
		tunnel(w, front.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	s := ownServer(t, append(environ, "HTTPS_PROXY="+proxy.URL, "NO_PROXY=127.0.0.1", "SSL_CERT_FILE="+authority.File)...)
	s.api(t, http.MethodPut, "/secrets/google.account", map[string]any{"value": store.Key}, nil)
	return s, authority
}

// tunnel connects the connection of a CONNECT request with an address.
func tunnel(w http.ResponseWriter, address string) {
	there, err := (&net.Dialer{}).Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		defer there.Close()
		_, _ = io.Copy(there, here)
	}()
	go func() {
		defer here.Close()
		_, _ = io.Copy(here, there)
	}()
}

// bucketOf starts an S3 server whose bucket "others" has the objects, gives s the secrets to
// read them, and returns its address.
func bucketOf(t *testing.T, s *server, objects map[string]string) string {
	t.Helper()
	store := s3test.Start(t, "others")
	for key, text := range objects {
		file := filepath.Join(store.Dir, "others", key)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	s.api(t, http.MethodPut, "/secrets/bucket.access", map[string]any{"value": s3test.AccessKey}, nil)
	s.api(t, http.MethodPut, "/secrets/bucket.secret", map[string]any{"value": s3test.SecretKey}, nil)
	return strings.TrimPrefix(store.Endpoint, "http://")
}
