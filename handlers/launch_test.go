package handlers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms/formtest"
	"github.com/flowforge/flowforge/web"
)

const launchDocument = `
name: digits.train
version: 1.0.0
description: Trains a small network
inputs:
  - {name: epochs, type: "Integer(min=1, max=200)", default: 20}
  - {name: data, type: Dataset}
  - {name: layers, type: "List<Struct{width: Integer(min=1), act: Enum(relu, gelu)}>", default: [{width: 8, act: relu}]}
  - {name: labels, type: "File(max_bytes=100)?"}
  - {name: folder, type: "Directory?"}
operators:
  - {name: train, type: noop, outputs: []}
`

// launchBundle is a site with real services and one registered workflow.
type launchBundle struct {
	server     *httptest.Server
	executions *execution.Service
	artifacts  *artifact.Service
	index      *index.Service
}

func setupLaunch(t *testing.T) *launchBundle {
	t.Helper()
	pool := dbtest.New(t)
	now := time.Now
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	artifacts := artifact.NewService(pool, store, now)
	entries := catalogue.NewService(pool, now)
	workflows := workflow.NewService(pool, entries, nil, now)
	signer, err := auth.NewSigner(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	executions, err := execution.New(execution.Config{
		Pool: pool, Workflows: workflows, Artifacts: artifacts, Signer: signer, Now: now, Catalogue: engineCatalogue{entries}, Capacity: quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 8},
	})
	require.NoError(t, err)

	admin := auth.WithSubject(t.Context(), auth.Local())
	_, _, err = workflows.Register(admin, []byte(launchDocument))
	require.NoError(t, err)
	rows := int64(1797)
	_, _, err = entries.Register(admin, catalogue.Entry{
		Kind: typeregistry.KindDataset, Name: "digits", Version: "1", Format: "csv",
		Facts: catalogue.Facts{Rows: &rows, Columns: []typeregistry.Column{{Name: "label", DType: "Integer"}}},
	})
	require.NoError(t, err)

	sessions := noSessions(t, pool, now)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	site := web.NewSite(web.Config{Log: log, Sessions: sessions, Tokens: auth.TokenChain{auth.NewLocalToken("secret")}, ErrorPage: func(_ *http.Request, v web.ErrorView) templ.Component {
		return views.ErrorPage(views.Page{Title: v.Title}, views.Failure{Status: v.Status, Title: v.Title, Message: v.Message})
	}})
	labels := index.New(index.Config{Pool: pool, Log: log, Now: now})
	server := httptest.NewServer(handlers.New(handlers.Deps{
		Log: log, Now: now, Site: site, Sessions: sessions, Links: auth.NewLoginLinks(now),
		Workflows: workflows, Executions: executions, Artifacts: artifacts, Catalogue: entries,
		Retention: retention.New(retention.Config{Pool: pool, Store: store, Now: now, Logger: log}),
		Presets:   preset.NewService(pool, workflows, now),
		Index:     labels,
		Sweeps:    sweep.New(sweep.Config{Pool: pool, Workflows: workflows, Executions: executions, Index: labels, Logger: log, Now: now}),
	}))
	t.Cleanup(server.Close)
	return &launchBundle{server: server, executions: executions, artifacts: artifacts, index: labels}
}

// engineCatalogue is the catalogue as the engine uses it.
type engineCatalogue struct{ *catalogue.Service }

func (c engineCatalogue) Blob(ctx context.Context, kind typeregistry.Kind, ref string) (execution.BlobRef, error) {
	blob, err := c.Service.Blob(ctx, kind, ref)
	return execution.BlobRef(blob), err
}

const launchPath = "/workflows/digits.train/launch"

func (b *launchBundle) do(t *testing.T, method, path, contentType string, body io.Reader) (*http.Response, *html.Node, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.server.URL+path, body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("Accept", "text/html")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, formtest.Parse(t, string(text)), string(text)
}

func (b *launchBundle) get(t *testing.T, path string) *html.Node {
	t.Helper()
	res, doc, text := b.do(t, http.MethodGet, path, "", nil)
	require.Equal(t, http.StatusOK, res.StatusCode, text)
	return doc
}

