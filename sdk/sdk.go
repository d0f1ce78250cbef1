// Package sdk embeds the Python client, so that tasks can import it without installing it.
package sdk

import (
	"embed"
)

// Python contains the folder python/flowforge of the package.
//
//go:embed python/flowforge/*.py python/flowforge/py.typed
var Python embed.FS

// Metaflow contains the extension of Metaflow.
//
//go:embed metaflow/metaflow_extensions/flowforge/plugins/*.py metaflow/metaflow_extensions/flowforge/plugins/flowforge/*.py
var Metaflow embed.FS

// readme is the description of the package, metaflowReadme that of the extension.
//
//go:embed python/README.md
var readme string

//go:embed metaflow/README.md
var metaflowReadme string
