package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// PresetBody is a preset of a workflow.
type PresetBody struct {
	ID             uuid.UUID      `json:"id"`
	Name           string         `json:"name"`
	Description    string         `json:"description"`
	Sharing        string         `json:"sharing" enum:"private,project,team"`
	Version        string         `json:"version" doc:"Workflow version that the inputs were saved for"`
	Inputs         map[string]any `json:"inputs,omitzero" doc:"Input values; secrets are referenced by name. list-presets omits inputs larger than 4 KiB"`
	CreatedBy      string         `json:"created_by"`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedBy      string         `json:"updated_by"`
	UpdatedAt      time.Time      `json:"updated_at"`
	Uses           int            `json:"uses" doc:"Number of launches with the preset"`
	UsedAt         *time.Time     `json:"used_at,omitempty"`
	Project        string         `json:"project" doc:"Project of the workflow that the preset was saved for"`
	MyDefault      bool           `json:"my_default" doc:"True if it is the caller's default, which fills in an empty launch form"`
	ProjectDefault bool           `json:"project_default" doc:"True if it is the project's default, for users without their own"`
	LaunchURL      string         `json:"ui_launch_url"`
	Incompatible   []apperr.Field `json:"misfits,omitempty" doc:"Values that the requested version does not accept; only from get-preset"`
	Added          []string       `json:"added,omitempty" doc:"Inputs added since the saved version; only from get-preset"`
}

// PresetList are the presets of a workflow.
type PresetList struct {
	Presets []PresetBody `json:"presets"`
}

// PresetInput is a preset to save.
type PresetInput struct {
	Name        string          `json:"name" maxLength:"80" minLength:"1"`
	Description string          `json:"description,omitempty" maxLength:"300"`
	Sharing     string          `json:"sharing,omitempty" enum:"private,project,team" default:"private" doc:"Sharing; team includes workflows with the same name in the team's other projects"`
	Version     string          `json:"version,omitempty" doc:"Workflow version that the inputs are for; defaults to the latest" maxLength:"100"`
	Inputs      json.RawMessage `json:"inputs,omitempty" doc:"Input values by name; all are optional"`
}

// PresetChange changes a preset. What it leaves out stays.
type PresetChange struct {
	Name        *string         `json:"name,omitempty" maxLength:"80" minLength:"1"`
	Description *string         `json:"description,omitempty" maxLength:"300"`
	Sharing     *string         `json:"sharing,omitempty" enum:"private,project,team"`
	Version     string          `json:"version,omitempty" doc:"Workflow version that the inputs are for; defaults to the latest" maxLength:"100"`
	Inputs      json.RawMessage `json:"inputs,omitempty" doc:"All input values of the preset, which replace the previous ones"`
	UpdatedAt   *time.Time      `json:"updated_at,omitempty" doc:"updated_at of the preset that the change is based on. If the preset has changed since, the request fails with 409. If absent, the change overwrites any state"`
}
