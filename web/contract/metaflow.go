package contract

import "time"

// MetaflowPlace is a datastore of Metaflow.
type MetaflowPlace struct {
	Kind               string `json:"kind" enum:"local,s3" doc:"Kind of datastore: local is a folder on the server; s3 is a bucket in Amazon S3 or a compatible store"`
	Root               string `json:"root,omitempty" doc:"The client's METAFLOW_DATASTORE_SYSROOT_LOCAL or METAFLOW_DATASTORE_SYSROOT_S3: an absolute path or s3://bucket/prefix. Leave empty for the project's own folder, which needs no configuration" maxLength:"600"`
	Endpoint           string `json:"endpoint,omitempty" doc:"Address of an object store other than AWS" maxLength:"500"`
	Region             string `json:"region,omitempty" doc:"Region of the bucket; us-east-1 by default" maxLength:"40"`
	AccessKeySecret    string `json:"access_key_secret,omitempty" doc:"Project secret that contains the access key ID; empty for a public bucket" maxLength:"100"`
	SecretKeySecret    string `json:"secret_key_secret,omitempty" doc:"Project secret that contains the secret access key" maxLength:"100"`
	SessionTokenSecret string `json:"session_token_secret,omitempty" doc:"Project secret that contains the session token of temporary credentials" maxLength:"100"`
}

// MetaflowDatastore is the datastore of a project.
type MetaflowDatastore struct {
	MetaflowPlace

	Own         bool              `json:"own" doc:"True if root is the project's own folder in the server's data directory"`
	Environment map[string]string `json:"environment" doc:"Environment variables for clients of the datastore, without credentials"`
	Machine     string            `json:"machine,omitempty" doc:"Machine fingerprint of the server: SHA-256 of the boot ID, and the device and inode of the root folder, separated by spaces. A client with the same fingerprint sees the same files"`
	UpdatedAt   *time.Time        `json:"updated_at,omitempty" doc:"Time of the last change; absent if it was never changed"`
	UpdatedBy   string            `json:"updated_by,omitempty"`
}

// MetaflowDatastoreTest is what a test of a datastore has found.
type MetaflowDatastoreTest struct {
	OK      bool     `json:"ok" doc:"True if the server can read the datastore"`
	Message string   `json:"message"`
	Flows   []string `json:"flows" doc:"The project's flows that have data in the datastore, up to 20"`
}
