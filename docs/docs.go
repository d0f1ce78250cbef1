// Package docs contains the documents of the product, which the server shows at /docs.
package docs

import "embed"

// Files are the documents in Markdown.
//
//go:embed *.md
var Files embed.FS
