package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// calls answers like an API: /token issues access tokens, /runs lists pages, all other paths describe
// the request.
func calls(t *testing.T, issued *atomic.Int32) *httptest.Server {
	site := httptest.NewServer(nil)
	site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		user, password, _ := r.BasicAuth()
		switch r.URL.Path {
		case "/token":
			if user != "me" || password != "hunter2" || r.FormValue("scope") != "read" {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"error": "invalid_client", "error_description": "unknown client"}`)
				return
			}
			issued.Add(1)
			_, _ = io.WriteString(w, `{"access_token": "issued", "token_type": "Bearer", "expires_in": 3600}`)
		case "/moved":
			http.Redirect(w, r, "/token", http.StatusTemporaryRedirect)
		case "/v1/runs":
			page := r.FormValue("page")
			next := map[string]string{"": "2", "2": "3", "3": ""}[page]
			if next != "" {
				w.Header().Set("Link", fmt.Sprintf(`<%s/v1/runs?page=%s>; rel="next"`, site.URL, next))
			}
			_, _ = fmt.Fprintf(w, `{"items": [{"page": %q, "id": 12345678901234567}], "next": %q, "authorization": %q}`, page, next, r.Header.Get("Authorization"))
		case "/v1/same":
			_, _ = io.WriteString(w, `{"items": [], "next": "/v1/same"}`)
		case "/v1/away":
			_, _ = io.WriteString(w, `{"items": [], "next": "http://localhost.invalid/"}`)
		default:
			body, _ := io.ReadAll(r.Body)
			_ = json.NewEncoder(w).Encode(map[string]any{
				"at": r.URL.RequestURI(), "body": string(body), "type": r.Header.Get("Content-Type"), "key": r.Header.Get("X-Key"), "authorization": r.Header.Get("Authorization"), "state": "running",
			})
		}
	})
	t.Cleanup(site.Close)
	return site
}

// called is the JSON that a call wrote to its output body.
func called(t *testing.T, inputs map[string]any, work *flowforgev1.Http) (map[string]any, error) {
	t.Helper()
	work.Tagged = true
	c := &call{requester: newRequester(), work: work, inputs: inputs, outputs: t.TempDir(), wants: func(string) bool { return false }, note: func(string, string) {}, sign: unsigned}
	err := c.connect(t.Context())
	if err == nil {
		err = c.do(t.Context())
	}
	raw, _ := os.ReadFile(filepath.Join(c.outputs, "body"))
	body := map[string]any{}
	if strings.HasPrefix(string(raw), "[") {
		body["list"] = string(raw)
	} else if err == nil {
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
	}
	return body, err
}

func TestHTTPTags(t *testing.T) {
	t.Parallel()
	site := calls(t, new(atomic.Int32))
	inputs := map[string]any{"id": "a b/c", "n": json.Number("3"), "list": []any{"x", json.Number("1")}, "absent": nil, "dots": ".."}
	body, err := called(t, inputs, &flowforgev1.Http{
		Method: "POST", Url: site.URL + "/runs/{{id}}?n={{n + 1}}", Headers: map[string]string{"X-Key": "<{{id}}>"},
		Body: `{"all": "{{list}}", "text": "n is {{n}}", "nothing": "{{absent}}", "same": 7}`, JsonBody: true,
	})
	if err != nil || body["at"] != "/runs/a%20b%2Fc?n=4" || body["key"] != "<a b/c>" || body["type"] != "application/json" || body["body"] != `{"all":["x",1],"nothing":null,"same":7,"text":"n is 3"}` {
		t.Errorf("%v, %v", body, err)
	}
	for text, want := range map[string]string{"/{{dots}}": "cannot be part of an address", "/{{list}}": "a list or an object", "/{{absent}}": "has no value"} {
		if _, err := called(t, inputs, &flowforgev1.Http{Url: site.URL + text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	inputs["id"] = "a\r\nX-Other: b"
	if _, err := called(t, inputs, &flowforgev1.Http{Url: site.URL, Headers: map[string]string{"X-Key": "{{id}}"}}); err == nil || !strings.Contains(err.Error(), "line breaks") {
		t.Error(err)
	}
}

func TestHTTPConnections(t *testing.T) {
	t.Parallel()
	var issued atomic.Int32
	site := calls(t, &issued)
	connection := func(fields map[string]any) map[string]any {
		fields["base_url"] = site.URL + "/v1/"
		return map[string]any{"api": map[string]any{"$connection": "api", "kind": "http", "fields": fields}, "id": "7"}
	}
	for want, fields := range map[string]map[string]any{
		"":                       {"authentication": "none"},
		"Bearer hunter2":         {"authentication": "bearer", "token": "hunter2"},
		"Basic bWU6aHVudGVyMg==": {"authentication": "basic", "username": "me", "password": "hunter2"},
		"Bearer issued":          {"authentication": "oauth2", "token_url": site.URL + "/token", "client_id": "me", "client_secret": "hunter2", "scope": "read"},
	} {
		body, err := called(t, connection(fields), &flowforgev1.Http{Connection: "api", Url: "/items/{{id}}"})
		if err != nil || body["authorization"] != want || body["at"] != "/v1/items/7" {
			t.Errorf("%s: %v, %v", want, body, err)
		}
	}
	oauth := map[string]any{"authentication": "oauth2", "token_url": site.URL + "/token", "client_id": "me", "client_secret": "hunter2", "scope": "read"}
	before := issued.Load()
	body, err := called(t, connection(oauth), &flowforgev1.Http{Connection: "api", Url: "runs", NextPage: "link.next", Items: "body.items", MaxPages: 3})
	if err != nil || strings.Count(fmt.Sprint(body["list"]), "12345678901234567") != 3 || issued.Load() != before+1 {
		t.Errorf("%v, %v, %d tokens", body, err, issued.Load()-before)
	}
	oauth["token_url"] = site.URL + "/moved"
	before = issued.Load()
	if _, err := called(t, connection(oauth), &flowforgev1.Http{Connection: "api"}); err == nil || issued.Load() != before {
		t.Errorf("the secret followed a redirect: %v", err)
	}
	oauth["token_url"], oauth["client_secret"] = site.URL+"/token", "wrong-secret"
	_, err = called(t, connection(oauth), &flowforgev1.Http{Connection: "api"})
	if err == nil || !strings.Contains(err.Error(), "/token: 401 Unauthorized: invalid_client: unknown client") || strings.Contains(err.Error(), "wrong-secret") {
		t.Error(err)
	}
}

func TestHTTPPages(t *testing.T) {
	t.Parallel()
	site := calls(t, new(atomic.Int32))
	paged := func(path, next string, limit int32) *flowforgev1.Http {
		return &flowforgev1.Http{Url: site.URL + path, NextPage: next, Items: "body.items", MaxPages: limit}
	}
	for _, next := range []string{"link.next", `body.next == "" ? nil : {"page": body.next}`, `body.next == "" ? "" : "/v1/runs?page=" + body.next`, `page < 3 ? {"page": page + 1} : nil`} {
		body, err := called(t, nil, paged("/v1/runs", next, 3))
		if want := `[{"id":12345678901234567,"page":""},{"id":12345678901234567,"page":"2"},{"id":12345678901234567,"page":"3"}]`; err != nil || body["list"] != want {
			t.Errorf("%s: %v, %v", next, body, err)
		}
	}
	for _, test := range []struct {
		work *flowforgev1.Http
		want string
	}{
		{paged("/v1/runs", "link.next", 2), "more pages than pages.limit (2)"},
		{paged("/v1/same", "body.next", 9), "the same page again"},
		{paged("/v1/away", "body.next", 9), "another server"},
		{paged("/v1/runs", "true", 9), "pages.next is true"},
		{paged("/other", "link.next", 9), "there is no body.items"},
		{&flowforgev1.Http{Url: site.URL + "/v1/runs", NextPage: "link.next", Items: "body.items", MaxPages: 9, MaxBytes: 64}, "raise max_size"},
		{&flowforgev1.Http{Url: site.URL + "/v1/runs", NextPage: "link.next", Items: "body.items", MaxPages: 9, Condition: `body.next != "3"`}, "page 2: "},
	} {
		if _, err := called(t, nil, test.work); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v", test.work, err)
		}
	}
}

func TestHTTPConditions(t *testing.T) {
	t.Parallel()
	site := calls(t, new(atomic.Int32))
	inputs := map[string]any{"want": "running"}
	for condition, problem := range map[string]string{
		"body.state == want": "", `status == 200 and headers["content-type"] startsWith "application/json"`: "",
		`body.state == "done"`: `does not meet the condition body.state == "done"`,
		"body.absent.state":    "could not be evaluated",
	} {
		_, err := called(t, inputs, &flowforgev1.Http{Url: site.URL, Condition: condition})
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: %v", condition, err)
		}
	}
	if _, err := called(t, nil, &flowforgev1.Http{Url: site.URL, MaxBytes: 10}); err == nil || !strings.Contains(err.Error(), "raise max_size") {
		t.Error(err)
	}
}
