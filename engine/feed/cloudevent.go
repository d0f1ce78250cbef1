package feed

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// CloudEvent is an event of the feed in the JSON format of CloudEvents 1.0, as the API and brokers
// receive it.
type CloudEvent struct {
	SpecVersion     string          `json:"specversion" enum:"1.0"`
	ID              string          `json:"id" doc:"ID, which stays the same when the event is delivered again"`
	Source          string          `json:"source" doc:"Origin: /projects/{id}, or /tenants/{id} or / for events that do not belong to a project"`
	Type            string          `json:"type" doc:"Type of the event, such as execution.succeeded"`
	Subject         string          `json:"subject,omitempty" doc:"Object of the event: a workflow, a node, an artifact, name@version, or an object in the audit log"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype" enum:"application/json"`
	Topic           string          `json:"topic" enum:"workflow,task,quota,artifact,audit"`
	Cursor          string          `json:"cursor" doc:"Cursor of the event; pass it as after to get the events that follow"`
	ExecutionID     *uuid.UUID      `json:"executionid,omitempty"`
	Data            json.RawMessage `json:"data"`
}

// CloudEvent returns the event in the format of CloudEvents.
func (e Event) CloudEvent() CloudEvent {
	source := "/"
	switch {
	case e.ProjectID != nil:
		source = "/projects/" + e.ProjectID.String()
	case e.TenantID != nil:
		source = "/tenants/" + e.TenantID.String()
	}
	return CloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: source, Type: e.Type, Subject: e.Subject, Time: e.At, DataContentType: "application/json",
		Topic: e.Topic, Cursor: e.Cursor, ExecutionID: e.ExecutionID, Data: e.Data,
	}
}
