package contract

import "encoding/json"

// ResumeInputBody specifies which ended execution to resume, and with what changes.
type ResumeInputBody struct {
	FromNode       any                         `json:"from_node,omitempty" doc:"Name, node_id or task ID of the node to rerun from; defaults to the first failures"`
	Version        string                      `json:"version,omitempty" doc:"Workflow version; defaults to the version that ran" maxLength:"100"`
	OverrideInputs json.RawMessage             `json:"override_inputs,omitempty" doc:"Inputs to override, by name; null selects the default"`
	Resources      map[string]ResourceOverride `json:"resources,omitempty" doc:"Resource overrides, by operator name; * applies to all operators that run tasks"`
	Name           string                      `json:"name,omitempty" doc:"Name of the new execution" maxLength:"200"`
	Priority       any                         `json:"priority,omitempty" doc:"LOW, NORMAL or HIGH, or a number from 0 to 100; defaults to the original execution's priority"`
	IdempotencyKey string                      `json:"idempotency_key,omitempty" doc:"Alternative to the Idempotency-Key header" maxLength:"200"`
	TTL            any                         `json:"ttl,omitempty" doc:"Retention of the new execution, as for a launch; defaults to the original execution's retention"`
	Cache          *CacheInput                 `json:"cache,omitempty" doc:"Use of cached results"`
}

// ResourceOverride replaces resources of an operator's definition for each attempt.
type ResourceOverride struct {
	CPUMillis *int `json:"cpu_millis,omitempty"`
	MemoryMiB *int `json:"memory_mib,omitempty"`
	GPUs      *int `json:"gpus,omitempty"`
}

// ResumePlanBody describes what a resume would do.
type ResumePlanBody struct {
	DryRun  bool              `json:"dry_run"`
	Valid   bool              `json:"valid" doc:"True if the resume would be accepted"`
	Refusal string            `json:"refusal,omitempty" doc:"Reason why the resume would be rejected"`
	Version string            `json:"version"`
	Runs    int               `json:"runs" doc:"Number of nodes of the plan that would run"`
	Kept    int               `json:"kept" doc:"Number of nodes of the plan that would keep their results"`
	Changes []InputChangeBody `json:"changed_inputs,omitempty"`
	Nodes   []ResumeNodeBody  `json:"nodes"`
}

// InputChangeBody is an input with another value.
type InputChangeBody struct {
	Name   string `json:"name"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// ResumeNodeBody reports whether a node would run, and why.
type ResumeNodeBody struct {
	Node   string `json:"node"`
	Runs   bool   `json:"runs"`
	Ground string `json:"ground" enum:"taken,changed,unfinished,downstream,at_the_end,serving"`
	Why    string `json:"why"`
	Before string `json:"before,omitempty" doc:"Previous state"`
	Inside int    `json:"inside,omitempty" doc:"Number of nodes that it was expanded into"`
	Kept   int    `json:"kept_inside,omitempty" doc:"Number of these nodes that keep their results, if known"`
}
