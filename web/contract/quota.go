package contract

import (
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/quota/fair"
)

// QuotaAmounts are whole numbers by resource.
type QuotaAmounts map[fair.Resource]int64

// QuotaLimits are the limits of a node and its default requests.
type QuotaLimits struct {
	Limit   QuotaAmounts `json:"limit" doc:"Guaranteed amounts. An absent resource shares the parent's limit"`
	Borrow  QuotaAmounts `json:"borrow" doc:"Amounts that can be borrowed beyond the limit from others' idle capacity. An absent resource cannot be borrowed"`
	Lend    QuotaAmounts `json:"lend" doc:"Idle amounts that others can borrow. An absent resource can be borrowed completely"`
	Weight  float64      `json:"weight" doc:"Weight among siblings when remaining capacity is shared"`
	Default QuotaAmounts `json:"default" doc:"Default cpu and memory request of each pod of a task. Inherited from the level above if absent; 100 and 256 by default"`
}

// QuotaUse is the use of one resource, in the unit of its limit.
type QuotaUse struct {
	Used     int64  `json:"used"`
	Borrowed int64  `json:"borrowed" doc:"Amount of used that exceeds the limit"`
	Lent     int64  `json:"lent" doc:"Amount of the limit that others use"`
	Free     int64  `json:"free" doc:"Unused amount of the limit"`
	Most     *int64 `json:"most,omitempty" doc:"Maximum usage; absent if no level above sets a limit"`
	Waiting  int64  `json:"waiting" doc:"Amount requested by waiting nodes"`
}

// QuotaBody is a node of the tenancy tree with its limits and its use.
type QuotaBody struct {
	NodeID uuid.UUID `json:"node_id"`
	Kind   string    `json:"kind" enum:"installation,tenant,department,team,project"`
	Name   string    `json:"name"`
	Path   string    `json:"path" doc:"Names from the topmost level that you can view, separated by slashes"`
	QuotaLimits
	Version   int64                      `json:"version" doc:"Version, incremented with each change; 0 before the first change"`
	UpdatedAt *time.Time                 `json:"updated_at,omitempty"`
	UpdatedBy string                     `json:"updated_by,omitempty"`
	Use       map[fair.Resource]QuotaUse `json:"use"`
	Waiting   int                        `json:"waiting" doc:"Number of nodes waiting at or below this level"`
	Warnings  []string                   `json:"warnings,omitempty" doc:"Warnings about limits that exceed the cluster's capacity"`
	NamedQuota
}

// QuotaList is the tree that the caller may read.
type QuotaList struct {
	Nodes []QuotaBody `json:"nodes" doc:"Levels; parents precede their children"`
}

// QuotaEdit is new limits of a node.
type QuotaEdit struct {
	Limit   QuotaAmounts `json:"limit,omitempty"`
	Borrow  QuotaAmounts `json:"borrow,omitempty"`
	Lend    QuotaAmounts `json:"lend,omitempty"`
	Weight  float64      `json:"weight,omitempty" minimum:"0" maximum:"1000" doc:"Weight among siblings; defaults to 1"`
	Default QuotaAmounts `json:"default,omitempty" doc:"Default cpu and memory request of each pod of a task; inherited from the level above if absent"`
	Version *int64       `json:"version,omitempty" doc:"Version that the change is based on; if absent, the change overwrites any version"`
	Reason  string       `json:"reason,omitempty" maxLength:"1000" doc:"Reason, recorded in the audit log"`
	Confirm bool         `json:"confirm,omitempty" doc:"Confirm that the change can interrupt running nodes"`
	NamedLimits
}

// QuotaTarget is a node of an execution that new limits affect.
type QuotaTarget struct {
	ExecutionID *uuid.UUID  `json:"execution_id,omitempty" doc:"Execution ID; absent if you cannot view the execution"`
	Workflow    string      `json:"workflow_name,omitempty"`
	Node        string      `json:"node,omitempty"`
	Amount      fair.Amount `json:"amount"`
}

// QuotaPreviewBody is the effect of new limits.
type QuotaPreviewBody struct {
	Interrupted []QuotaTarget    `json:"interrupted" doc:"Running nodes that would be stopped; they restart from their last checkpoint"`
	Admitted    []QuotaTarget    `json:"admitted" doc:"Waiting nodes that would start immediately"`
	Blocked     []QuotaTarget    `json:"blocked" doc:"Waiting nodes that could never start"`
	StillWait   int              `json:"still_wait" doc:"Other nodes that would keep waiting"`
	OverCeiling []QuotaShortfall `json:"over_ceiling" doc:"Levels that remain above their maximum until running work ends"`
	After       QuotaBody        `json:"after" doc:"Level after the change"`
}

// QuotaShortfall is a level that is above its maximum.
type QuotaShortfall struct {
	NodeID   uuid.UUID     `json:"node_id"`
	Name     string        `json:"name"`
	Resource fair.Resource `json:"resource"`
	Used     int64         `json:"used"`
	Ceiling  int64         `json:"ceiling"`
}
