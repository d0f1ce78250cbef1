package message

import (
	"html"
	"net/url"
	"strings"
)

// letterOf returns the HTML part of an e-mail. Its styles are inline, because mail programs ignore
// style sheets. It is no template of html/template, because these call methods by name, so the
// linker would keep all exported methods of the program (docs/decisions/052-binary-size.md).
func letterOf(m Message) string {
	color := map[Level]string{Error: "#b91c1c", Warning: "#b45309", OK: "#15803d", Info: "#1d4ed8"}[m.Level]
	var out markup
	out.raw(`<!doctype html>
<html lang="en"><body style="margin:0;padding:24px;background:#f6f7f9;font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:#111827">
<table role="presentation" width="100%" style="max-width:600px;margin:0 auto;background:#fff;border:1px solid #e5e7eb;border-left:4px solid `, color,
		`;border-radius:8px"><tr><td style="padding:20px 24px">
`)
	if m.Custom != nil && m.Custom.HTML != "" {
		out.raw(m.Custom.HTML) // it is sanitized
	} else {
		out.content(m)
	}
	if m.Settings != "" {
		out.raw(`
<p style="margin:20px 0 0;font-size:13px;color:#6b7280">`)
		out.link(m.Settings, "color:#6b7280", "Choose which e-mails you receive")
		out.raw(`</p>`)
	}
	out.raw(`
</td></tr></table></body></html>
`)
	return out.b.String()
}

// markup is HTML that is being written.
type markup struct{ b strings.Builder }

func (l *markup) raw(parts ...string) {
	for _, part := range parts {
		l.b.WriteString(part)
	}
}

// text writes an element with its content escaped.
func (l *markup) text(element, style, content string) {
	l.raw("<", element, ` style="`, style, `">`, html.EscapeString(content), "</", element, ">")
}

// link writes a link. Addresses that a browser would run as a script become "#".
func (l *markup) link(to, style, content string) {
	if u, err := url.Parse(to); err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		to = "#"
	}
	l.raw(`<a href="`, html.EscapeString(to), `" style="`, style, `">`, html.EscapeString(content), "</a>")
}

func (l *markup) content(m Message) {
	l.text("h1", "margin:0 0 12px;font-size:18px;line-height:1.35", m.Title)
	if m.Text != "" {
		l.raw("\n")
		l.text("pre", "margin:0 0 16px;padding:12px;background:#f6f7f9;border-radius:6px;white-space:pre-wrap;word-break:break-word;font:13px/1.5 ui-monospace,Menlo,Consolas,monospace", m.Text)
	}
	if len(m.Facts) > 0 {
		l.raw("\n", `<table role="presentation" style="margin:0 0 16px;border-collapse:collapse">`)
		for _, f := range m.Facts {
			l.raw("<tr>")
			l.text("td", "padding:2px 16px 2px 0;color:#6b7280", f.Name)
			l.text("td", "padding:2px 0;word-break:break-word", f.Value)
			l.raw("</tr>")
		}
		l.raw("</table>")
	}
	for _, e := range m.Entries {
		l.raw("\n", `<p style="margin:0 0 12px"><span aria-hidden="true">`, mark(e.Level), "</span> ")
		l.link(e.URL, "color:#111827;font-weight:600", e.Title)
		l.raw("<br>")
		l.text("span", "color:#6b7280;font-size:13px", e.At.UTC().Format("2 Jan 2006, 15:04 UTC"))
		l.raw("</p>")
	}
	if m.URL != "" {
		l.raw("\n")
		l.link(m.URL, "display:inline-block;padding:8px 14px;background:#111827;color:#fff;border-radius:6px;text-decoration:none", "Open in FlowForge")
	}
}
