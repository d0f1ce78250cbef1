// Package content writes responses that pages and the API share: logs, the bytes of
// artifacts, and exports.
package content

import (
	"log/slog"
	"time"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/web"
)

// MaxUpload is the maximum size of one upload in bytes.
const MaxUpload = 10 << 30

// Content contains the dependencies of the writers.
type Content struct {
	Log        *slog.Logger
	Now        func() time.Time
	Site       *web.Site
	Executions *execution.Service
	Artifacts  *artifact.Service
	Telemetry  *telemetry.Service
	Audit      *audit.Log
}

// FileRef is the value of an input that refers to a stored file.
type FileRef struct {
	SHA256    string `json:"$file" pattern:"^[0-9a-f]{64}$"`
	Name      string `json:"name,omitempty"`
	Size      int64  `json:"size,omitempty"`
	MediaType string `json:"media_type,omitempty"`
}