func (b *launchBundle) post(t *testing.T, values url.Values) (*http.Response, *html.Node) {
	t.Helper()
	res, doc, _ := b.do(t, http.MethodPost, launchPath, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
	return res, doc
}

// controls are what the launch form of a page would send.
func controls(t *testing.T, doc *html.Node) url.Values {
	t.Helper()
	form := formtest.ByID(doc, "launch")
	require.NotNil(t, form)
	return formtest.Submit(form)
}

func (b *launchBundle) count(t *testing.T) int {
	t.Helper()
	page, err := b.executions.List(auth.WithSubject(t.Context(), auth.Local()), query.Filter{Workflow: "digits.train"})
	require.NoError(t, err)
	return len(page.Executions)
}

func TestLaunchFromTheForm(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	require.Equal(t, "20", values.Get("inputs.epochs"))
	require.Equal(t, "8", values.Get("inputs.layers.0.width"))
	values.Set("inputs.data", "digits@1")
	values.Set("name", "first try")

	res, _ := b.post(t, values)
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	location := res.Header.Get("Location")
	require.Regexp(t, `^/executions/[0-9a-f-]{36}$`, location)

	again, _ := b.post(t, values)
	require.Equal(t, location, again.Header.Get("Location"), "a second press finds the first execution")
	require.Equal(t, 1, b.count(t))

	values.Set("inputs.epochs", "21")
	other, _ := b.post(t, values)
	require.NotEqual(t, location, other.Header.Get("Location"), "other values are another launch")

	id := strings.TrimPrefix(location, "/executions/")
	doc := b.get(t, launchPath+"?from="+id+"&input.epochs=7")
	values = controls(t, doc)
	require.Equal(t, "7", values.Get("inputs.epochs"))
	require.Equal(t, "digits@1", values.Get("inputs.data"))
	require.Contains(t, formtest.Text(doc), "Filled in from execution “first try” and a link.")
	require.Contains(t, formtest.Text(doc), "Your recent inputs")
}

func TestLaunchKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	values.Set("inputs.epochs", "many")
	values.Set("inputs.layers.0.width", "-3")
	values.Set("inputs.data", "nowhere@1")
	res, doc := b.post(t, values)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	require.Equal(t, 0, b.count(t))
	again := controls(t, doc)
	for name := range values {
		require.Equal(t, values[name], again[name], name)
	}
	text := formtest.Text(doc)
	require.Contains(t, text, "Nothing was launched: 3 values need attention")
	for _, target := range []string{"f-epochs", "f-data", "f-layers.0.width"} {
		links := formtest.Find(doc, func(n *html.Node) bool { return n.Data == "a" && formtest.Attr(n, "href") == "#"+target })
		require.NotEmpty(t, links, target)
		require.NotNil(t, formtest.ByID(doc, target))
	}
}

func TestLaunchButtonsAndViews(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	values.Set("$add", "inputs.layers")
	res, doc := b.post(t, values)
	require.Equal(t, http.StatusOK, res.StatusCode)
	values = controls(t, doc)
	require.True(t, values.Has("inputs.layers.1.width"))

	values.Set("inputs.layers.1.width", "wide")
	values.Set("inputs.data", "digits@1")
	values.Set("$view", "yaml")
	_, doc = b.post(t, values)
	values = controls(t, doc)
	require.Contains(t, values.Get("$yaml"), `width: wide`)

	broken := url.Values{}
	for name := range values {
		broken[name] = values[name]
	}
	broken.Set("$yaml", "workflow: digits.train\ninputs: {epochs: 3")
	broken.Set("$view", "form")
	res, doc = b.post(t, broken)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	require.Equal(t, "workflow: digits.train\ninputs: {epochs: 3", controls(t, doc).Get("$yaml"), "nothing is lost")
	require.Contains(t, formtest.Text(doc), "Line 2: ")

	values.Set("$view", "form")
	_, doc = b.post(t, values)
	values = controls(t, doc)
	require.Equal(t, "wide", values.Get("inputs.layers.1.width"))

	values.Set("$view", "cli")
	_, doc = b.post(t, values)
	require.Contains(t, formtest.Text(doc), "flowforge launch digits.train@1.0.0")
	require.Contains(t, formtest.Text(doc), "curl -X POST "+b.server.URL+"/api/v1/executions")
	require.Equal(t, "wide", controls(t, doc).Get("inputs.layers.1.width"), "the values travel along")

	values = controls(t, doc)
	values.Set("inputs.layers.1.width", "4")
	values.Set("inputs.layers.1.act", "gelu")
	values.Set("$check", "1")
	res, doc = b.post(t, values)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Contains(t, formtest.Text(doc), "All values are valid.")
	require.Equal(t, 0, b.count(t))

	values.Del("$check")
	values.Set("$panel", "1")
	res, doc = b.post(t, values)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NotNil(t, formtest.ByID(doc, "launch-check"))
	require.Contains(t, formtest.Text(doc), "Fits now")
}

