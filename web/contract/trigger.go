package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// TriggerInput is a trigger to store.
type TriggerInput struct {
	Kind      string       `json:"kind" enum:"execution,artifact,dataset,model,event,webhook,http,s3,all" doc:"What the trigger waits for: the end of an execution of another workflow, a new artifact, a new version of a dataset, a new version or stage of a model, any event of the feed, a signed request, a change of an address, an object in a bucket, or all of several events"`
	Sources   []string     `json:"sources,omitempty" maxItems:"50" doc:"Names, or patterns such as digits.*. For execution: of workflows. For artifact: of artifacts, or workflow/artifact. For dataset and model: their names. For event: types of events"`
	States    []string     `json:"states,omitempty" maxItems:"3" enum:"SUCCEEDED,FAILED,CANCELLED" doc:"For execution: states in which the execution ended. Default: SUCCEEDED"`
	Stages    []string     `json:"stages,omitempty" maxItems:"4" enum:"staging,production,archived,none" doc:"For model: launch when a version enters one of these stages. Default: when a version is registered"`
	Signature string       `json:"signature,omitempty" enum:"github,gitlab,standard,bearer" doc:"For webhook: how the sender signs. standard is Standard Webhooks"`
	Secret    string       `json:"secret,omitempty" maxLength:"200" doc:"For webhook: name of a secret of the project"`
	HTTP      *TriggerHTTP `json:"http,omitempty" doc:"For http: the address to poll"`
	S3        *TriggerS3   `json:"s3,omitempty" doc:"For s3: the objects to wait for"`

	All    []TriggerCondition `json:"all,omitempty" maxItems:"10" doc:"For all: 2 to 10 events that must happen"`
	Within string             `json:"within,omitempty" maxLength:"100" doc:"For all: the time within which they must happen, such as 24h: 1 min to 31 days. Default: 24 h"`
	By     string             `json:"by,omitempty" maxLength:"4096" doc:"For all: an expression whose value, such as a date, is the key. Events with the same key belong together, and each key launches once. Default: all events belong together"`

	Filter   string          `json:"filter,omitempty" maxLength:"4096" doc:"An expression. Events for which it is false launch nothing. It reads execution (id, workflow, version, name, state, inputs, outputs, error, seconds, submitted_by); artifact, dataset, model or event, with the data of the event; payload, headers and query; http (url, status, etag, last_modified, content_type, body); object (key, name, bucket, uri, size, etag, modified, change); or the names of the conditions and join (key, started)"`
	Workflow string          `json:"workflow" minLength:"1" maxLength:"200" doc:"Name or ID of the workflow to launch"`
	Version  string          `json:"version,omitempty" maxLength:"100" doc:"Default: the latest"`
	Inputs   json.RawMessage `json:"inputs,omitempty" doc:"Input values by name. Strings can contain {{ expression }}; a string that is only one expression has the type of its value"`
	Priority *int            `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Default: that of the workflow"`
	Disabled bool            `json:"disabled,omitempty" doc:"Keep the trigger without receiving events"`
}

// TriggerHTTP is an address that a trigger polls.
type TriggerHTTP struct {
	URL        string `json:"url,omitempty" maxLength:"2000" doc:"Address, unless there is a connection"`
	Connection string `json:"connection,omitempty" maxLength:"100" doc:"Name of a connection of the kind http"`
	Path       string `json:"path,omitempty" maxLength:"2000" doc:"Path below the base URL of the connection"`
	When       string `json:"when,omitempty" enum:"changes,appears" doc:"changes: launch when ETag, Last-Modified or the content changes. appears: launch when the address responds with success after 404. Default: changes"`
	Every      string `json:"every,omitempty" maxLength:"100" doc:"Time between two polls, such as 5m: 10 s to 31 days. Default: 5 min"`
	Existing   bool   `json:"existing,omitempty" doc:"Launch also for what exists already when the trigger is created"`
}

