// Package markdown renders Markdown of people and tasks as HTML that executes nothing and loads
// nothing from other servers.
package markdown

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Render returns source as HTML. It drops HTML in the source. Images become links, because loading them
// would reveal the reader to their servers.
func Render(source []byte) (string, error) {
	var out bytes.Buffer
	if err := converter().Convert(source, &out); err != nil {
		return "", fmt.Errorf("convert Markdown: %w", err)
	}
	return Sanitize(out.String()), nil
}

// Sanitize removes everything executable from HTML, and the addresses of images.
func Sanitize(html string) string {
	policy := bluemonday.UGCPolicy()
	policy.AllowURLSchemes("http", "https", "mailto")
	policy.RewriteSrc(func(u *url.URL) { *u = url.URL{} })
	policy.RequireNoFollowOnLinks(true)
	policy.RequireNoReferrerOnLinks(true)
	return policy.Sanitize(html)
}

// Piece is a part of a document: HTML, or a fenced block that the caller renders.
type Piece struct {
	HTML  string
	Fence *Fence
}

// Fence is a fenced block.
type Fence struct {
	Info string // the text behind the opening fence
	Body string
	Line int // of the opening fence, from 1
}

// Split renders source in pieces around the fenced blocks whose info isBlock selects. Headings
// are below the title of the page, and none skips a level. Blocks inside lists and quotes are in nested, and
// remain code.
func Split(source []byte, isBlock func(info string) bool) (pieces []Piece, nested []Fence, err error) {
	md := converter()
	document := md.Parser().Parse(text.NewReader(source))
	var list []ast.Node
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		list = append(list, n)
	}
	setLevels(document)
	part, tables := ast.NewDocument(), 0
	flush := func() error {
		if !part.HasChildren() {
			return nil
		}
		var out bytes.Buffer
		if err := md.Renderer().Render(&out, source, part); err != nil {
			return fmt.Errorf("render Markdown: %w", err)
		}
		pieces = append(pieces, Piece{HTML: framed(Sanitize(out.String()), &tables)})
		part = ast.NewDocument()
		return nil
	}
	for _, n := range list {
		if fence, ok := fenceOf(n, source); ok && isBlock(fence.Info) {
			if err := flush(); err != nil {
				return nil, nil, err
			}
			pieces = append(pieces, Piece{Fence: &fence})
			continue
		}
		_ = ast.Walk(n, func(below ast.Node, entering bool) (ast.WalkStatus, error) {
			if fence, ok := fenceOf(below, source); ok && entering && isBlock(fence.Info) {
				nested = append(nested, fence)
			}
			return ast.WalkContinue, nil
		})
		part.AppendChild(part, n)
	}
	return pieces, nested, flush()
}

// setLevels sets the levels of headings: the highest becomes the second, because the title of the
// page is the first, and each is at most one level below the heading before it.
func setLevels(document ast.Node) {
	var list []*ast.Heading
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if heading, ok := n.(*ast.Heading); ok && entering {
			list = append(list, heading)
		}
		return ast.WalkContinue, nil
	})
	highest := 6
	for _, heading := range list {
		highest = min(highest, heading.Level)
	}
	before := 1
	for _, heading := range list {
		heading.Level = min(heading.Level-highest+2, before+1, 6)
		before = heading.Level
	}
}

// framed makes wide tables and code scroll, with the keyboard too. Tags in the text are escaped, so
// these are those of the renderer.
func framed(html string, tables *int) string {
	for strings.Contains(html, "<table>") {
		*tables++
		html = strings.Replace(html, "<table>", fmt.Sprintf(`<div class="table-wrap" tabindex="0" role="region" aria-label="Table %d, scrollable"><table class="table">`, *tables), 1)
	}
	return strings.NewReplacer("</table>", "</table></div>", "<pre>", `<pre class="code" tabindex="0">`, "<th>", `<th scope="col">`, "<th ", `<th scope="col" `).Replace(html)
}

func fenceOf(n ast.Node, source []byte) (Fence, bool) {
	block, ok := n.(*ast.FencedCodeBlock)
	if !ok || block.Info == nil {
		return Fence{}, false
	}
	var body strings.Builder
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		body.Write(line.Value(source))
	}
	start := block.Info.Segment.Start
	return Fence{Info: string(bytes.TrimSpace(block.Info.Segment.Value(source))), Body: body.String(), Line: 1 + bytes.Count(source[:start], []byte("\n"))}, true
}

func converter() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.TaskList,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(checkBoxes{}, 100), util.Prioritized(images{}, 100))),
	)
}

// images renders images as links with their descriptions.
type images struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (images) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		image, ok := node.(*ast.Image)
		if !ok {
			return ast.WalkContinue, nil
		}
		address := util.EscapeHTML(util.URLEscape(image.Destination, true))
		linked := false // a link cannot contain another one
		for parent := node.Parent(); parent != nil; parent = parent.Parent() {
			linked = linked || parent.Kind() == ast.KindLink
		}
		switch {
		case linked && entering && !node.HasChildren():
			_, _ = w.WriteString("image")
		case linked:
		case !entering:
			_, _ = w.WriteString("</a>")
		default:
			_, _ = fmt.Fprintf(w, `<a href="%s">`, address)
			if !node.HasChildren() {
				_, _ = w.Write(address)
			}
		}
		return ast.WalkContinue, nil
	})
}

// checkBoxes renders the boxes of task lists as characters, because a reader cannot change them.
type checkBoxes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (checkBoxes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(east.KindTaskCheckBox, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		box := "☐ "
		if task, ok := node.(*east.TaskCheckBox); ok && task.IsChecked {
			box = "☑ "
		}
		if entering {
			_, _ = w.WriteString(box)
		}
		return ast.WalkContinue, nil
	})
}
