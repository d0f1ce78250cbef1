package runner

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowforge/flowforge/platform/certificate/certtest"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestUploadsFollowOnlyRedirectsThatSendThem: a redirect that turns the upload into a download fails
// at once. Other redirects send the whole file again.
func TestUploadsFollowOnlyRedirectsThatSendThem(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for status, follows := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		var stored []string
		requested := 0
		mux := http.NewServeMux()
		mux.HandleFunc("/from", func(w http.ResponseWriter, r *http.Request) {
			requested++
			http.Redirect(w, r, "/to", status)
		})
		mux.HandleFunc("/to", func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			stored = append(stored, r.Method+" "+string(body))
		})
		store := httptest.NewServer(mux)
		request := &flowforgev1.SignedRequest{Method: http.MethodPut, Url: store.URL + "/from?signature=x"}
		err := newRequester().uploadObject(t.Context(), request, file, &flowforgev1.SignBucketRequestsResponse{MaxBytes: 4})
		store.Close()
		switch {
		case follows && (err != nil || strings.Join(stored, ",") != "PUT text"):
			t.Errorf("%d: %v, the store received %q", status, err, stored)
		case !follows && (err == nil || len(stored) > 0 || requested != 1 || !strings.Contains(err.Error(), "would change PUT to GET, so nothing was sent") || strings.Contains(err.Error(), "signature")):
			t.Errorf("%d: %v, the store was asked %d times and received %q", status, err, requested, stored)
		}
	}
}

// TestCredentialsStayAtTheirServer: headers go to the server that they are for, also after a redirect
// from it to itself, and to no other.
func TestCredentialsStayAtTheirServer(t *testing.T) {
	t.Parallel()
	seen := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Key")+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Referer"))
	}
	other := httptest.NewServer(http.HandlerFunc(seen))
	defer other.Close()
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	mux.HandleFunc("/seen", seen)
	mux.Handle("/same", http.RedirectHandler("/seen", http.StatusTemporaryRedirect))
	mux.Handle("/other", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	mux.Handle("/later", http.RedirectHandler("/other", http.StatusTemporaryRedirect))
	back := httptest.NewServer(http.RedirectHandler(server.URL+"/seen", http.StatusTemporaryRedirect))
	defer back.Close()
	mux.Handle("/back", http.RedirectHandler(back.URL, http.StatusTemporaryRedirect))

	r := newRequester()
	r.client.Transport = server.Client().Transport // trusts the server
	secrets := map[string]string{"X-Key": "hunter2", "Authorization": "Basic x", "Content-Type": "text/x"}
	for path, want := range map[string]string{"/same": "hunter2Basic x text/x", "/other": " text/x", "/later": " text/x", "/back": " text/x"} {
		to := filepath.Join(t.TempDir(), "stored")
		_, err := r.fetchObject(t.Context(), &flowforgev1.SignedRequest{Method: http.MethodGet, Url: server.URL + path + "?signature=x", Headers: secrets}, to)
		body, readErr := os.ReadFile(to)
		got, referer, _ := strings.Cut(string(body), "text/x ")
		if err != nil || readErr != nil || got+"text/x" != want || path != "/same" && referer != "" {
			t.Errorf("store, %s: %q, %v, %v", path, body, err, readErr)
		}
		outputs := t.TempDir()
		c := &call{requester: r, work: &flowforgev1.Http{Url: server.URL + path, Headers: secrets}, outputs: outputs, wants: func(string) bool { return false }, note: func(string, string) {}, sign: unsigned}
		err = c.do(t.Context())
		body, readErr = os.ReadFile(filepath.Join(outputs, "body"))
		got, _, _ = strings.Cut(string(body), "text/x ")
		if err != nil || readErr != nil || got+"text/x" != want {
			t.Errorf("operator, %s: %q, %v, %v", path, body, err, readErr)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"http://a.example/x", "http://A.example/y", true},
		{"http://a.example", "http://a.example:80", true},
		{"http://a.example:8080", "https://a.example", true}, // a server's own change to encryption
		{"https://a.example", "https://a.example:443", true},
		{"https://a.example", "http://a.example", false},
		{"https://a.example", "https://a.example:8443", false},
		{"https://a.example", "https://b.a.example", false},
		{"http://a.example", "https://b.example", false},
	} {
		from, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(c.to)
		if err != nil || keepsCredentials(from, to) != c.want {
			t.Errorf("from %s to %s: %v, %v", c.from, c.to, !c.want, err)
		}
	}
}

// TestCertificatesStayAtTheirServer: a connection with a client certificate goes to no other server.
func TestCertificatesStayAtTheirServer(t *testing.T) {
	t.Parallel()
	requested := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requested++ }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	certificate, key := certtest.New(t).Issue(t, t.TempDir(), "client", time.Now().Add(time.Hour))
	request := &flowforgev1.SignedRequest{Method: http.MethodGet, Url: server.URL}
	for path, to := range map[string]*string{certificate: &request.ClientCertificate, key: &request.ClientKey} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		*to = string(data)
	}
	_, err := newRequester().fetchObject(t.Context(), request, filepath.Join(t.TempDir(), "stored"))
	if err == nil || requested != 0 || !strings.Contains(err.Error(), "redirects to another server, which must not get the client certificate") {
		t.Errorf("%v, the other server was asked %d times", err, requested)
	}
}
