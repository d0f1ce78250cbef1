package runner

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

func TestHTTPRequestIsSentAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "order" {
			t.Errorf("request %d has the body %q", requests.Load()+1, body)
		}
		switch {
		case r.URL.Path == "/later":
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/never" || requests.Add(1) < 3:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			_, _ = io.WriteString(w, "done")
		}
	}))
	t.Cleanup(site.Close)
	b := setup(t)
	request := func(id, path string) *flowforgev1.AttemptSpec {
		return &flowforgev1.AttemptSpec{
			TaskId: id, Token: "t", Outputs: []*flowforgev1.OutputSpec{{Name: "body", Kind: "Text", Inline: true}},
			Work: &flowforgev1.AttemptSpec_Http{Http: &flowforgev1.Http{Method: "POST", Url: site.URL + path, Body: "order", RetryCodes: []int32{429, 503}, RetryLimit: 2, RetryMaxDelayMs: 60_000}},
		}
	}
	f := b.run(t, request("works", "/"))
	wantOutcome(t, f, succeeded)
	if requests.Load() != 3 {
		t.Errorf("%d requests", requests.Load())
	}
	if log := strings.Join(b.server.lines("works", "system"), "\n"); !strings.Contains(log, "429 Too Many Requests. The request is sent again in 0s (retry 2 of 2).") {
		t.Errorf("log %q", log)
	}
	f = b.run(t, request("never", "/never"))
	wantOutcome(t, f, failed)
	if !strings.Contains(f.Message, "responded with 429") {
		t.Errorf("message %q", f.Message)
	}
	f = b.run(t, request("later", "/later"))
	wantOutcome(t, f, failed)
	if !strings.Contains(f.Message, "responded with 503 Service Unavailable and requests a wait of 2h0m0s, which is longer than max_delay (1m0s).") {
		t.Errorf("message %q", f.Message)
	}
}

func TestPauseAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		header string
		sent   int
		want   time.Duration
	}{
		{"", 1, time.Second},
		{"", 3, 4 * time.Second},
		{"", 60, time.Minute},
		{"30", 1, 30 * time.Second},
		{"soon", 2, 2 * time.Second},
		{now.Add(5 * time.Second).Format(http.TimeFormat), 1, 5 * time.Second},
		{now.Add(-time.Hour).Format(http.TimeFormat), 1, 0},
	} {
		got, err := pauseAfter(http.Header{"Retry-After": {test.header}}, test.sent, time.Minute, now)
		if err != nil || got != test.want {
			t.Errorf("%q, request %d: %s, %v; want %s", test.header, test.sent, got, err, test.want)
		}
	}
}
