// Package trigger launches workflows when an event happens: an execution of another workflow
// ends, an artifact, a dataset or a model appears, any other event of the feed is recorded, a
// signed webhook arrives, an address changes, an object appears in a bucket, or several events of
// these kinds have happened. Each event launches at most one execution of each trigger, even if it is
// reported again. Executions are launched by the owner of the trigger, with their current
// permissions.
package trigger

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Executions launches executions.
type Executions interface {
	Launch(ctx context.Context, r execution.LaunchRequest) (e query.Execution, created bool, err error)
	References(ctx context.Context) func(typeregistry.Kind, string) bool
}

// Secrets are the secrets with which senders of webhooks sign.
type Secrets interface {
	Exists(ctx context.Context, name string) (bool, error)
	Reveal(ctx context.Context, project uuid.UUID, name string) (string, error)
}

// Connections are the connections with which triggers poll.
type Connections interface {
	Exists(ctx context.Context, kind, name string) (bool, error)
	Document(ctx context.Context, project uuid.UUID, name string) (connection.Document, error)
	Reveal(ctx context.Context, project uuid.UUID, name, field string) (string, error)
}

// Config configures a Service. The fields up to Acting are required.
type Config struct {
	Pool       *pgxpool.Pool
	Workflows  *workflow.Service
	Executions Executions
	Secrets    Secrets
	// Connections and Dialer are for triggers that poll.
	Connections Connections
	Dialer      outgoing.Dialer
	// Acting returns a user with their current permissions, in a project.
	Acting func(id uuid.UUID, name string, project uuid.UUID) (auth.Subject, error)

	// Watch reports new events and due triggers. Nil: Run polls every two seconds.
	Watch *db.Watch
	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash func(point string)

	Logger *slog.Logger
	Now    func() time.Time
}

// Service keeps triggers and receives events. It is safe for concurrent use.
type Service struct {
	config  Config
	queries *db.Queries
	wake    chan struct{} // of the loop that reads the feed
	retry   chan struct{} // of the loop that repeats launches
	due     chan struct{} // of the loop that polls
}

// New returns a Service.
func New(c Config) *Service {
	if c.Crash == nil {
		c.Crash = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, queries: db.New(c.Pool), wake: make(chan struct{}, 1), retry: make(chan struct{}, 1), due: make(chan struct{}, 1)}
}

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Kind is the kind of event that a trigger waits for.
type Kind string

// The kinds.
const (
	OnExecution Kind = "execution" // an execution of another workflow ends
	OnArtifact  Kind = "artifact"  // a task produces an artifact
	OnDataset   Kind = "dataset"   // a version of a dataset is registered
	OnModel     Kind = "model"     // a version of a model is registered, or enters a stage
	OnEvent     Kind = "event"     // any event of the feed
	OnWebhook   Kind = "webhook"   // a signed request arrives
	OnHTTP      Kind = "http"      // what an address responds changes, or begins to exist
	OnS3        Kind = "s3"        // an object appears or changes in a bucket
	OnAll       Kind = "all"       // all of several conditions have an event
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{OnExecution, OnArtifact, OnDataset, OnModel, OnEvent, OnWebhook, OnHTTP, OnS3, OnAll}
}

// Polls reports whether triggers of the kind poll.
func (k Kind) Polls() bool { return k == OnHTTP || k == OnS3 }

// ModelStages returns the stages for which a trigger can wait.
func ModelStages() []string { return []string{"staging", "production", "archived", "none"} }

// Signature is how the sender of a webhook proves that it knows the secret.
type Signature string

// The signatures.
const (
	GitHub   Signature = "github"   // X-Hub-Signature-256
	GitLab   Signature = "gitlab"   // X-Gitlab-Token
	Standard Signature = "standard" // Standard Webhooks: Webhook-Signature, with a time
	Bearer   Signature = "bearer"   // Authorization: Bearer
)

// Signatures returns all signatures.
func Signatures() []Signature { return []Signature{GitHub, GitLab, Standard, Bearer} }

// Spec contains the fields of a trigger that users set.
type Spec struct {
	Name      string
	Kind      Kind
	Sources   []string  // of the kinds on events: names or patterns with *: of workflows, artifacts (workflow/artifact), datasets, models or types of events
	States    []string  // of OnExecution: FAILED, SUCCEEDED or CANCELLED; none: SUCCEEDED
	Stages    []string  // of OnModel: stages that a version enters; none: a version is registered
	Signature Signature // of OnWebhook
	Secret    string    // of OnWebhook: name of a secret of the project
	HTTP      *HTTPPoll // of OnHTTP
	S3        *S3Poll   // of OnS3
	Join      *Join     // of OnAll
	Filter    string    // an expression of what Env describes; "": every event launches
	Workflow  string    // name or ID of the workflow to launch
	Version   string    // "": the latest
	Inputs    map[string]any
	Priority  *int // nil: that of the workflow
	Enabled   bool
}

