package workflow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/typeregistry"
)

const httpYAML = `
name: call
version: 1.0.0
operators:
  - name: call
    type: http
    http: {url: "https://example.com/", retry: {status: [503, 429]}}
`

func TestHTTPRetry(t *testing.T) {
	t.Parallel()
	d := mustParse(t, httpYAML)
	if diff := cmp.Diff(&HTTPRetry{Status: []int{429, 503}, Limit: 5, MaxDelay: time.Minute}, d.Operators[0].HTTP.Again); diff != "" {
		t.Error(diff)
	}
	first, _, err := d.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := mustParse(t, string(first)).Canonical()
	if diff := cmp.Diff(string(first), string(again)); diff != "" {
		t.Error(diff)
	}
	for section, want := range map[string][2]string{
		"{limit: 3}":                      {"operators[0].http.retry.status", "List the status codes"},
		"{status: [200]}":                 {"operators[0].http.retry.status[0]", "from 400 to 599"},
		"{status: [429], limit: 0}":       {"operators[0].http.retry.limit", "from 1 to 100"},
		"{status: [429]}, success: [429]": {"operators[0].http.retry.status", "both success and a retry"},
		"{status: [429], delay: 1m}":      {"operators[0].http.retry.delay", ""},
	} {
		_, problems := Parse([]byte(strings.Replace(httpYAML, "{status: [503, 429]}", section, 1)), typeregistry.Builtin())
		if len(problems) != 1 || problems[0].Path != want[0] || !strings.Contains(problems[0].Message, want[1]) {
			t.Errorf("%s: %v", section, problems)
		}
	}
}
