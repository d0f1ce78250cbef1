package runner

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestTextsThatAreNotUTF8: a report cannot contain them, and a report that cannot be sent would keep all
// others of the machine from the server.
func TestTextsThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	b := setup(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 403 Interdit par le r\xe9seau\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		_ = conn.Close()
	}))
	t.Cleanup(site.Close)

	call := argv("call")
	call.Work = &flowforgev1.AttemptSpec_Http{Http: &flowforgev1.Http{Url: site.URL}}
	if f := b.run(t, call); f.Outcome != failed || !strings.Contains(f.Message, "403 Interdit par le r\uFFFDseau") {
		t.Errorf("%s %q", f.Outcome, f.Message)
	}
	b.server.awaitLog(t, "call")
	if log := strings.Join(b.server.lines("call", "system"), "\n"); !strings.Contains(log, "r\uFFFDseau") {
		t.Errorf("the log has %q", log)
	}

	outputs := shell("outputs", `cd "$FLOWFORGE_OUTPUTS"; printf '{"name": "Jos\351"}' > who.json; printf '{"by": "\351"}' > .who.metadata; printf 'x' > "$(printf 'model.\351')"`)
	outputs.Outputs = []*flowforgev1.OutputSpec{{Name: "who", Kind: "JSON", Inline: true}, {Name: "model", Kind: "File"}}
	f := b.run(t, outputs)
	wantOutcome(t, f, succeeded)
	got := map[string]*flowforgev1.Output{}
	for _, o := range f.Outputs {
		got[o.Name] = o
	}
	if value := got["who"].GetValue(); value != `{"name":"Jos`+"\uFFFD"+`"}` || got["who"].Metadata != `{"by": "`+"\uFFFD"+`"}` || got["model"].Filename != "model.\uFFFD" {
		t.Errorf("outputs %v", f.Outputs)
	}
}

func TestCapitalized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"relation x": "Relation x.", "отношение x": "Отношение x.", "«x»": "«x»."} {
		if got := capitalized(errors.New(text)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
