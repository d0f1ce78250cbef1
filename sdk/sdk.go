// Package sdk embeds the Python client, so that a task finds it without installing anything.
package sdk

import "embed"

// Python holds python/flowforge, the package's folder.
//
//go:embed python/flowforge/*.py python/flowforge/py.typed
var Python embed.FS
