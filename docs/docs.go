// Package docs contains the documents of the product and the description of the API, which the
// server shows at /docs.
package docs

import "embed"

// Files are the documents in Markdown and openapi.json.
//
//go:embed *.md openapi.json
var Files embed.FS
