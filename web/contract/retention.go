package contract

import "time"

// RetentionSweepBody is one sweep of the retention, running or ended.
type RetentionSweepBody struct {
	BeganAt      time.Time  `json:"began_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	DryRun       bool       `json:"dry_run" doc:"True if the sweep only counted what it would remove"`
	Executions   int64      `json:"executions" doc:"Number of expired executions"`
	Artifacts    int64      `json:"artifacts" doc:"Number of artifacts removed with the executions; not counted in a dry run"`
	ProjectBlobs int64      `json:"project_blobs" doc:"Number of unreferenced blobs in projects"`
	ProjectBytes int64      `json:"project_bytes"`
	Blobs        int64      `json:"blobs" doc:"Number of blobs removed from the store"`
	Bytes        int64      `json:"bytes"`
	Partitions   int64      `json:"partitions" doc:"Number of dropped tables of empty months"`
	Versions     int64      `json:"versions" doc:"Number of removed development versions that were unused for a long time; not counted in a dry run"`
	Error        string     `json:"error,omitempty" doc:"Error of the sweep; the next sweep retries the removal"`

	InputSweeps     int64    `json:"input_sweeps" doc:"Number of parameter sweeps whose executions have all expired"`
	InputSweepNames []string `json:"input_sweep_names" doc:"Names of the first 50 parameter sweeps"`
}

// RetentionSweepInput requests a sweep of the retention.
type RetentionSweepInput struct {
	DryRun bool `json:"dry_run" doc:"Count what would be removed, without removing it"`
}
