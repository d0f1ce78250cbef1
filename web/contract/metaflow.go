package contract

import "time"

// MetaflowPlace is a datastore of Metaflow.
type MetaflowPlace struct {
	Kind               string `json:"kind" enum:"local,s3" doc:"local: a folder of the server; s3: a bucket of Amazon S3 or of a store with its API"`
	Root               string `json:"root,omitempty" doc:"Value of METAFLOW_DATASTORE_SYSROOT_LOCAL or METAFLOW_DATASTORE_SYSROOT_S3 of the client: an absolute path, or s3://bucket/prefix. Empty for the project's own folder, which needs no settings" maxLength:"600"`
	Endpoint           string `json:"endpoint,omitempty" doc:"Address of an object store other than AWS" maxLength:"500"`
	Region             string `json:"region,omitempty" doc:"Region of the bucket; us-east-1 by default" maxLength:"40"`
	AccessKeySecret    string `json:"access_key_secret,omitempty" doc:"Secret of the project with the access key ID; empty for a public bucket" maxLength:"100"`
	SecretKeySecret    string `json:"secret_key_secret,omitempty" doc:"Secret with the secret access key" maxLength:"100"`
	SessionTokenSecret string `json:"session_token_secret,omitempty" doc:"Secret with the session token of temporary credentials" maxLength:"100"`
}

// MetaflowDatastore is the datastore of a project.
type MetaflowDatastore struct {
	MetaflowPlace

	Own         bool              `json:"own" doc:"Whether root is the project's own folder in the data directory of the server"`
	Environment map[string]string `json:"environment" doc:"Environment variables of a client that uses the datastore, without credentials"`
	Machine     string            `json:"machine,omitempty" doc:"Of the server: SHA-256 of the ID of its boot, the device and the inode of its root folder, with spaces between. A client with the same sees the same files"`
	UpdatedAt   *time.Time        `json:"updated_at,omitempty" doc:"Absent before the first change"`
	UpdatedBy   string            `json:"updated_by,omitempty"`
}

// MetaflowDatastoreTest is what a test of a datastore has found.
type MetaflowDatastoreTest struct {
	OK      bool     `json:"ok" doc:"Whether the server can read the datastore"`
	Message string   `json:"message"`
	Flows   []string `json:"flows" doc:"Flows of the project with data in the datastore, at most 20"`
}
