package contract

import (
	"time"

	"github.com/google/uuid"
)

// ModelList are the models of a project.
type ModelList struct {
	Models []ModelSummary `json:"models"`
	Next   string         `json:"next_page,omitempty" doc:"Cursor for the next page; pass it as page"`
}

// ModelSummary is a model in a list.
type ModelSummary struct {
	Name         string    `json:"name"`
	Versions     int       `json:"versions"`
	Newest       string    `json:"newest_version"`
	NewestAt     time.Time `json:"newest_at"`
	Production   string    `json:"production_version,omitempty"`
	OpenRequests int       `json:"open_requests"`
}

// ModelBody is a model with its versions.
type ModelBody struct {
	Name       string         `json:"name"`
	Production string         `json:"production_version,omitempty"`
	Versions   []ModelVersion `json:"versions" doc:"Versions, newest first"`
	Next       string         `json:"next_page,omitempty" doc:"Cursor for older versions; pass it as page"`
	Aliases    []ModelAlias   `json:"aliases"`
	Requests   []ModelRequest `json:"requests" doc:"Open requests"`
	History    []ModelEvent   `json:"history" doc:"History, newest first, up to 200 entries"`
	Policy     ModelPolicy    `json:"policy"`
	URL        string         `json:"ui_url"`
}

// ModelVersion is a version of a model.
type ModelVersion struct {
	Version    string             `json:"version"`
	Stage      string             `json:"stage" enum:"none,staging,production,archived"`
	Aliases    []string           `json:"aliases"`
	Framework  string             `json:"framework,omitempty"`
	Metrics    map[string]float64 `json:"metrics"`
	TestSet    string             `json:"test_set,omitempty" doc:"Test set that the metrics were measured on"`
	ArtifactID *uuid.UUID         `json:"artifact_id,omitempty" doc:"ID of the artifact that the version was registered from"`
	CreatedBy  string             `json:"created_by"`
	CreatedAt  time.Time          `json:"created_at"`
	ChangedBy  string             `json:"stage_changed_by,omitempty"`
	ChangedAt  *time.Time         `json:"stage_changed_at,omitempty"`
}

// ModelAlias is a name of a version.
type ModelAlias struct {
	Alias   string    `json:"alias"`
	Version string    `json:"version"`
	SetBy   string    `json:"set_by"`
	SetAt   time.Time `json:"set_at"`
}

// ModelRequest asks to move a version to a stage.
type ModelRequest struct {
	ID          uuid.UUID    `json:"id"`
	Version     string       `json:"version"`
	Stage       string       `json:"stage" enum:"none,staging,production,archived"`
	Reason      string       `json:"reason"`
	Proposed    bool         `json:"proposed" doc:"True if the promotion rules created the request"`
	Checks      []ModelCheck `json:"checks"`
	RequestedBy string       `json:"requested_by"`
	RequestedAt time.Time    `json:"requested_at"`
}

