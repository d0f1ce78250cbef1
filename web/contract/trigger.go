package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// TriggerInput is a trigger to store.
type TriggerInput struct {
	Kind      string       `json:"kind" enum:"execution,artifact,dataset,model,event,webhook,http,s3,all" doc:"What the trigger waits for: the end of an execution of another workflow, a new artifact, a new version of a dataset, a new version or stage of a model, any event of the feed, a signed request, a change of an address, an object in a bucket, or all of several events"`
	Sources   []string     `json:"sources,omitempty" maxItems:"50" doc:"Names, or patterns such as digits.*. For execution: workflows. For artifact: artifacts, or workflow/artifact. For dataset and model: datasets or models. For event: types of events"`
	States    []string     `json:"states,omitempty" maxItems:"3" enum:"SUCCEEDED,FAILED,CANCELLED" doc:"For execution: final states that launch the workflow; defaults to SUCCEEDED"`
	Stages    []string     `json:"stages,omitempty" maxItems:"4" enum:"staging,production,archived,none" doc:"For model: launch when a version enters one of these stages. If absent, the trigger launches when a version is registered"`
	Signature string       `json:"signature,omitempty" enum:"github,gitlab,standard,bearer" doc:"For webhook: how the sender signs. standard is Standard Webhooks"`
	Secret    string       `json:"secret,omitempty" maxLength:"200" doc:"For webhook: name of a secret of the project"`
	HTTP      *TriggerHTTP `json:"http,omitempty" doc:"For http: the address to poll"`
	S3        *TriggerS3   `json:"s3,omitempty" doc:"For s3: the objects to wait for"`

	All    []TriggerCondition `json:"all,omitempty" maxItems:"10" doc:"For all: 2 to 10 events that must happen"`
	Within string             `json:"within,omitempty" maxLength:"100" doc:"For all: the time within which they must happen, such as 24h: 1 min to 31 days; defaults to 24h"`
	By     string             `json:"by,omitempty" maxLength:"4096" doc:"For all: an expression whose value, such as a date, is the key. Events with the same key belong together, and each key launches once. If absent, all events belong together"`

	Filter   string          `json:"filter,omitempty" maxLength:"4096" doc:"An expression. Events for which it is false launch nothing. It reads execution (id, workflow, version, name, state, inputs, outputs, error, seconds, submitted_by); artifact, dataset, model or event, with the data of the event; payload, headers and query; http (url, status, etag, last_modified, content_type, body); object (key, name, bucket, uri, size, etag, modified, change); or the names of the conditions and join (key, started)"`
	Workflow string          `json:"workflow" minLength:"1" maxLength:"200" doc:"Name or ID of the workflow to launch"`
	Version  string          `json:"version,omitempty" maxLength:"100" doc:"Workflow version; defaults to the latest"`
	Inputs   json.RawMessage `json:"inputs,omitempty" doc:"Input values by name. Strings can contain {{ expression }}; a string that is only one expression has the type of its value"`
	Priority *int            `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Priority; defaults to the workflow's priority"`
	Disabled bool            `json:"disabled,omitempty" doc:"True to keep the trigger without receiving events"`
}

// TriggerHTTP is an address that a trigger polls.
type TriggerHTTP struct {
	URL        string `json:"url,omitempty" maxLength:"2000" doc:"Address, unless there is a connection"`
	Connection string `json:"connection,omitempty" maxLength:"100" doc:"Name of a connection of the kind http"`
	Path       string `json:"path,omitempty" maxLength:"2000" doc:"Path below the base URL of the connection"`
	When       string `json:"when,omitempty" enum:"changes,appears" doc:"changes: launch when ETag, Last-Modified or the content changes. appears: launch when the address responds with success after 404. Defaults to changes"`
	Every      string `json:"every,omitempty" maxLength:"100" doc:"Time between two polls, such as 5m: 10 s to 31 days; defaults to 5m"`
	Existing   bool   `json:"existing,omitempty" doc:"True to launch also for the first response"`
}

// TriggerS3 are objects for which a trigger waits.
type TriggerS3 struct {
	Connection string `json:"connection" maxLength:"100" doc:"Name of a connection of the kind s3"`
	Bucket     string `json:"bucket,omitempty" maxLength:"200" doc:"Bucket; defaults to the bucket of the connection"`
	Prefix     string `json:"prefix,omitempty" maxLength:"1000" doc:"Prefix of the keys; defaults to the folder of the connection"`
	Pattern    string `json:"pattern,omitempty" maxLength:"200" doc:"Pattern of the names, such as *.parquet; with a slash, it matches the whole key"`
	Every      string `json:"every,omitempty" maxLength:"100" doc:"Time between two polls, such as 5m: 10 s to 31 days; defaults to 5m"`
	Existing   bool   `json:"existing,omitempty" doc:"True to launch also for objects that exist when the trigger is created"`
}

