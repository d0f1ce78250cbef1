package runner

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/db/dbtest"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const notYetOutcome = flowforgev1.Outcome_OUTCOME_NOT_YET

// polling is the attempt of a sensor.
func polling(id string, outputs ...string) *flowforgev1.AttemptSpec {
	spec := &flowforgev1.AttemptSpec{TaskId: id, Name: id, Token: "token-" + id, ExecutionId: "e", Node: "n", Attempt: 1, InputsJson: "{}", CheckpointKey: "key-" + id, Poll: 3, TimeoutMs: 60_000}
	for _, name := range append(outputs, "polls") {
		spec.Outputs = append(spec.Outputs, &flowforgev1.OutputSpec{Name: name, Kind: "JSON", Inline: true})
	}
	return spec
}

func TestPollHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hang := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch code, _ := strconv.Atoi(r.URL.Path[1:]); {
		case code == 0:
			<-hang
		case code >= 400:
			w.WriteHeader(code)
		}
		_, _ = io.WriteString(w, `{"ready": `+strconv.FormatBool(r.FormValue("ready") != "")+`}`)
	}))
	t.Cleanup(site.Close)
	t.Cleanup(func() { close(hang) })
	for name, c := range map[string]struct {
		url, message string
		want         flowforgev1.Outcome
	}{
		"ready":     {site.URL + "/200?ready=1", "", succeeded},
		"waiting":   {site.URL + "/200", "does not meet the condition body.ready", notYetOutcome},
		"missing":   {site.URL + "/404", "responded with 404 Not Found", notYetOutcome},
		"busy":      {site.URL + "/503", "responded with 503 Service Unavailable", notYetOutcome},
		"away":      {"http://127.0.0.1:1/", "connection refused", notYetOutcome},
		"forbidden": {site.URL + "/403", "responded with 403 Forbidden", failed},
		"slow":      {site.URL + "/0", "The poll received no response within 300ms.", notYetOutcome},
	} {
		spec := polling(name, "body", "status")
		if name == "slow" {
			spec.TimeoutMs = 300
		}
		spec.Work = &flowforgev1.AttemptSpec_Http{Http: &flowforgev1.Http{Url: c.url, Condition: "body.ready", Tagged: true}}
		f := b.run(t, spec)
		if f.Outcome != c.want || !strings.Contains(f.Message, c.message) {
			t.Errorf("%s: %s %q", name, f.Outcome, f.Message)
		}
		if got := values(f); name == "ready" && (got["polls"] != "3" || got["body"] != `{"ready":true}`) {
			t.Errorf("outputs %v", got)
		}
	}
}

func TestPollSQL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.secrets = map[string]string{"connection/db/url": dbtest.NewURL(t)}
	for name, c := range map[string]struct {
		query, message, value string
		want                  flowforgev1.Outcome
	}{
		"count":  {"SELECT 12345678901234567 AS n, 'x' AS name, true AS b", "", "12345678901234567", succeeded},
		"zero":   {"SELECT 0.00::numeric", "The first value of the first row is 0.00.", "", notYetOutcome},
		"null":   {"SELECT null", "The first value of the first row is null.", "", notYetOutcome},
		"false":  {"SELECT @n::int > 100", "The first value of the first row is false.", "", notYetOutcome},
		"norows": {"SELECT 1 WHERE false", "The statement returned no rows.", "", notYetOutcome},
		"write":  {"CREATE TABLE t ()", "", "", failed},
		"wrong":  {"SELECT nothing", "(SQLSTATE 42703)", "", failed},
	} {
		spec := b.statement(t, name, c.query)
		spec.Poll, spec.TimeoutMs, spec.Outputs = 3, 60_000, polling(name, "value", "row").Outputs
		f := b.run(t, spec)
		got := values(f)
		if f.Outcome != c.want || !strings.Contains(f.Message, c.message) || got["value"] != c.value {
			t.Errorf("%s: %s %q %v", name, f.Outcome, f.Message, got)
		}
		if name == "count" && got["row"] != `{"b":true,"n":12345678901234567,"name":"x"}` {
			t.Errorf("row %v", got)
		}
	}
}

func TestPollObject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store := s3test.Start(t, "landing")
	b.server.secrets = map[string]string{"connection/store/key": s3test.SecretKey}
	search := func(id string, work *flowforgev1.ObjectSearch) *flowforgev1.Finished {
		t.Helper()
		spec := secretive(id, "", "connection/store/key")
		spec.InputsJson = `{"store": {"kind": "s3", "fields": {"bucket": "landing", "region": "us-east-1", "endpoint": "` + store.Endpoint + `", "access_key_id": "` + s3test.AccessKey + `", "secret_access_key": {"$secret": "connection/store/key"}}}, "day": "2026-01-02"}`
		spec.Secrets[0].Pointer = "/store/fields/secret_access_key"
		spec.Poll, spec.TimeoutMs, spec.Outputs = 1, 60_000, polling(id, "key", "etag", "size", "uri").Outputs
		work.Connection = "store"
		spec.Work = &flowforgev1.AttemptSpec_Object{Object: work}
		return b.run(t, spec)
	}
	key := "in/{{day}} a+b&é.csv"
	f := search("early", &flowforgev1.ObjectSearch{Key: key})
	if f.Outcome != notYetOutcome || f.Message != "The bucket landing has no object in/2026-01-02 a+b&é.csv." {
		t.Errorf("%s %q", f.Outcome, f.Message)
	}
	f = search("early-prefix", &flowforgev1.ObjectSearch{Prefix: "in/{{day}}"})
	if f.Outcome != notYetOutcome || f.Message != "The bucket landing has no object with the prefix in/2026-01-02." {
		t.Errorf("%s %q", f.Outcome, f.Message)
	}
	if err := os.MkdirAll(filepath.Join(store.Dir, "landing", "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store.Dir, "landing", "in", "2026-01-02 a+b&é.csv"), []byte("x,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, work := range map[string]*flowforgev1.ObjectSearch{"found": {Key: key}, "found-prefix": {Prefix: "in/{{day}} a"}} {
		f = search(id, work)
		wantOutcome(t, f, succeeded)
		if got := values(f); got["key"] != `"in/2026-01-02 a+b\u0026é.csv"` || got["size"] != "4" || got["uri"] != `"s3://landing/in/2026-01-02 a+b\u0026é.csv"` || got["polls"] != "1" {
			t.Errorf("%s: %v", id, got)
		}
	}
	f = search("nobucket", &flowforgev1.ObjectSearch{Bucket: "absent", Prefix: "x"})
	if f.Outcome != failed || !strings.Contains(f.Message, "test the connection on its page") {
		t.Errorf("%s %q", f.Outcome, f.Message)
	}
	store.Stop()
	if f = search("gone", &flowforgev1.ObjectSearch{Key: key}); f.Outcome != notYetOutcome || !strings.Contains(f.Message, "The store could not be reached") {
		t.Errorf("%s %q", f.Outcome, f.Message)
	}
}
