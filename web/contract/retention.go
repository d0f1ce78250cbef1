package contract

import "time"

// RetentionSweepBody is one sweep of the retention, running or ended.
type RetentionSweepBody struct {
	BeganAt      time.Time  `json:"began_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	DryRun       bool       `json:"dry_run" doc:"True if the sweep only counted and removed nothing"`
	Executions   int64      `json:"executions" doc:"Number of expired executions"`
	Artifacts    int64      `json:"artifacts" doc:"Artifacts that went with them; a dry run does not count them"`
	ProjectBlobs int64      `json:"project_blobs" doc:"Blobs of projects that nothing references"`
	ProjectBytes int64      `json:"project_bytes"`
	Blobs        int64      `json:"blobs" doc:"Blobs removed from the store"`
	Bytes        int64      `json:"bytes"`
	Partitions   int64      `json:"partitions" doc:"Tables of empty months"`
	Versions     int64      `json:"versions" doc:"Development versions that were not used for a long time; a dry run does not count them"`
	Error        string     `json:"error,omitempty" doc:"Error of the sweep; the next sweep retries"`

	InputSweeps     int64    `json:"input_sweeps" doc:"Expired sweeps of inputs whose executions have all expired"`
	InputSweepNames []string `json:"input_sweep_names" doc:"Names of the first 50 of them"`
}

// RetentionSweepInput requests a sweep of the retention.
type RetentionSweepInput struct {
	DryRun bool `json:"dry_run" doc:"Count without removing"`
}