// TriggerCondition is an event for which a trigger of the kind all waits.
type TriggerCondition struct {
	Name    string   `json:"name" minLength:"1" maxLength:"40" doc:"Name by which inputs read the event: lower-case letters, digits and underscores"`
	Kind    string   `json:"kind" enum:"execution,artifact,dataset,model,event,webhook,http,s3"`
	Sources []string `json:"sources,omitempty" maxItems:"50" doc:"Names, as for triggers of this kind"`
	States  []string `json:"states,omitempty" maxItems:"3" enum:"SUCCEEDED,FAILED,CANCELLED"`
	Stages  []string `json:"stages,omitempty" maxItems:"4" enum:"staging,production,archived,none"`

	Signature string       `json:"signature,omitempty" enum:"github,gitlab,standard,bearer" doc:"For webhook: how the sender signs"`
	Secret    string       `json:"secret,omitempty" maxLength:"200" doc:"For webhook: name of a secret of the project"`
	HTTP      *TriggerHTTP `json:"http,omitempty" doc:"For http: the address to poll"`
	S3        *TriggerS3   `json:"s3,omitempty" doc:"For s3: the objects to wait for"`

	Filter string `json:"filter,omitempty" maxLength:"4096" doc:"Expression; events for which it is false are ignored"`
	By     string `json:"by,omitempty" maxLength:"4096" doc:"Expression for the key of this condition, instead of the trigger's"`
}

// TriggerConditionState is what a condition received last.
type TriggerConditionState struct {
	Name    string           `json:"name"`
	HookURL string           `json:"hook_url,omitempty" doc:"For webhook: address for the sender's requests"`
	Polls   *TriggerPolls    `json:"polls,omitempty" doc:"State of the polls, for http and s3"`
	Joined  *TriggerArrival  `json:"joined,omitempty" doc:"Newest event that became part of a join"`
	Ignored *TriggerDelivery `json:"ignored,omitempty" doc:"Newest event that did not, with the reason; without its data"`
}

// TriggerPolls is the state of a trigger that polls.
type TriggerPolls struct {
	LastAt   *time.Time `json:"last_at,omitempty"`
	NextAt   time.Time  `json:"next_at"`
	Status   string     `json:"status,omitempty" doc:"Result of the last successful poll"`
	Failures int        `json:"failures,omitempty" doc:"Number of consecutive failed polls; after 12, the trigger is turned off"`
	Error    string     `json:"error,omitempty" doc:"Reason why the last poll failed"`
}

// TriggerJoin is a join that waits for more events.
type TriggerJoin struct {
	Key        string           `json:"key,omitempty"`
	ExpiresAt  time.Time        `json:"expires_at" doc:"Time when its oldest event expires"`
	Conditions []TriggerArrival `json:"conditions"`
}

// TriggerArrival is a condition of a join.
type TriggerArrival struct {
	Name     string     `json:"name"`
	Subject  string     `json:"subject,omitempty" doc:"Description of the event; empty if it has not arrived"`
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
	Failures int        `json:"failures,omitempty" doc:"Number of failed launches; after 10, the delivery fails. 0 if the event waits behind another one"`
	Error    string     `json:"error,omitempty"`
	SourceID *uuid.UUID `json:"source_execution_id,omitempty"`
	NextAt   time.Time  `json:"next_at"`
}

// TriggerBody is a trigger.
type TriggerBody struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	TriggerInput
	Owner     string    `json:"owner" doc:"Owner of the launched executions: the user who last saved the trigger"`
	HookURL   string    `json:"hook_url,omitempty" doc:"For webhook: address for the sender's requests"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	Paused string        `json:"paused,omitempty" doc:"Reason why FlowForge turned the trigger off"`
	Polls  *TriggerPolls `json:"polls,omitempty" doc:"State of the polls, for http and s3"`

	Conditions []TriggerConditionState `json:"conditions,omitempty" doc:"States of the conditions, for all; only in the response for a single trigger"`
}

// TriggerList are the triggers of a project.
type TriggerList struct {
	Triggers []TriggerBody `json:"triggers"`
}

// TriggerDelivery is an event that reached a trigger.
type TriggerDelivery struct {
	ID          uuid.UUID       `json:"id" doc:"ID of the delivery; for WAITING, ID of the join"`
	Condition   string          `json:"condition,omitempty" doc:"Condition that received the event, for all"`
	Subject     string          `json:"subject" doc:"Short description of the event"`
	Outcome     string          `json:"outcome" enum:"LAUNCHED,SKIPPED,FAILED,REJECTED,WAITING" doc:"WAITING, only in the response of redeliver: the event is part of a join that waits for others"`
	Reason      string          `json:"reason,omitempty" doc:"Reason code: filter, depth, loop, ping, inputs, access, unavailable, signature, off, key, joined or expired"`
	Message     string          `json:"message,omitempty"`
	Event       json.RawMessage `json:"event,omitempty" doc:"Data that expressions can read; stored for the last 20 deliveries of a trigger"`
	SourceID    *uuid.UUID      `json:"source_execution_id,omitempty"`
	ExecutionID *uuid.UUID      `json:"execution_id,omitempty" doc:"Execution that was launched"`
	At          time.Time       `json:"at"`
}

// TriggerDeliveryList is a page of deliveries, newest first.
type TriggerDeliveryList struct {
	Deliveries []TriggerDelivery `json:"deliveries"`
	Next       *uuid.UUID        `json:"next,omitempty" doc:"Cursor for the next page; pass it as before"`

	Pending      []TriggerPending `json:"pending,omitempty" doc:"First 10 events whose launch failed for a temporary reason and is retried"`
	PendingCount int              `json:"pending_count,omitempty"`
}

// TriggerTest is an event with which a trigger is tested.
type TriggerTest struct {
	Event map[string]any `json:"event" doc:"Expressions can read execution, artifact, dataset, model, event, http or object; payload, headers and query; or the names of the conditions and join"`
}

// TriggerTrial is what a trigger would do.
type TriggerTrial struct {
	Outcome string         `json:"outcome" enum:"LAUNCHED,SKIPPED,FAILED"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Inputs  map[string]any `json:"inputs,omitempty" doc:"Inputs of the launch"`
}
