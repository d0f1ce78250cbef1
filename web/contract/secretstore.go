package contract

import "time"

// SecretStoreBody is a registered secret store, without the values of its secret fields.
type SecretStoreBody struct {
	Name         string            `json:"name"`
	Kind         string            `json:"kind" enum:"vault,aws,gcp,file,env"`
	Description  string            `json:"description"`
	Values       map[string]any    `json:"values" doc:"Values of the visible fields"`
	SecretFields []string          `json:"secret_fields" doc:"Names of secret fields that have a value"`
	CreatedAt    time.Time         `json:"created_at"`
	CreatedBy    string            `json:"created_by"`
	UpdatedAt    time.Time         `json:"updated_at"`
	UpdatedBy    string            `json:"updated_by"`
	UsedBy       []SecretStoreUse  `json:"used_by" doc:"Secrets that refer to the store"`
	Fields       []ConnectionField `json:"fields" doc:"Fields of the kind"`
}

// SecretStoreUse is a secret of a project that refers to a store.
type SecretStoreUse struct {
	Project   string `json:"project"`
	Namespace string `json:"namespace"`
	Secret    string `json:"secret"`
	Path      string `json:"path"`
}

// SecretStoreList are all stores by name.
type SecretStoreList struct {
	Stores []SecretStoreBody `json:"stores"`
}

// SecretStoreInput is a store to register.
type SecretStoreInput struct {
	Kind        string         `json:"kind" enum:"vault,aws,gcp,file,env" doc:"Kind of store; cannot be changed later"`
	Description string         `json:"description,omitempty" maxLength:"300"`
	Values      map[string]any `json:"values" doc:"Values by field name. Secret fields are stored encrypted and never returned; an omitted field keeps its value, and null removes it"`
}

// SecretStoreProbe is what a test of a store reads.
type SecretStoreProbe struct {
	Path    string `json:"path,omitempty" maxLength:"500" doc:"Path to read; if empty, the test only signs in"`
	Key     string `json:"key,omitempty" maxLength:"200"`
	Version string `json:"version,omitempty" maxLength:"100"`
}

// SecretStoreTest is the result of a test. It contains no value.
type SecretStoreTest struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// OfferedSecretStore is a store to which secrets of a project can refer.
type OfferedSecretStore struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Description string `json:"description"`
	Prefix      string `json:"prefix" doc:"Prefix that paths must begin with"`
}

// OfferedSecretStores are the stores of a project by name.
type OfferedSecretStores struct {
	Stores []OfferedSecretStore `json:"stores"`
}

// SecretReference says where a store has the value of a secret.
type SecretReference struct {
	Store   string `json:"store" minLength:"1" maxLength:"100" doc:"Name of a secret store that the project may use"`
	Path    string `json:"path" minLength:"1" maxLength:"500"`
	Key     string `json:"key,omitempty" maxLength:"200" doc:"Member of a JSON object or key of a Vault secret; empty means the whole value"`
	Version string `json:"version,omitempty" maxLength:"100" doc:"Version; defaults to the newest"`
}

// SecretBody is a secret without its value.
type SecretBody struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Source      string           `json:"source,omitempty" doc:"Source of the value, if the project does not define it"`
	Reference   *SecretReference `json:"reference,omitempty" doc:"Reference to the value in a secret store"`
	CreatedAt   *time.Time       `json:"created_at,omitempty"`
	CreatedBy   string           `json:"created_by,omitempty"`
	UpdatedAt   *time.Time       `json:"updated_at,omitempty"`
	UpdatedBy   string           `json:"updated_by,omitempty"`
	UsedBy      []SecretUse      `json:"used_by"`
}

// SecretUse is a workflow that received a secret.
type SecretUse struct {
	Workflow    string    `json:"workflow" doc:"Workflow name; empty for the project's Metaflow datastore"`
	ExecutionID string    `json:"execution_id" doc:"Latest execution that received the secret; empty for the Metaflow datastore"`
	UsedAt      time.Time `json:"used_at"`
}

// SecretList are the secrets of a project.
type SecretList struct {
	Secrets []SecretBody `json:"secrets"`
}

// SecretInput is a secret to store: a value or a reference.
type SecretInput struct {
	Value       string           `json:"value,omitempty" doc:"Secret value: 4 characters to 64 KiB of text. Never returned. Required without a reference" writeOnly:"true" minLength:"4" maxLength:"65536"`
	Reference   *SecretReference `json:"reference,omitempty" doc:"Reference to the value in a secret store, instead of a value"`
	Description string           `json:"description,omitempty" maxLength:"300"`
}
