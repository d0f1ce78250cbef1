package artifact

import (
	"strings"

	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/markdown"
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

// previewMarkdown renders Markdown without anything executable.
func previewMarkdown(source []byte) Preview {
	html, err := markdown.Render(source)
	if err != nil {
		return Preview{Kind: PreviewText, Text: string(source)}
	}
	return Preview{Kind: PreviewMarkdown, HTML: html}
}
