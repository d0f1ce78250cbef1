package e2e

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// corpus returns texts that run code in a page that interprets them as markup, as an
// address or as a script. Each calls pwned, which the test observes.
func corpus() []string {
	return []string{
		`<script>pwned('script')</script>`, `<img src=x onerror="pwned('img')">`, `"><svg onload=pwned('svg')>`, `'><details open ontoggle=pwned('toggle')>`,
		`<iframe srcdoc="<script>parent.pwned('srcdoc')</script>"></iframe>`, `javascript:pwned('url')`, `data:text/html,<script>pwned('data')</script>`,
		`</textarea></title></style></script><script>pwned('close')</script>`, `<math><mtext><table><mglyph><style><img src=x onerror=pwned('mxss')>`,
		`{{constructor.constructor('pwned()')()}}`, "`${pwned('template')}`", `<a href="javascript:pwned('a')" autofocus onfocus=pwned('focus')>x</a>`,
		`<form action="javascript:pwned('form')"><button>x</button></form>`, `<base href="https://evil.example/">`, `<meta http-equiv=refresh content="0;url=javascript:pwned('meta')">`,
		`<link rel=stylesheet href="https://evil.example/x.css">`, `<style>@import "https://evil.example/x.css"; *{background:url(https://evil.example/x)}</style>`,
		`<x hx-get="/healthz" hx-trigger="load" hx-on::load="pwned('htmx')" hx-on:click="pwned('htmx')">`, `<hx-partial hx-target="body"><script>pwned('partial')</script></hx-partial>`,
		`<template shadowrootmode=open><img src=x onerror=pwned('shadow')></template>`, "\u202e<script>pwned('bidi')</script>", `&lt;script&gt;pwned('entity')&lt;/script&gt;`,
		`]]><script>pwned('cdata')</script><!--`, `--><script>pwned('comment')</script>`, `" style="animation-name:x" onanimationstart="pwned('style')" x="`,
		"\x1b[31m<script>pwned('ansi')</script>\x1b[0m", "\x1b]8;;javascript:pwned('osc8')\x07click\x1b]8;;\x07", "\x1b]8;;data:text/html,<script>pwned('osc8')</script>\x1b\\click\x1b]8;;\x1b\\",
		"\x1b]0;<script>pwned('title')</script>\x07", `\u003cscript\u003epwned('json')\u003c/script\u003e`, `data: x` + "\n\n" + `event: pwned` + "\n" + `data: <script>pwned('sse')</script>`,
	}
}

// everything returns the corpus as one text.
func everything() string { return strings.Join(corpus(), " ") }

// short is a text for short names.
const short = `"><img src=x onerror=pwned('name')>`

// alarms are the executions of pwned and the policy violations that a browser reported.
type alarms struct {
	mu    sync.Mutex
	found []string
}

func (a *alarms) add(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found = append(a.found, text)
}

func (a *alarms) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.found
	a.found = nil
	return found
}

// guarded returns a page that reports which scripts run and what the content security
// policy blocks. Scripts of a report run in its sandboxed frame, which has its own
// origin: there pwned does nothing, unless a script reaches the surrounding page.
func guarded(t *testing.T, s *server) (playwright.Page, *alarms) {
	t.Helper()
	page := openOn(t, s, options{tolerates: []string{"status of 4", "sandboxed", "Content Security Policy", "Failed to load resource", "attachShadow"}})
	a := &alarms{}
	require.NoError(t, page.Context().ExposeFunction("pwned", func(args ...any) any { a.add(fmt.Sprint("ran: ", args)); return nil }))
	require.NoError(t, page.Context().ExposeFunction("cspReport", func(args ...any) any { a.add(fmt.Sprint("violation: ", args)); return nil }))
	require.NoError(t, page.Context().AddInitScript(playwright.Script{Content: new(`if (location.pathname.endsWith("/frame")) Object.defineProperty(window, "pwned", { value: () => {} });
	document.addEventListener("securitypolicyviolation", e => {
		if (!location.pathname.endsWith("/frame")) cspReport(e.violatedDirective + " " + e.blockedURI + " on " + e.documentURI + " " + e.sample);
	})`)}))
	page.OnDialog(func(d playwright.Dialog) { a.add("dialog: " + d.Message()); _ = d.Dismiss() })
	page.OnRequest(func(r playwright.Request) {
		if u, err := url.Parse(r.URL()); err != nil || u.Scheme == "http" && !strings.HasPrefix(r.URL(), s.base) || u.Scheme == "https" {
			a.add("request: " + r.URL())
		}
	})
	return page, a
}

