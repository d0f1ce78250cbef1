package contract

import (
	"time"

	"github.com/google/uuid"
)

// LineageBody is what an item was made from, and what was made from it.
type LineageBody struct {
	Focus      string            `json:"focus" doc:"Key of the requested item"`
	Items      []LineageItem     `json:"items" doc:"Items by step, earliest first"`
	Edges      []LineageEdge     `json:"edges"`
	Cut        bool              `json:"cut" doc:"True if the item limit was reached; see more_before and more_after"`
	Production LineageProduction `json:"production"`
}

// LineageItem is an item of the graph.
type LineageItem struct {
	Key          string     `json:"key" doc:"Key of the item, for use in other requests"`
	Kind         string     `json:"kind" enum:"artifact,dataset,feature-set,model,file,node,execution"`
	Step         int        `json:"step" doc:"Number of steps from the focus; negative upstream"`
	Name         string     `json:"name"`
	Version      string     `json:"version,omitempty" doc:"Version of the dataset, feature set, model or workflow"`
	Type         string     `json:"type,omitempty" doc:"Artifact type"`
	Stage        string     `json:"stage,omitempty" doc:"Model stage"`
	WorkflowName string     `json:"workflow_name,omitempty"`
	ExecutionID  *uuid.UUID `json:"execution_id,omitempty"`
	Node         string     `json:"node,omitempty"`
	Status       string     `json:"status,omitempty" doc:"Execution status"`
	CreatedBy    string     `json:"created_by,omitempty"`
	CreatedAt    *time.Time `json:"created_at,omitempty"`
	Removed      bool       `json:"removed,omitempty" doc:"True if the item no longer exists"`
	URL          string     `json:"ui_url,omitempty"`

	MoreBefore   int  `json:"more_before,omitempty" doc:"Number of upstream items that are not in the response"`
	MoreAfter    int  `json:"more_after,omitempty" doc:"Number of downstream items that are not in the response"`
	AtLeast      bool `json:"at_least,omitempty" doc:"True if the numbers are lower bounds: neighbours are counted up to 1,000"`
	HiddenBefore int  `json:"hidden_before,omitempty" doc:"Number of upstream items that you cannot view"`
	HiddenAfter  int  `json:"hidden_after,omitempty" doc:"Number of downstream items that you cannot view"`
}

// LineageEdge leads from what was there first to what was made from it.
type LineageEdge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Relation string `json:"relation" enum:"input,output,value,after,registered,same bytes"`
	Label    string `json:"label,omitempty" doc:"Name of the input or output"`
}

// LineageProduction are the models in production that were made from the focus.
type LineageProduction struct {
	Models   []LineageItem `json:"models"`
	Complete bool          `json:"complete" doc:"False if the search stopped at a limit or at an item that you cannot view, so there may be more"`
}
