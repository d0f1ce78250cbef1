package home

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/docs"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// sections are the documents in the order in which the page lists them, by their file names.
func sections() []views.DocSection {
	doc := func(name, summary string) views.DocLink {
		return views.DocLink{Name: name, Summary: summary, URL: views.DocURL(name)}
	}
	return []views.DocSection{
		{Title: "Workflows", Docs: []views.DocLink{
			doc("python", "Write, run and deploy workflows as Python functions."),
			doc("python-reference", "Reference of the Python package."),
			doc("control-flow", "Conditions, fan-outs, graphs, approvals and their limits."),
			doc("launch-forms", "Fields, rules between inputs, and presets."),
			doc("retries", "Retry policies, circuit breakers, budgets and dead letters."),
			doc("resume", "Resume an execution and reuse earlier results."),
			doc("data-channels", "How files are passed between nodes."),
			doc("jobs", "Operators that call other systems: SQL statements, HTTP requests, gRPC calls and sensors that wait."),
			doc("connections", "How tasks reach databases, buckets and APIs."),
			doc("secrets", "Passwords and keys for tasks: stored encrypted, or read from Vault, AWS, Google Cloud, files or variables."),
			doc("states", "The states of executions, nodes and attempts."),
			doc("argo", "Run the manifests of Argo Workflows."),
			doc("metaflow", "Run Metaflow flows, and record the runs of the Metaflow client."),
		}},
		{Title: "Experiments and data", Docs: []views.DocLink{
			doc("sweeps", "Launch a workflow many times with different inputs, and stop runs early."),
			doc("search", "The query language of executions: names, operators, logs and limits."),
			doc("reports", "Markdown pages with live tables, charts and artifacts."),
			doc("datasets", "Statistics, drift and aliases of datasets and feature sets."),
			doc("models", "Versions, stages, approval and aliases of models."),
			doc("lineage", "Where data and models come from and what they are used for."),
			doc("artifacts", "Previews of tables: filters, sorting, statistics and limits."),
			doc("renderers", "Custom pages that show and edit the values of your types."),
		}},
		{Title: "Automation", Docs: []views.DocLink{
			doc("schedules", "Launch workflows on a schedule: cron, intervals, time zones and missed runs."),
			doc("triggers", "Launch a workflow when another one ends, when data or a model appears, or when a webhook arrives."),
			doc("notifications", "Your inbox, and messages about failures, approvals, schedules and models to Slack, Teams, e-mail, PagerDuty or a webhook."),
			doc("events", "The event feed: its types of events, and how to receive them."),
		}},
		{Title: "Operation", Docs: []views.DocLink{
			doc("administration", "Installation, sign-in, roles, limits and backup."),
			doc("settings", "All environment variables of the server."),
			doc("scheduling", "Quotas, borrowing, fair shares and priorities."),
			doc("scale", "Capacity planning: bottlenecks, storage and the metrics to monitor."),
			doc("kubernetes", "Run attempts as pods on a cluster."),
			doc("pods", "Images, volumes, GPUs and other settings of pods."),
			doc("workers", "Run tasks on machines outside the installation."),
			doc("retention", "How long executions and files are kept."),
			doc("metrics", "Metrics of the server and of workflows for Prometheus."),
			doc("security", "Security requirements and the tests that enforce them."),
		}},
		{Title: "Development", Docs: []views.DocLink{
			doc("api-compatibility", "Where the API accepts alternative names."),
			doc("design", "The architecture and its rules."),
			doc("folders", "The folders of the repository."),
			doc("fresh", "Test the first commands on a minimal Debian system."),
		}},
	}
}

// library is every document with its title and its HTML. Documents never change while the
// server runs, so they are rendered once.
type library struct {
	once     sync.Once
	sections []views.DocSection
	pages    map[string]string // HTML by name
	err      error
}

func (l *library) open() error {
	l.once.Do(func() { l.err = l.load() })
	return l.err
}

func (l *library) load() error {
	l.sections, l.pages = sections(), map[string]string{}
	for _, section := range l.sections {
		for i, d := range section.Docs {
			source, err := docs.Files.ReadFile(d.Name + ".md")
			if err != nil {
				return fmt.Errorf("read the document %s: %w", d.Name, err)
			}
			title, rest, _ := strings.Cut(strings.TrimPrefix(string(source), "# "), "\n")
			if l.pages[d.Name], err = renderDoc(rest); err != nil {
				return fmt.Errorf("render the document %s: %w", d.Name, err)
			}
			section.Docs[i].Title = strings.TrimSpace(title)
		}
	}
	return nil
}

var docCode = regexp.MustCompile(`<code>docs/([a-z-]+)\.md</code>`)

// renderDoc renders a document of ours. Names of documents lead to their pages, and wide tables and code scroll with the keyboard too.
func renderDoc(markdown string) (string, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	var out bytes.Buffer
	if err := md.Convert([]byte(markdown), &out); err != nil {
		return "", fmt.Errorf("convert Markdown: %w", err)
	}
	html := docCode.ReplaceAllString(out.String(), `<a href="/docs/$1"><code>docs/$1.md</code></a>`)
	for n := 1; strings.Contains(html, "<table>"); n++ {
		html = strings.Replace(html, "<table>", fmt.Sprintf(`<div class="table-wrap" tabindex="0" role="region" aria-label="Table %d, scrollable"><table class="table">`, n), 1)
	}
	return strings.NewReplacer(
		"</table>", "</table></div>",
		"<pre>", `<pre class="code" tabindex="0">`, "<th>", `<th scope="col">`, ` style="text-align:right"`, ` class="num"`, ` style="text-align:left"`, "", ` style="text-align:center"`, "",
	).Replace(html), nil
}

// docsPage lists the documents and the parts of the API.
func (h *Pages) docsPage(w http.ResponseWriter, r *http.Request) error {
	m, err := h.docsBase(r, "Documentation")
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.DocsPage(m))
}

// docPage shows one document.
func (h *Pages) docPage(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "doc")
	m, err := h.docsBase(r, name, views.Crumb{Name: "Documentation", URL: views.DocsURL()})
	if err != nil {
		return err
	}
	html, ok := h.library.pages[name]
	if !ok {
		return apperr.New(apperr.NotFound, "There is no document %q.", name)
	}
	for _, section := range m.Sections {
		for _, d := range section.Docs {
			if d.Name == name {
				m.Doc, m.Title = d, d.Title
				m.Crumbs[len(m.Crumbs)-1].Name = d.Title
			}
		}
	}
	m.HTML, m.Current = html, name
	return web.Render(w, r, http.StatusOK, views.DocPage(m))
}

func (h *Pages) docsBase(r *http.Request, title string, crumbs ...views.Crumb) (views.Docs, error) {
	if err := h.library.open(); err != nil {
		return views.Docs{}, err
	}
	parts, err := h.reference.parts()
	if err != nil {
		return views.Docs{}, err
	}
	return views.Docs{Page: h.Page.Base(r, title, views.SectionDocs, crumbs...), Sections: h.library.sections, Parts: parts}, nil
}