// hostileFiles returns outputs with previews, by file name.
func hostileFiles() map[string]string {
	text := everything()
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\x1b", `\u001b`, "\x07", `\u0007`).Replace(text)
	return map[string]string{
		"page.html": "<!doctype html><title>r</title><body onload=pwned('body')><script>try { parent.pwned('out of the frame: ' + parent.document.cookie) } catch {}</script>" + text, "drawing.svg": `<svg xmlns="http://www.w3.org/2000/svg" onload="pwned('svg')"><script>pwned('svgs')</script></svg>`,
		"notes.md": "# " + short + "\n\n[x](javascript:pwned('md')) ![x](javascript:pwned('mdi)) <img src=x onerror=pwned('mdh')>\n\n" + text + "\n\n```html\n" + text + "\n```\n",
		"rows.csv": "a," + `"` + strings.ReplaceAll(text, `"`, `""`) + `"` + "\n1,2\n" + `"` + strings.ReplaceAll(text, `"`, `""`) + `",x` + "\n",
		"doc.json": `{"` + quoted + `": "` + quoted + `"}`, "numbers.json": `{"` + quoted + `": 1}`,
		"matrix.json": `{"kind": "confusion_matrix", "labels": ["` + quoted + `", "b"], "matrix": [[1, 2], [3, 4]]}`,
		"cells.ipynb": `{"cells": [{"cell_type": "markdown", "source": ["` + quoted + `"]}], "nbformat": 4}`, "plain.txt": text,
		`"><img src=x onerror=pwned()>.txt`: text, "picture.png": "\x89PNG\r\n\x1a\n" + text,
	}
}

// hostileWorkflow prints the corpus, fails with it, and uses it in names and outputs.
func hostileWorkflow() map[string]any {
	var script strings.Builder
	script.WriteString("import base64, os, sys\nout = os.environ['FLOWFORGE_OUTPUTS']\nos.makedirs(out + '/folder', exist_ok=True)\n")
	put := func(path, content string) {
		fmt.Fprintf(&script, "open(os.path.join(out, base64.b64decode('%s').decode()), 'wb').write(base64.b64decode('%s'))\n",
			base64.StdEncoding.EncodeToString([]byte(path)), base64.StdEncoding.EncodeToString([]byte(content)))
	}
	var outputs []map[string]any
	for i, name := range slices.Sorted(maps.Keys(hostileFiles())) {
		content, kind := hostileFiles()[name], "File"
		if name == "page.html" {
			kind = "Report"
		}
		output, ending := fmt.Sprintf("f%d", i), name[strings.LastIndex(name, "."):]
		put(output+ending, content)
		put("folder/"+name, content)
		outputs = append(outputs, map[string]any{"name": output, "type": kind})
	}
	put("text", everything())
	outputs = append(outputs, map[string]any{"name": "folder", "type": "Directory"}, map[string]any{"name": "text", "type": "Text"})
	fmt.Fprintf(&script, "corpus = base64.b64decode('%s').decode()\n", base64.StdEncoding.EncodeToString([]byte(strings.Join(corpus(), "\n"))))
	script.WriteString("print(corpus)\nsys.stderr.write('ERROR ' + corpus + '\\n')\n" +
		"from flowforge import client\nclient.log(corpus, level='ERROR')\nclient.status('RUNNING', message=corpus[:400])\n" +
		"client.metric('x<img src=x onerror=pwned()>', 1.0, tags={'k': corpus[:100]})\nclient.metric('loss', 0.5, step=1)\n")
	return map[string]any{
		"name": "stories.hostile", "version": "1.0.0", "description": everything(), "tags": []string{"javascript:pwned", "data:text/html"},
		"inputs": []map[string]any{
			{"name": "text", "type": "Text", "description": everything(), "default": everything(), "ui": map[string]any{"label": short, "help": everything(), "placeholder": short, "section": short}},
			{"name": "pick", "type": "String", "default": short}, {"name": "any", "type": "JSON", "default": map[string]any{short: everything()}},
		},
		"operators": []map[string]any{
			{"name": "writes", "type": "python", "description": everything(), "outputs": outputs, "code": map[string]any{"script": script.String()}, "environment": map[string]any{"X": short}},
			{
				"name": "fails", "type": "python", "description": short, "depends_on": []string{"writes"},
				"code": map[string]any{"script": "import sys\nsys.exit(" + pythonText(everything()) + ")"},
			},
		},
	}
}

