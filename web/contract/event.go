package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// CloudEvent is an event of the feed in the JSON format of CloudEvents 1.0.
type CloudEvent struct {
	SpecVersion     string          `json:"specversion" enum:"1.0"`
	ID              string          `json:"id" doc:"The same when the event is delivered again"`
	Source          string          `json:"source" doc:"The project: /projects/{id}. Above the projects: /tenants/{id} or /"`
	Type            string          `json:"type" doc:"What happened, such as execution.succeeded"`
	Subject         string          `json:"subject,omitempty" doc:"What it happened to: a workflow, a node, an artifact, name@version, or an object of the audit log"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype" enum:"application/json"`
	Topic           string          `json:"topic" enum:"workflow,task,quota,artifact,audit"`
	Cursor          string          `json:"cursor" doc:"after of the events that follow"`
	ExecutionID     *uuid.UUID      `json:"executionid,omitempty"`
	Data            json.RawMessage `json:"data"`
}

// CloudEventList is a page of the feed, oldest first.
type CloudEventList struct {
	Events []CloudEvent `json:"events"`
	Next   string       `json:"next" doc:"after of the next request, also after an empty page"`
	More   bool         `json:"more" doc:"The next page can be read at once"`
}
