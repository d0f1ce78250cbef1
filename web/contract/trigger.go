package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// TriggerInput is a trigger to store.
type TriggerInput struct {
	Kind      string          `json:"kind" enum:"execution,artifact,dataset,model,event,webhook" doc:"What the trigger waits for: the end of an execution of another workflow, a new artifact, a new version of a dataset, a new version or stage of a model, any event of the feed, or a signed request"`
	Sources   []string        `json:"sources,omitempty" maxItems:"50" doc:"Names, or patterns such as digits.*. For execution: of workflows. For artifact: of artifacts, or workflow/artifact. For dataset and model: their names. For event: types of events"`
	States    []string        `json:"states,omitempty" maxItems:"3" enum:"SUCCEEDED,FAILED,CANCELLED" doc:"For execution: states in which the execution ended. Default: SUCCEEDED"`
	Stages    []string        `json:"stages,omitempty" maxItems:"4" enum:"staging,production,archived,none" doc:"For model: launch when a version enters one of these stages. Default: when a version is registered"`
	Signature string          `json:"signature,omitempty" enum:"github,gitlab,standard,bearer" doc:"For webhook: how the sender signs. standard is Standard Webhooks"`
	Secret    string          `json:"secret,omitempty" maxLength:"200" doc:"For webhook: name of a secret of the project"`
	Filter    string          `json:"filter,omitempty" maxLength:"4096" doc:"An expression. Events for which it is false launch nothing. It reads execution (id, workflow, version, name, state, inputs, outputs, error, seconds, submitted_by); artifact, dataset, model or event, with the data of the event; or payload, headers and query"`
	Workflow  string          `json:"workflow" minLength:"1" maxLength:"200" doc:"Name or ID of the workflow to launch"`
	Version   string          `json:"version,omitempty" maxLength:"100" doc:"Default: the latest"`
	Inputs    json.RawMessage `json:"inputs,omitempty" doc:"Input values by name. Strings can contain {{ expression }}; a string that is only one expression has the type of its value"`
	Priority  *int            `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Default: that of the workflow"`
	Disabled  bool            `json:"disabled,omitempty" doc:"Keep the trigger without receiving events"`
}

// TriggerBody is a trigger.
type TriggerBody struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	TriggerInput
	Owner     string    `json:"owner" doc:"Who launches: the user who changed the trigger last"`
	HookURL   string    `json:"hook_url,omitempty" doc:"For webhook: where the sender sends its requests"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// TriggerList are the triggers of a project.
type TriggerList struct {
	Triggers []TriggerBody `json:"triggers"`
}

// TriggerDelivery is an event that reached a trigger.
type TriggerDelivery struct {
	ID          uuid.UUID       `json:"id"`
	Subject     string          `json:"subject" doc:"What happened, in a few words"`
	Outcome     string          `json:"outcome" enum:"LAUNCHED,SKIPPED,FAILED,REJECTED"`
	Reason      string          `json:"reason,omitempty" doc:"filter, depth, loop, ping, inputs, access, unavailable or signature"`
	Message     string          `json:"message,omitempty"`
	Event       json.RawMessage `json:"event,omitempty" doc:"What expressions read. The last 20 deliveries of a trigger have it"`
	SourceID    *uuid.UUID      `json:"source_execution_id,omitempty"`
	ExecutionID *uuid.UUID      `json:"execution_id,omitempty" doc:"The launched execution"`
	At          time.Time       `json:"at"`
}

// TriggerDeliveryList is a page of deliveries, newest first.
type TriggerDeliveryList struct {
	Deliveries []TriggerDelivery `json:"deliveries"`
	Next       *uuid.UUID        `json:"next,omitempty" doc:"before of the next page"`
}

// TriggerTest is an event with which a trigger is tested.
type TriggerTest struct {
	Event map[string]any `json:"event" doc:"What expressions read: execution, artifact, dataset, model or event; or payload, headers and query"`
}

// TriggerTrial is what a trigger would do.
type TriggerTrial struct {
	Outcome string         `json:"outcome" enum:"LAUNCHED,SKIPPED,FAILED"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Inputs  map[string]any `json:"inputs,omitempty" doc:"Inputs with which it would launch"`
}
