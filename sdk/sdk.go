// Package sdk embeds the Python client, so that tasks can import it without installing it.
package sdk

import (
	"embed"
)

// Python contains the folder python/flowforge of the package.
//
//go:embed python/flowforge/*.py python/flowforge/py.typed
var Python embed.FS

// readme is the description of the package.
//
//go:embed python/README.md
var readme string