// TestLaunchFromYAML: the text launches what it says, and errors are at its lines.
func TestLaunchFromYAML(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	values.Set("$mode", "yaml")
	values.Set("$yaml", "workflow: digits.train\npriority: soon\ninputs:\n  epochs: 300 # too many\n  data: digits@1\n  colour: red\n")
	res, doc := b.post(t, values)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	text := formtest.Text(formtest.ByID(doc, "launch-code"))
	require.Contains(t, text, "Line 2: Enter LOW, NORMAL, HIGH or a number from 0 to 100.")
	require.Contains(t, text, "Line 4: Epochs: 300 is more than 200")
	require.Contains(t, text, "Line 6: ")
	require.Equal(t, values.Get("$yaml"), controls(t, doc).Get("$yaml"), "nothing is lost")

	values.Set("$yaml", "workflow: other\nversion: 2.0.0\npreset: fast\ninputs: {data: digits@1}\nttl: soon\n")
	values.Set("$panel", "1")
	_, doc = b.post(t, values)
	text = formtest.Text(formtest.ByID(doc, "launch-code"))
	require.Contains(t, text, "Line 1: This form launches digits.train. To launch other, open its form.")
	require.Contains(t, text, "Line 2: This form launches version 1.0.0. To launch version 2.0.0, choose it at the top of the page.")
	require.Contains(t, text, "Line 3: Choose the preset next to the form")
	values.Del("$panel")

	values.Set("$yaml", "workflow: digits.train\ninputs: {data: digits@1}\nttl:\n  after_success: soon\n")
	res, doc = b.post(t, values)
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode)
	require.Contains(t, formtest.Text(doc), "Line 4: After a success: ")

	values.Set("$yaml", "kind: Execution\nworkflow: digits.train\nname: from a file\npriority: high\ninputs:\n  epochs: 3\n  data: digits@1\nttl: 2d\n")
	form := url.Values{}
	for name := range values {
		form[name] = values[name]
	}
	form.Set("$view", "form")
	_, doc = b.post(t, form)
	form = controls(t, doc)
	require.Equal(t, []string{"from a file", "3", "HIGH", "2d"}, []string{form.Get("name"), form.Get("inputs.epochs"), form.Get("priority"), form.Get("ttl")})
	form.Set("$view", "python")
	_, doc = b.post(t, form)
	require.Contains(t, formtest.Text(doc), `"data": "digits@1"`)
	form = controls(t, doc)
	form.Set("$panel", "1")
	form.Set("name", "renamed")
	_, doc = b.post(t, form)
	require.Contains(t, formtest.Text(formtest.ByID(doc, "launch-code")), `name="renamed"`, "the code follows the values")

	res, _ = b.post(t, values)
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
}

// part is a file of a multipart form.
type part struct{ control, filename, content string }

func (b *launchBundle) postFiles(t *testing.T, path string, values url.Values, files ...part) (*http.Response, *html.Node, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, all := range values {
		for _, v := range all {
			require.NoError(t, w.WriteField(name, v))
		}
	}
	for _, f := range files {
		head := map[string][]string{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, f.control, f.filename)}, "Content-Type": {"text/csv"}}
		p, err := w.CreatePart(head)
		require.NoError(t, err)
		_, err = io.WriteString(p, f.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.do(t, http.MethodPost, path, w.FormDataContentType(), &body)
}

// TestFilesSurviveAMessage: without a script a chosen file is stored with the first
// attempt and need not be chosen again.
func TestFilesSurviveAMessage(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	values := controls(t, b.get(t, launchPath))
	values.Set("inputs.epochs", "many")
	values.Set("inputs.data", "digits@1")
	res, doc, text := b.postFiles(t, launchPath, values, part{"inputs.labels", "../../labels.csv", "a,b\n"}, part{"inputs.folder", "set/a.txt", "A"}, part{"inputs.folder", "set/sub/b.txt", "B"}, part{"other", "", ""})
	require.Equal(t, http.StatusUnprocessableEntity, res.StatusCode, text)
	values = controls(t, doc)
	require.Contains(t, values.Get("inputs.labels.$file"), `"name":"labels.csv"`)
	require.Contains(t, values.Get("inputs.folder.$file"), artifact.DirectoryMediaType)
	values.Set("inputs.epochs", "3")
	res, _, text = b.postFiles(t, launchPath, values)
	require.Equal(t, http.StatusSeeOther, res.StatusCode, text)

	res, _, _ = b.postFiles(t, launchPath, values, part{"inputs.labels", "labels.csv", strings.Repeat("x", 101)})
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode, "larger than the type allows")

	res, doc, text = b.postFiles(t, "/uploads?"+url.Values{"type": {"File"}, "name": {"inputs.labels"}}.Encode(), nil, part{"file", "x.csv", "1,2"})
	require.Equal(t, http.StatusCreated, res.StatusCode, text)
	require.Contains(t, formtest.Submit(doc).Get("inputs.labels.$file"), `"size":3`)
}

// TestDefaultsAreStatedUntilAChange: the script removes the statement with the first change, so
// it is an element of its own.
func TestDefaultsAreStatedUntilAChange(t *testing.T) {
	t.Parallel()
	b := setupLaunch(t)
	doc := b.get(t, "/workflows/digits.train/launch?input.epochs=20")
	stated := formtest.Find(doc, func(n *html.Node) bool { return formtest.Attr(n, "class") == "" && hasAttr(n, "data-defaults-note") })
	require.Len(t, stated, 1)
	require.Contains(t, formtest.Text(stated[0]), "All values are defaults.")
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}
