package contract

import (
	"time"
)

// ConnectionField is a field of a connection.
type ConnectionField struct {
	Name     string `json:"name" maxLength:"40"`
	Label    string `json:"label,omitempty" maxLength:"100"`
	Help     string `json:"help,omitempty" maxLength:"300"`
	Type     string `json:"type" doc:"Field type: String, Text, Integer, Float, Boolean or Enum, with parameters. Secret fields are String or Text" maxLength:"1000"`
	Secret   bool   `json:"secret,omitempty"`
	Required bool   `json:"required,omitempty"`
	Default  any    `json:"default,omitempty"`
	For      string `json:"for,omitempty" doc:"Authentication that uses the field; empty means all"`
}

// ConnectionBody is a connection without the values of its secret fields.
type ConnectionBody struct {
	Name         string            `json:"name"`
	Kind         string            `json:"kind" enum:"postgres,clickhouse,s3,http,grpc,huggingface,slack,teams,email,pagerduty,webhook,custom"`
	Description  string            `json:"description"`
	Fields       []ConnectionField `json:"fields" doc:"Fields of the connection kind, or those that the connection declares"`
	Values       map[string]any    `json:"values" doc:"Values of the visible fields"`
	SecretFields []string          `json:"secret_fields" doc:"Names of secret fields that have a value"`
	CreatedAt    time.Time         `json:"created_at"`
	CreatedBy    string            `json:"created_by"`
	UpdatedAt    time.Time         `json:"updated_at"`
	UpdatedBy    string            `json:"updated_by"`
	UsedBy       []ConnectionUse   `json:"used_by"`
}

// ConnectionUse is a workflow that received a connection.
type ConnectionUse struct {
	Workflow    string    `json:"workflow"`
	ExecutionID string    `json:"execution_id" doc:"Latest execution that received the connection"`
	UsedAt      time.Time `json:"used_at"`
}

// ConnectionList are the connections of a project.
type ConnectionList struct {
	Connections []ConnectionBody `json:"connections"`
}

// ConnectionInput is a connection to store.
type ConnectionInput struct {
	Kind        string            `json:"kind" enum:"postgres,clickhouse,s3,http,grpc,huggingface,slack,teams,email,pagerduty,webhook,custom" doc:"Kind of connection; cannot be changed later"`
	Description string            `json:"description,omitempty" maxLength:"300"`
	Declared    []ConnectionField `json:"declared,omitempty" doc:"Fields that a custom connection declares" maxItems:"50"`
	Values      map[string]any    `json:"values" doc:"Values by field name. Secret fields are stored encrypted and never returned; an omitted field keeps its value, and null removes it"`
}

// ConnectionTest is the result of a test.
type ConnectionTest struct {
	OK         bool             `json:"ok"`
	Steps      []ConnectionStep `json:"steps" doc:"Steps of the test, in order, up to the first failure"`
	DurationMS int64            `json:"duration_ms"`
}

// ConnectionStep is one part of a test.
type ConnectionStep struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}