// TriggerS3 are objects for which a trigger waits.
type TriggerS3 struct {
	Connection string `json:"connection" maxLength:"100" doc:"Name of a connection of the kind s3"`
	Bucket     string `json:"bucket,omitempty" maxLength:"200" doc:"Default: that of the connection"`
	Prefix     string `json:"prefix,omitempty" maxLength:"1000" doc:"Prefix of the keys. Default: the folder of the connection"`
	Pattern    string `json:"pattern,omitempty" maxLength:"200" doc:"Pattern of the names, such as *.parquet. With a slash, of the whole key"`
	Every      string `json:"every,omitempty" maxLength:"100" doc:"Time between two polls, such as 5m: 10 s to 31 days. Default: 5 min"`
	Existing   bool   `json:"existing,omitempty" doc:"Launch also for the objects that exist already when the trigger is created"`
}

// TriggerCondition is an event for which a trigger of the kind all waits.
type TriggerCondition struct {
	Name    string   `json:"name" minLength:"1" maxLength:"40" doc:"Name by which inputs read the event: lower-case letters, digits and underscores"`
	Kind    string   `json:"kind" enum:"execution,artifact,dataset,model,event"`
	Sources []string `json:"sources" maxItems:"50" doc:"As for triggers of the kind"`
	States  []string `json:"states,omitempty" maxItems:"3" enum:"SUCCEEDED,FAILED,CANCELLED"`
	Stages  []string `json:"stages,omitempty" maxItems:"4" enum:"staging,production,archived,none"`
	Filter  string   `json:"filter,omitempty" maxLength:"4096" doc:"Events for which it is false do not count"`
	By      string   `json:"by,omitempty" maxLength:"4096" doc:"The key of this condition, instead of that of the trigger"`
}

// TriggerPolls is the state of a trigger that polls.
type TriggerPolls struct {
	LastAt   *time.Time `json:"last_at,omitempty"`
	NextAt   time.Time  `json:"next_at"`
	Status   string     `json:"status,omitempty" doc:"What the last successful poll found"`
	Failures int        `json:"failures,omitempty" doc:"Failed polls in a row. After 12, the trigger is turned off"`
	Error    string     `json:"error,omitempty" doc:"Why the last poll failed"`
}

// TriggerJoin is a join that waits for more events.
type TriggerJoin struct {
	Key        string           `json:"key,omitempty"`
	ExpiresAt  time.Time        `json:"expires_at" doc:"When its oldest event leaves the window"`
	Conditions []TriggerArrival `json:"conditions"`
}

// TriggerArrival is a condition of a join.
type TriggerArrival struct {
	Name     string     `json:"name"`
	Subject  string     `json:"subject,omitempty" doc:"What happened. Empty: the event is missing"`
	SourceID *uuid.UUID `json:"source_execution_id,omitempty"`
	At       *time.Time `json:"at,omitempty"`
}

// TriggerJoinList are joins that wait for more events, the one that expires first first.
type TriggerJoinList struct {
	Joins []TriggerJoin `json:"joins" doc:"At most 100"`
	Count int           `json:"count"`
}

// TriggerPending is an event whose launch is repeated.
type TriggerPending struct {
	Subject  string     `json:"subject"`
	Failures int        `json:"failures,omitempty" doc:"Launches that failed. After 10, the delivery fails. 0: the event waits behind another one"`
	Error    string     `json:"error,omitempty"`
	SourceID *uuid.UUID `json:"source_execution_id,omitempty"`
	NextAt   time.Time  `json:"next_at"`
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

	Paused string        `json:"paused,omitempty" doc:"Why FlowForge turned the trigger off"`
	Polls  *TriggerPolls `json:"polls,omitempty" doc:"For http and s3"`
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
	Reason      string          `json:"reason,omitempty" doc:"filter, depth, loop, ping, inputs, access, unavailable, signature, off, key, joined or expired"`
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

	Pending      []TriggerPending `json:"pending,omitempty" doc:"The first 10 events whose launch failed for a temporary reason and is repeated"`
	PendingCount int              `json:"pending_count,omitempty"`
}

// TriggerTest is an event with which a trigger is tested.
type TriggerTest struct {
	Event map[string]any `json:"event" doc:"What expressions read: execution, artifact, dataset, model, event, http or object; payload, headers and query; or the names of the conditions and join"`
}

// TriggerTrial is what a trigger would do.
type TriggerTrial struct {
	Outcome string         `json:"outcome" enum:"LAUNCHED,SKIPPED,FAILED"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Inputs  map[string]any `json:"inputs,omitempty" doc:"Inputs with which it would launch"`
}