// ModelCheck is how a rule judged a version when the request was made.
type ModelCheck struct {
	Rule   string `json:"rule"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// ModelEvent is something that happened to a model.
type ModelEvent struct {
	Version string    `json:"version"`
	Action  string    `json:"action" enum:"registered,requested,approved,rejected,withdrawn,moved,archived,alias_set,alias_removed"`
	Detail  string    `json:"detail,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// ModelPolicy is what promotions to production need.
type ModelPolicy struct {
	Approval bool        `json:"approval" doc:"True if another user must approve promotions"`
	Propose  bool        `json:"propose" doc:"True if a new version that passes all rules is proposed for production"`
	Rules    []ModelRule `json:"rules"`
	OfModel  bool        `json:"of_model,omitempty" readOnly:"true" doc:"True if the model has its own policy; otherwise the project's policy applies"`
}

// ModelRule compares a metric with that of the version in production.
type ModelRule struct {
	Metric      string  `json:"metric" minLength:"1" maxLength:"200"`
	Better      string  `json:"better" enum:"higher,lower"`
	Margin      float64 `json:"margin,omitempty" minimum:"0" doc:"Minimum improvement"`
	SameTestSet bool    `json:"same_test_set,omitempty" doc:"True if both versions must be measured on the same test set"`
}

// ModelMove moves a version to a stage.
type ModelMove struct {
	Stage  string `json:"stage" enum:"none,staging,production,archived"`
	Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Reason, recorded in the history; required for production"`
}

// ModelMoved is the answer to a move.
type ModelMoved struct {
	Moved   bool          `json:"moved" doc:"False if another user must approve the request"`
	Request *ModelRequest `json:"request,omitempty"`
}

// ModelDecision decides about a request.
type ModelDecision struct {
	Decision string `json:"decision" enum:"approve,reject,withdraw" doc:"Decision; the requester can only withdraw"`
	Reason   string `json:"reason,omitempty" maxLength:"2000" doc:"Reason, recorded in the history; required to reject"`
}

// ModelAliasTarget is the version that an alias names.
type ModelAliasTarget struct {
	Version string `json:"version" minLength:"1" maxLength:"100"`
}

// ModelComparison is two versions of a model side by side.
type ModelComparison struct {
	Model     string                `json:"model"`
	Version   ComparedVersion       `json:"version"`
	Against   ComparedVersion       `json:"against" doc:"Version that it is compared with"`
	Metrics   []ComparedModelMetric `json:"metrics"`
	Signature []string              `json:"signature_changes" doc:"Changes of inputs and outputs, as sentences"`
	Inputs    ComparedModelInputs   `json:"inputs" doc:"Differences between the executions that produced both versions"`
	Sources   ComparedModelSources  `json:"sources" doc:"Differences between what both versions were made from"`
	URL       string                `json:"ui_url"`
}

// ComparedVersion is a version of a comparison.
type ComparedVersion struct {
	ModelVersion

	ExecutionID *uuid.UUID `json:"execution_id,omitempty" doc:"ID of the execution that produced the version"`
}

// ComparedModelMetric is a metric of two versions.
type ComparedModelMetric struct {
	Name        string   `json:"name"`
	Against     *float64 `json:"against,omitempty"`
	Version     *float64 `json:"version,omitempty"`
	Difference  *float64 `json:"difference,omitempty" doc:"Value of version minus value of against"`
	Better      string   `json:"better,omitempty" enum:"higher,lower" doc:"Whether higher or lower values are better, from the promotion rules or guessed from the name"`
	Verdict     string   `json:"verdict,omitempty" enum:"better,worse" doc:"How version compares with against"`
	SameTestSet bool     `json:"same_test_set" doc:"True if both values were measured on the same test set"`
}

// ComparedModelInputs are the differences between two executions.
type ComparedModelInputs struct {
	Rows []ComparedModelInput `json:"rows"`
	Same int                  `json:"same" doc:"Number of equal values"`
	Note string               `json:"note,omitempty" doc:"Reason why the executions were not compared"`
}

// ComparedModelInput is a value that differs between two executions.
type ComparedModelInput struct {
	Section string `json:"section" enum:"inputs,definition,code" doc:"Definition contains the version of the workflow"`
	Path    string `json:"path" doc:"Dotted path, such as optimizer.lr"`
	Against any    `json:"against,omitempty"`
	Version any    `json:"version,omitempty"`
}

// ComparedModelSources are what only one of two versions was made from.
type ComparedModelSources struct {
	Rows    []ComparedModelSource `json:"rows"`
	Same    int                   `json:"same" doc:"Number of sources that both versions were made from"`
	Partial bool                  `json:"partial" doc:"True if the lineage is too large to compare completely"`
	Note    string                `json:"note,omitempty" doc:"Reason why no sources were compared"`
}

// ComparedModelSource is a dataset, feature set, model or upload.
type ComparedModelSource struct {
	Kind    string   `json:"kind" enum:"dataset,feature-set,model,file"`
	Name    string   `json:"name"`
	Against []string `json:"against" doc:"Its versions that against was made from; used for an upload, which has no versions"`
	Version []string `json:"version" doc:"Its versions that version was made from; used for an upload, which has no versions"`
}
