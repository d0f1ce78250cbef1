package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/apperr"
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

const callYAML = `
name: calls
version: 1.0.0
inputs:
  - {name: api, type: Connection<http>}
  - {name: since, type: Date, default: "2026-01-01"}
  - {name: token, type: Secret}
  - {name: table, type: File}
operators:
  - name: call
    type: http
    inputs:
      - {name: api, from: inputs.api}
      - {name: since, from: inputs.since}
      - {name: token, from: inputs.token}
      - {name: table, from: inputs.table}
    outputs: [{name: body, type: JSON}]
    http: %s
`

func TestHTTPCalls(t *testing.T) {
	t.Parallel()
	text := `{url: "/runs?since={{since}}", method: POST, headers: {X-Token: "{{token}}"}, body: {since: "{{since}}", n: 3}, condition: body.state == "done", max_size: 2Gi, pages: {next: link.next, items: body.items, limit: 7}}`
	d := mustParse(t, fmt.Sprintf(callYAML, text))
	h := d.Operators[0].HTTP
	if h.Connection != "api" || !h.JSONBody || h.MaxMiB != 2048 || h.Pages.Limit != 7 {
		t.Errorf("%+v", h)
	}
	canonical, _, err := d.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.wire(), mustParse(t, string(canonical)).Operators[0].HTTP.wire()); diff != "" {
		t.Error(diff)
	}

	for section, want := range map[string][2]string{
		`{url: "https://x.example/"}`:                        {"url", "Enter a path below its base URL"},
		`{url: "/{{sinc}}"}`:                                 {"url", `"sinc" is not an input of the operator. Did you mean "since"?`},
		`{url: "/{{token}}"}`:                                {"url", "Logs show addresses"},
		`{url: "/", body: "{{table}}"}`:                      {"body", "is a file"},
		`{url: "/", body: {a: "{{since"}}`:                   {"body", "is not closed"},
		`{url: "/", condition: "body.state ="}`:              {"condition", ""},
		`{url: "/", condition: response.body == ""}`:         {"condition", `"response" is not an input`},
		`{url: "/", pages: {}}`:                              {"pages.next", "Set the expression"},
		`{url: "/", pages: {next: page + 1, limit: 0}}`:      {"pages.limit", "from 1 to"},
		`{url: "/", method: HEAD, pages: {next: link.next}}`: {"method", "has no pages"},
		`{url: "/", connection: since}`:                      {"connection", "use Connection<http>"},
		`{url: "/", connection: other}`:                      {"connection", `no input called "other"`},
	} {
		_, problems := Parse([]byte(fmt.Sprintf(callYAML, section)), typeregistry.Builtin())
		if !slices.ContainsFunc(problems, func(f apperr.Field) bool {
			return f.Path == "operators[0].http."+want[0] && strings.Contains(f.Message, want[1])
		}) {
			t.Errorf("%s: %v", section, problems)
		}
	}
	for _, name := range []string{"status", "headers", "body", "link", "page"} {
		document := strings.ReplaceAll(fmt.Sprintf(callYAML, `{url: "/", condition: status == 200}`), "name: since,", "name: "+name+",")
		_, problems := Parse([]byte(strings.ReplaceAll(document, "inputs.since", "inputs."+name)), typeregistry.Builtin())
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "Rename the input") {
			t.Errorf("%s: %v", name, problems)
		}
	}
	plain := "name: x\nversion: 1.0.0\ninputs: [{name: host, type: String}]\noperators: [{name: call, type: http, inputs: [{name: host, from: inputs.host}], http: {url: %q}}]"
	for address, want := range map[string]string{"/runs": "full http or https address", "https://{{host}}/": "full http", "https://x.example{{host}}": "host of the address cannot contain tags", "https://me:pw@x.example/": "user name or password"} {
		_, problems := Parse([]byte(fmt.Sprintf(plain, address)), typeregistry.Builtin())
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v", address, problems)
		}
	}
}
