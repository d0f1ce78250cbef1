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
	Version        string         `json:"version" doc:"Version for which the inputs were saved"`
	Inputs         map[string]any `json:"inputs,omitzero" doc:"Secrets by their names. list-presets leaves out inputs of more than 4 KiB"`
	CreatedBy      string         `json:"created_by"`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedBy      string         `json:"updated_by"`
	UpdatedAt      time.Time      `json:"updated_at"`
	Uses           int            `json:"uses" doc:"Launches with it"`
	UsedAt         *time.Time     `json:"used_at,omitempty"`
	Project        string         `json:"project" doc:"Project of the workflow that it was saved for"`
	MyDefault      bool           `json:"my_default" doc:"It fills in the empty launch form of the caller"`
	ProjectDefault bool           `json:"project_default" doc:"It fills in the empty launch form of people without a default"`
	LaunchURL      string         `json:"ui_launch_url"`
	Misfits        []apperr.Field `json:"misfits,omitempty" doc:"Values that the requested version does not accept; get-preset returns them"`
	Added          []string       `json:"added,omitempty" doc:"Inputs that the requested version has and the saved version did not; get-preset returns them"`
}

// PresetList are the presets of a workflow.
type PresetList struct {
	Presets []PresetBody `json:"presets"`
}

// PresetInput is a preset to save.
type PresetInput struct {
	Name        string          `json:"name" maxLength:"80" minLength:"1"`
	Description string          `json:"description,omitempty" maxLength:"300"`
	Sharing     string          `json:"sharing,omitempty" enum:"private,project,team" default:"private" doc:"team includes workflows of the same name in the other projects of the team"`
	Version     string          `json:"version,omitempty" doc:"Version that the inputs are for; the latest when empty" maxLength:"100"`
	Inputs      json.RawMessage `json:"inputs,omitempty" doc:"Input values by name; any can be left out"`
}

// PresetChange changes a preset. What it leaves out stays.
type PresetChange struct {
	Name        *string         `json:"name,omitempty" maxLength:"80" minLength:"1"`
	Description *string         `json:"description,omitempty" maxLength:"300"`
	Sharing     *string         `json:"sharing,omitempty" enum:"private,project,team"`
	Version     string          `json:"version,omitempty" doc:"Version that the inputs are for; the latest when empty" maxLength:"100"`
	Inputs      json.RawMessage `json:"inputs,omitempty" doc:"All input values of the preset"`
	UpdatedAt   *time.Time      `json:"updated_at,omitempty" doc:"updated_at of the preset that the change is based on: if it has changed since, the answer is 409. Without it, the change replaces any state"`
}
