package contract

import (
	"time"

	"github.com/google/uuid"
)

// LineageBody is what an item was made from, and what was made from it.
type LineageBody struct {
	Focus      string            `json:"focus" doc:"Key of the item that the request names"`
	Items      []LineageItem     `json:"items" doc:"By step, the earliest first"`
	Edges      []LineageEdge     `json:"edges"`
	Cut        bool              `json:"cut" doc:"The limit of items left something out; see more_before and more_after of the items"`
	Production LineageProduction `json:"production"`
}

// LineageItem is an item of the graph.
type LineageItem struct {
	Key          string     `json:"key" doc:"Address of the item for other requests"`
	Kind         string     `json:"kind" enum:"artifact,dataset,feature-set,model,file,node,execution"`
	Step         int        `json:"step" doc:"Steps from the focus: negative for what it was made from"`
	Name         string     `json:"name"`
	Version      string     `json:"version,omitempty" doc:"Version of the dataset, feature set, model or workflow"`
	Type         string     `json:"type,omitempty" doc:"Type of an artifact"`
	Stage        string     `json:"stage,omitempty" doc:"Stage of a model"`
	WorkflowName string     `json:"workflow_name,omitempty"`
	ExecutionID  *uuid.UUID `json:"execution_id,omitempty"`
	Node         string     `json:"node,omitempty"`
	Status       string     `json:"status,omitempty" doc:"Status of the execution"`
	CreatedBy    string     `json:"created_by,omitempty"`
	CreatedAt    *time.Time `json:"created_at,omitempty"`
	Removed      bool       `json:"removed,omitempty" doc:"It no longer exists"`
	URL          string     `json:"ui_url,omitempty"`

	MoreBefore   int  `json:"more_before,omitempty" doc:"What it was made from that is not in the answer"`
	MoreAfter    int  `json:"more_after,omitempty" doc:"What was made from it that is not in the answer"`
	AtLeast      bool `json:"at_least,omitempty" doc:"There are more than these numbers: neighbours are counted to 1,000"`
	HiddenBefore int  `json:"hidden_before,omitempty" doc:"What it was made from that you may not read"`
	HiddenAfter  int  `json:"hidden_after,omitempty" doc:"What was made from it that you may not read"`
}

// LineageEdge leads from what was there first to what was made from it.
type LineageEdge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Relation string `json:"relation" enum:"input,output,value,after,registered,same bytes"`
	Label    string `json:"label,omitempty" doc:"The input or the output"`
}

// LineageProduction are the models in production that were made from the focus.
type LineageProduction struct {
	Models   []LineageItem `json:"models"`
	Complete bool          `json:"complete" doc:"false: the search ended at a limit or at an item that you may not read, so there may be more"`
}