// settings are the parts of a spec that only some kinds have, as they are stored.
type settings struct {
	HTTP *HTTPPoll `json:"http,omitempty"`
	S3   *S3Poll   `json:"s3,omitempty"`
	*Join
}

// Trigger is a stored trigger.
type Trigger struct {
	Spec
	ID         uuid.UUID
	WorkflowID uuid.UUID
	Owner      string
	OwnerID    uuid.UUID
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Paused     string // why the server turned it off; "" if it did not
}

// Outcome is the outcome of a delivery.
type Outcome string

// The outcomes.
const (
	Launched Outcome = "LAUNCHED"
	Skipped  Outcome = "SKIPPED"  // such as by the filter or the depth limit
	Failed   Outcome = "FAILED"   // the launch was refused, or an expression could not be evaluated
	Rejected Outcome = "REJECTED" // the signature was wrong
	// Waiting means that a join has the event and waits for others. No delivery is stored.
	Waiting Outcome = "WAITING"
)

// Reasons of deliveries that launched nothing.
const (
	ReasonFilter    = "filter"
	ReasonDepth     = "depth"
	ReasonPing      = "ping"
	ReasonInputs    = "inputs"
	ReasonAccess    = "access"
	ReasonSignature = "signature"
	ReasonLoop      = "loop" // the trigger launched the execution that the event is about
	// ReasonUnavailable means that a temporary failure of the launch did not end.
	ReasonUnavailable = "unavailable"
	ReasonOff         = "off"     // the trigger was turned off before a repeated launch succeeded
	ReasonKey         = "key"     // the key of a join could not be evaluated
	ReasonJoined      = "joined"  // the join of this key has launched before
	ReasonExpired     = "expired" // not all conditions of a join had an event in its window
)

// Delivery is an event that reached a trigger.
type Delivery struct {
	ID          uuid.UUID // of Waiting: that of the join
	Condition   string    // of a join that received the event
	Subject     string    // what happened, in a few words
	Outcome     Outcome
	Reason      string
	Message     string
	Payload     []byte     // JSON; nil for older deliveries and rejected ones
	SourceID    *uuid.UUID // the execution that ended
	ExecutionID *uuid.UUID // the launched execution
	Repeated    bool       // the event was received before; the rest is about its first delivery
	At          time.Time
}

// Limits.
const (
	MaxTriggers = 200 // of a project
	MaxDepth    = 5   // triggers in a chain
	MaxPayload  = 1 << 20
	KeptPayload = 20 // deliveries of a trigger whose payload is kept
	KeepFor     = 30 * 24 * time.Hour

	maxName   = 100
	maxList   = 50
	maxInputs = 256 << 10
)

func absent(name string) error {
	return apperr.New(apperr.NotFound, "There is no trigger called %q in this project.", name)
}

func triggerOf(row db.Trigger) (Trigger, error) {
	t := Trigger{
		ID: row.ID, WorkflowID: row.WorkflowID, Paused: row.Paused, Owner: row.OwnerName, OwnerID: row.OwnerID, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Spec: Spec{
			Name: row.Name, Kind: Kind(row.Kind), Sources: row.Sources, States: row.States, Stages: row.Stages, Signature: Signature(row.Signature), Secret: row.Secret, Filter: row.Filter,
			Workflow: row.WorkflowName, Version: row.Version, Enabled: row.Enabled,
		},
	}
	if row.Priority != nil {
		t.Priority = new(int(*row.Priority))
	}
	if row.Settings != nil {
		set := settings{}
		if err := json.Unmarshal(row.Settings, &set); err != nil {
			return t, fmt.Errorf("settings of trigger %s: %w", row.ID, err)
		}
		t.HTTP, t.S3, t.Join = set.HTTP, set.S3, set.Join
	}
	return t, decode(row.Inputs, &t.Inputs)
}

func deliveryOf(row db.TriggerDelivery) Delivery {
	return Delivery{
		ID: row.ID, Condition: row.Condition, Subject: row.Subject, Outcome: Outcome(row.Outcome), Reason: row.Reason, Message: row.Message, Payload: row.Payload,
		SourceID: row.SourceID, ExecutionID: row.ExecutionID, At: row.At,
	}
}

// HookURL returns the address to which the sender of a webhook sends its requests. site is the address
// of the installation, and condition is "" for a trigger without a join.
func (t Trigger) HookURL(site, condition string) string {
	address := site + "/hooks/" + t.ID.String()
	if condition != "" {
		address += "/" + condition
	}
	return address
}