// pythonText returns text as a Python expression.
func pythonText(text string) string {
	return "__import__('base64').b64decode('" + base64.StdEncoding.EncodeToString([]byte(text)) + "').decode()"
}

// tryTo sends a request that may be refused, but must not cause a server error.
func (s *server) tryTo(t *testing.T, method, path string, body any) {
	t.Helper()
	status, answer := s.call(t, method, path, body)
	require.Less(t, status, 500, "%s %s: %s", method, path, answer)
}

// populate puts the corpus wherever a user can name or describe something, and returns
// the pages that show it.
func populate(t *testing.T, s *server) []string {
	t.Helper()
	s.api(t, http.MethodPost, "/workflows", hostileWorkflow(), nil)
	var e executionView
	s.api(t, http.MethodPost, "/executions", map[string]any{"workflow": "stories.hostile", "name": short, "inputs": map[string]any{"text": everything()}}, &e)
	s.tryTo(t, http.MethodPut, "/secrets/hostile", map[string]any{"value": everything(), "description": everything()[:290]})
	s.tryTo(t, http.MethodPut, "/secrets/"+url.PathEscape(short), map[string]any{"value": "some value"})
	s.tryTo(t, http.MethodPost, "/datasets", map[string]any{"name": "hostile", "version": "1", "description": everything(), "tags": []string{short}, "columns": []map[string]any{{"name": short, "dtype": "String"}}})
	s.tryTo(t, http.MethodPost, "/types", map[string]any{"type_name": "Hostile", "extends": "String", "description": everything()})
	var place struct {
		ID string `json:"id"`
	}
	var me struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	s.api(t, http.MethodPost, "/tenants", map[string]any{"name": short, "description": everything()}, &place)
	tenant := place.ID
	s.api(t, http.MethodPost, "/departments", map[string]any{"name": short, "description": everything(), "parent_id": tenant}, &place)
	s.api(t, http.MethodPost, "/teams", map[string]any{"name": short, "description": everything(), "parent_id": place.ID}, &place)
	team := place.ID
	s.api(t, http.MethodPost, "/projects", map[string]any{"name": short, "description": everything(), "parent_id": team}, &place)
	s.tryTo(t, http.MethodPost, "/projects/"+place.ID+"/service-accounts", map[string]any{"name": short, "role": "Viewer"})
	s.tryTo(t, http.MethodPost, "/teams/"+team+"/group-roles", map[string]any{"provider": short, "group": short, "role": "Viewer"})
	s.tryTo(t, http.MethodPost, "/keys", map[string]any{"name": short})
	s.tryTo(t, http.MethodPut, "/teams/"+team+"/quota", map[string]any{"weight": 2, "reason": everything()[:200], "limits": map[string]any{}})
	s.api(t, http.MethodGet, "/projects", nil, &me)
	done := s.wait(t, e.ID, ended)
	require.Equal(t, "FAILED", done.Status)
	q := url.QueryEscape(everything())
	paths := []string{
		"/", "/workflows", "/workflows?q=" + q, "/workflows?tag=" + url.QueryEscape(short), "/workflows/stories.hostile", "/workflows/stories.hostile?tab=source",
		"/workflows/stories.hostile?tab=versions", "/workflows/stories.hostile?tab=executions", "/workflows/stories.hostile/versions/1.0.0", "/workflows/stories.hostile/launch",
		"/workflows/stories.hostile/launch?from=" + e.ID, "/workflows/stories.hostile/launch?input.text=" + q + "&input.any=" + q, "/workflows/" + url.PathEscape(short),
		"/executions", "/executions?q=" + q, "/executions?workflow=" + q + "&user=" + url.QueryEscape(short) + "&status=" + url.QueryEscape(short),
		"/executions/" + e.ID, "/executions/" + e.ID + "?view=list", "/executions/" + e.ID + "?node=writes", "/executions/" + e.ID + "?node=fails",
		"/executions/" + e.ID + "?node=" + q, "/executions/" + e.ID + "/nodes/writes", "/executions/" + e.ID + "/nodes/fails", "/executions/" + e.ID + "/cancel",
		"/executions/" + e.ID + "/logs", "/executions/" + e.ID + "/logs?q=" + url.QueryEscape("<script>"), "/artifacts", "/artifacts?q=" + q, "/artifacts?type=" + url.QueryEscape(short),
		"/types", "/types/Hostile", "/types/" + url.PathEscape(short), "/search?q=" + q, "/search?q=hostile", "/secrets", "/secrets/hostile", "/secrets?deleted=" + q,
		"/projects", "/waiting", "/teams/mine", "/teams/" + team, "/admin", "/admin/nodes/" + team, "/admin/nodes/" + tenant, "/admin/nodes/" + place.ID, "/admin/users", "/admin/audit",
		"/admin/audit?actor=" + q + "&action=" + url.QueryEscape(short), "/admin/quotas", "/admin/quotas?edit=" + team, "/account", "/account/keys", "/docs", "/dev/gallery", "/dev/gallery/components",
		"/login?next=" + q, "/login?next=javascript:pwned('next')", "/login?token=" + q, "/nothing/" + url.PathEscape(everything()),
	}
	var list struct {
		Artifacts []struct {
			ID   string `json:"artifact_id"`
			Kind string `json:"kind"`
		} `json:"artifacts"`
	}
	s.api(t, http.MethodGet, "/executions/"+e.ID+"/artifacts?limit=100", nil, &list)
	require.GreaterOrEqual(t, len(list.Artifacts), len(hostileFiles()))
	for _, a := range list.Artifacts {
		paths = append(paths, "/artifacts/"+a.ID)
		if a.Kind == "Report" {
			paths = append(paths, "/artifacts/"+a.ID+"/frame")
		}
	}
	return paths
}

