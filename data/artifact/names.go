package artifact

import (
	"mime"
	"path"
	"strings"
	"unicode"
)

const maxFilename = 120 // characters

// SafeFilename returns a name under which a browser may save an artifact: the last
// element of the task's file name, without control characters, path separators or
// quotes, and with a matching extension.
func SafeFilename(filename, name, kind, mediaType string) string {
	base := path.Base(strings.ReplaceAll(filename, `\`, "/"))
	if base == "." || base == "/" || base == ".." || filename == "" {
		base = name
	}
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || strings.ContainsRune(`/\"<>|:*?`, r) {
			return '_'
		}
		return r
	}, base)
	clean = strings.TrimLeft(clean, ".")
	if runes := []rune(clean); len(runes) > maxFilename {
		clean = string(runes[:maxFilename])
	}
	if clean == "" {
		clean = "artifact"
	}
	if path.Ext(clean) == "" {
		clean += endingOf(kind, mediaType)
	}
	return clean
}

func endingOf(kind, mediaType string) string {
	switch {
	case mediaType == DirectoryMediaType:
		return ""
	case kind == "Report" || mediaType == "text/html":
		return ".html"
	case mediaType == "text/csv":
		return ".csv"
	case mediaType == "application/json":
		return ".json"
	case mediaType == "image/png":
		return ".png"
	case mediaType == "text/markdown":
		return ".md"
	case mediaType == "text/plain":
		return ".txt"
	}
	return ""
}

// MediaTypeOf returns the media type of an output from the type that its runner
// detected, its file name and its kind, in this order; unknown bytes are
// application/octet-stream.
func MediaTypeOf(kind, filename, found string) string {
	if base, _, err := mime.ParseMediaType(found); err == nil && base != "application/octet-stream" && base != "text/plain" {
		return base
	}
	if byName := byExtension(strings.ToLower(path.Ext(filename))); byName != "" {
		return byName
	}
	switch kind {
	case "Report":
		return "text/html"
	case "Table":
		return "text/csv"
	case "Text":
		return "text/plain"
	}
	if base, _, err := mime.ParseMediaType(found); err == nil {
		return base
	}
	return "application/octet-stream"
}

// byExtension maps the extensions with previews; the system's list of types differs
// between machines.
func byExtension(ext string) string {
	switch ext {
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".json":
		return "application/json"
	case ".txt", ".log":
		return "text/plain"
	case ".md", ".markdown":
		return "text/markdown"
	case ".html", ".htm":
		return "text/html"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".ipynb":
		return "application/x-ipynb+json"
	case ".jsonl", ".ndjson":
		return "application/jsonl"
	case ".pdf":
		return "application/pdf"
	}
	return mediaByExtension(ext)
}

// mediaByExtension maps the extensions of audio and video that browsers play.
func mediaByExtension(ext string) string {
	switch ext {
	case ".mp3":
		return "audio/mpeg"
	case ".wav":
		return "audio/wav"
	case ".flac":
		return "audio/flac"
	case ".ogg", ".oga", ".opus":
		return "audio/ogg"
	case ".m4a":
		return "audio/mp4"
	case ".mp4", ".m4v":
		return "video/mp4"
	case ".webm":
		return "video/webm"
	case ".ogv":
		return "video/ogg"
	case ".mov":
		return "video/quicktime"
	}
	return ""
}
