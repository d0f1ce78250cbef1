package contract

import (
	"time"

	"github.com/google/uuid"
)

// ViewBody is a saved view of the table of executions.
type ViewBody struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Sharing   string    `json:"sharing" enum:"private,project"`
	Default   bool      `json:"default" doc:"It opens instead of the list of all executions of the project"`
	Where     string    `json:"where" doc:"Conditions, such as: lr > 0.01 and tag:baseline"`
	Sort      string    `json:"sort" doc:"Name to sort by; with - before it, the greatest first"`
	Columns   []string  `json:"columns"`
	Group     string    `json:"group" doc:"Name whose values group the executions"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedBy string    `json:"updated_by"`
	UpdatedAt time.Time `json:"updated_at"`
	URL       string    `json:"ui_url"`
}

// ViewList are the views of a project.
type ViewList struct {
	Views []ViewBody `json:"views"`
}

// ViewInput is a view to save.
type ViewInput struct {
	Name    string   `json:"name" maxLength:"80" minLength:"1"`
	Sharing string   `json:"sharing,omitempty" enum:"private,project" default:"private"`
	Where   string   `json:"where,omitempty" maxLength:"4000"`
	Sort    string   `json:"sort,omitempty" maxLength:"300"`
	Columns []string `json:"columns,omitempty" maxItems:"100" nullable:"false"`
	Group   string   `json:"group,omitempty" maxLength:"300"`
}

// ViewChange changes a view. What it leaves out stays.
type ViewChange struct {
	Name      *string    `json:"name,omitempty" maxLength:"80" minLength:"1"`
	Sharing   *string    `json:"sharing,omitempty" enum:"private,project"`
	Where     *string    `json:"where,omitempty" maxLength:"4000"`
	Sort      *string    `json:"sort,omitempty" maxLength:"300"`
	Columns   *[]string  `json:"columns,omitempty" maxItems:"100" nullable:"false"`
	Group     *string    `json:"group,omitempty" maxLength:"300"`
	UpdatedAt *time.Time `json:"updated_at,omitempty" doc:"updated_at of the view that the change is based on: if it has changed since, the answer is 409. Without it, the change replaces any state"`
}
