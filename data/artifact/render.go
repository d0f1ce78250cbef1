package artifact

import (
	"bytes"
	"image"
	"net/url"

	// The raster formats that pages show; their decoders read the size.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// ImageFacts are the properties of an image that are known without rendering it; both
// are 0 for a format whose size is not read.
type ImageFacts struct {
	Width, Height int // pixels
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

// maxPixels is the maximum size of an image on a page: a small file may expand to
// gigabytes in the reader's browser.
const maxPixels = 100_000_000

func previewImage(r *Reader) Preview {
	config, _, err := image.DecodeConfig(r)
	if err != nil {
		return Preview{Kind: PreviewImage, Image: &ImageFacts{}}
	}
	if int64(config.Width)*int64(config.Height) > maxPixels {
		return Preview{Kind: PreviewBinary}
	}
	return Preview{Kind: PreviewImage, Image: &ImageFacts{Width: config.Width, Height: config.Height}}
}

// previewMarkdown renders Markdown. It removes everything executable, and the addresses
// of external images, which would reveal the reader to their servers.
func previewMarkdown(source []byte) Preview {
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM))
	if err := md.Convert(source, &out); err != nil {
		return Preview{Kind: PreviewText, Text: string(source)}
	}
	policy := bluemonday.UGCPolicy()
	policy.AllowURLSchemes("http", "https", "mailto")
	policy.RewriteSrc(func(u *url.URL) { *u = url.URL{} })
	policy.RequireNoFollowOnLinks(true)
	policy.RequireNoReferrerOnLinks(true)
	return Preview{Kind: PreviewMarkdown, HTML: policy.Sanitize(out.String())}
}