// TestHostileTextRunsNowhere: no page runs any text of tasks, users or addresses, and the
// content security policy has nothing to block.
func TestHostileTextRunsNowhere(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	paths := populate(t, s)
	page, alarms := guarded(t, s)
	alarmsRing(t, page, alarms)
	for _, path := range paths {
		_, err := page.Goto(path)
		require.NoError(t, err, path)
		if !strings.HasSuffix(path, "/frame") {
			visible(t, page.Locator("h1").First())
			hoverAndFocus(t, page)
		}
		for _, found := range alarms.take() {
			t.Errorf("%.80s: %s", path, found)
		}
	}
}

// alarmsRing checks that the alarms work: the policy blocks and reports markup that a
// page contains.
func alarmsRing(t *testing.T, page playwright.Page, alarms *alarms) {
	t.Helper()
	visit(t, page, "/")
	_, err := page.Evaluate(`async () => {
		const told = new Promise(done => document.addEventListener("securitypolicyviolation", done, { once: true }));
		document.body.insertAdjacentHTML("beforeend", "<img src=/healthz onerror=\"pwned('inline')\">");
		await told;
		await pwned("direct");
	}`)
	require.NoError(t, err)
	rung := strings.Join(alarms.take(), "\n")
	require.Contains(t, rung, "ran: [direct]")
	require.Contains(t, rung, "violation: ")
	require.NotContains(t, rung, "inline]")
}

// hoverAndFocus opens folded elements and focuses every focusable element, so that event
// handlers can run.
func hoverAndFocus(t *testing.T, page playwright.Page) {
	t.Helper()
	_, err := page.Evaluate(`async () => {
		for (const d of document.querySelectorAll("details")) d.open = true;
		for (const e of document.querySelectorAll("a, button, input, textarea, select, [tabindex]")) { e.focus({ preventScroll: true }); e.dispatchEvent(new MouseEvent("mouseover", { bubbles: true })); }
		await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
		const bad = [...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => a.name.startsWith("on") || /^\s*(javascript|data:text)/i.test(a.value) && ["href", "action", "formaction", "src"].includes(a.name)));
		if (bad.length > 0) throw new Error("markup of strangers: " + bad[0].outerHTML.slice(0, 300));
	}`)
	require.NoError(t, err, page.URL())
}
