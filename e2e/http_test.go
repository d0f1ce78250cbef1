package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// TestAnHTTPOperator calls an API by a connection: it reads all pages of a list, and sends what they
// contain until the answer meets a condition.
func TestAnHTTPOperator(t *testing.T) {
	t.Parallel()
	const token = "e2e-hunter2"
	reports := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/runs" && r.FormValue("cursor") == "":
			_, _ = io.WriteString(w, `{"runs": [{"id": 1, "since": "`+r.FormValue("since")+`"}], "cursor": "c2"}`)
		case r.URL.Path == "/v1/runs":
			_, _ = io.WriteString(w, `{"runs": [{"id": 2}]}`)
		default:
			reports++
			state := map[bool]string{true: "pending", false: "accepted"}[reports == 1]
			_ = json.NewEncoder(w).Encode(map[string]any{"state": state, "received": json.RawMessage(body)})
		}
	}))
	defer api.Close()
	s := shared.server
	s.api(t, http.MethodPut, "/connections/reports", map[string]any{"kind": "http", "values": map[string]any{"base_url": api.URL + "/v1", "authentication": "bearer", "token": token}}, nil)
	s.register(t, `
name: stories.http
version: 1.0.0
inputs:
  - {name: api, type: Connection<http>}
  - {name: since, type: Date}
operators:
  - name: list
    type: http
    inputs: [{name: api, from: inputs.api}, {name: since, from: inputs.since}]
    outputs: [{name: body, type: JSON}]
    http:
      url: /runs?since={{since}}
      pages: {next: 'body?.cursor == nil ? nil : {"cursor": body.cursor}', items: body.runs}
  - name: report
    type: http
    inputs: [{name: api, from: inputs.api}, {name: runs, from: list.body}]
    outputs: [{name: body, type: JSON}]
    retry: {limit: 3, initial_delay: 100ms}
    http:
      method: POST
      url: reports
      body: {ids: "{{map(runs, .id)}}", title: "Since {{runs[0].since}}"}
      condition: body.state == "accepted"
outputs:
  - {name: report, type: JSON, from: report.body}
`)
	id := s.launch(t, "stories.http", map[string]any{"api": "reports", "since": "2026-01-02"})
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	var found struct {
		Outputs map[string]any `json:"outputs"`
	}
	s.api(t, http.MethodGet, "/executions/"+id, nil, &found)
	require.Equal(t, map[string]any{"state": "accepted", "received": map[string]any{"ids": []any{1.0, 2.0}, "title": "Since 2026-01-02"}}, found.Outputs["report"])
	require.Equal(t, 2, reports)

	page := open(t, options{})
	visit(t, page, "/executions/"+id+"/nodes/report")
	holds(t, page.Locator("body"), "Condition: body.state == ")
	audit(t, page)
	visit(t, page, "/connections/reports")
	visible(t, page.Locator(`[name="values.token"]`))
	hidden := page.Locator(`[name="values.token_url"]`)
	require.NoError(t, expect().Locator(hidden).ToBeHidden())
	_, err := page.Locator(`[name="values.authentication"]`).SelectOption(playwright.SelectOptionValues{Values: &[]string{"oauth2"}})
	require.NoError(t, err)
	visible(t, hidden)
	require.NoError(t, expect().Locator(page.Locator(`[name="values.token"]`)).ToBeHidden())
	audit(t, page)
}
