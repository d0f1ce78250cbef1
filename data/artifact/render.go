package artifact

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	gast "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/flowforge/flowforge/data/artifact/preview"
)

// ImageFacts are the properties of an image that are known without rendering it; both
// are 0 for a format whose size is not read.
type ImageFacts struct {
	Width, Height int // pixels, as it is shown
	Orientation   int // of EXIF, 1 to 8; 0: none
}

// isRaster reports whether a browser renders bytes of mediaType without executing code
// in them. SVG may contain scripts and is excluded.
func isRaster(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// mediaKind is the kind of preview of audio, video and PDF.
func mediaKind(mediaType string) PreviewKind {
	switch kind, _, _ := strings.Cut(mediaType, "/"); {
	case InlineType(mediaType) == "":
		return ""
	case kind == "video":
		return PreviewVideo
	case kind == "audio", mediaType == "application/ogg":
		return PreviewAudio
	case mediaType == "application/pdf":
		return PreviewPDF
	}
	return ""
}

// InlineType is the media type under which a browser shows bytes on a page without running code in
// them; "" for all that it must only download.
func InlineType(mediaType string) string {
	switch mediaType {
	case "audio/wave", "audio/x-wav", "audio/vnd.wave":
		return "audio/wav"
	case "application/ogg":
		return "audio/ogg"
	case "video/quicktime":
		return "video/mp4"
	case "audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4", "audio/aac", "audio/webm", "video/mp4", "video/webm", "video/ogg", "application/pdf":
		return mediaType
	}
	if isRaster(mediaType) {
		return mediaType
	}
	return ""
}

// maxPixels is the maximum size of an image on a page: a small file may expand to
// gigabytes in the reader's browser.
const maxPixels = 100_000_000

func previewImage(f preview.File) Preview {
	size := preview.ReadImage(f)
	if int64(size.Width)*int64(size.Height) > maxPixels {
		return Preview{Kind: PreviewBinary}
	}
	if size.Turned() {
		size.Width, size.Height = size.Height, size.Width
	}
	return Preview{Kind: PreviewImage, Image: &ImageFacts{Width: size.Width, Height: size.Height, Orientation: size.Orientation}}
}

// previewMarkdown renders Markdown. It removes everything executable, and the addresses
// of external images, which would reveal the reader to their servers.
func previewMarkdown(source []byte) Preview {
	var out bytes.Buffer
	md := goldmark.New(
		goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.TaskList,
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(checkBoxes{}, 100))),
	)
	if err := md.Convert(source, &out); err != nil {
		return Preview{Kind: PreviewText, Text: string(source)}
	}
	return Preview{Kind: PreviewMarkdown, HTML: sanitized(out.String())}
}

// sanitized removes everything executable from HTML, and the addresses of images.
func sanitized(html string) string {
	policy := bluemonday.UGCPolicy()
	policy.AllowURLSchemes("http", "https", "mailto")
	policy.RewriteSrc(func(u *url.URL) { *u = url.URL{} })
	policy.RequireNoFollowOnLinks(true)
	policy.RequireNoReferrerOnLinks(true)
	return policy.Sanitize(html)
}

// checkBoxes renders the boxes of task lists as characters, because a preview has no controls.
type checkBoxes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (checkBoxes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindTaskCheckBox, func(w util.BufWriter, _ []byte, node gast.Node, entering bool) (gast.WalkStatus, error) {
		box := "☐ "
		if task, ok := node.(*ast.TaskCheckBox); ok && task.IsChecked {
			box = "☑ "
		}
		if entering {
			_, _ = w.WriteString(box)
		}
		return gast.WalkContinue, nil
	})
}
