package contract

import "github.com/google/uuid"

// NamedLimits are limits by the names of the design document.
type NamedLimits struct {
	CPULimit       *int64 `json:"cpu_limit,omitempty" minimum:"0" maximum:"1000000000000" doc:"Limit plus borrowable amount, in millicores"`
	CPURequest     *int64 `json:"cpu_request,omitempty" minimum:"0" maximum:"1000000000000" doc:"Limit, in millicores"`
	MemoryLimit    *int64 `json:"memory_limit,omitempty" minimum:"0" maximum:"1000000000000" doc:"Limit plus borrowable amount, in MiB"`
	MemoryRequest  *int64 `json:"memory_request,omitempty" minimum:"0" maximum:"1000000000000" doc:"Limit, in MiB"`
	GPULimit       *int64 `json:"gpu_limit,omitempty" minimum:"0" maximum:"1000000000000"`
	Pods           *int64 `json:"max_concurrent_pods,omitempty" minimum:"0" maximum:"1000000000000"`
	Workflows      *int64 `json:"max_concurrent_workflows,omitempty" minimum:"0" maximum:"1000000000000"`
	StorageLimit   *int64 `json:"storage_limit,omitempty" minimum:"0" maximum:"900000000" doc:"Limit, in GiB"`
	PriorityWeight *int64 `json:"priority_weight,omitempty" minimum:"1" maximum:"100000" doc:"Weight in percent: 100 is a weight of 1"`
}

// NamedUse is use by the names of the design document.
type NamedUse struct {
	CPU       *int64 `json:"cpu_used,omitempty"`
	Memory    *int64 `json:"memory_used,omitempty"`
	GPU       *int64 `json:"gpu_used,omitempty"`
	Pods      *int64 `json:"pods_running,omitempty"`
	Workflows *int64 `json:"workflows_active,omitempty"`
	Storage   *int64 `json:"storage_used,omitempty" doc:"Storage used, in GiB, rounded up"`
}

// NamedQuota is what an answer about a quota has alongside FlowForge's own fields.
type NamedQuota struct {
	EntityType  string      `json:"entity_type" enum:"installation,tenant,department,group,project" doc:"Kind of entity; a team is a group"`
	EntityID    uuid.UUID   `json:"entity_id"`
	Limits      NamedLimits `json:"limits" doc:"Limits; an absent field has no limit"`
	Used        NamedUse    `json:"used"`
	Available   NamedUse    `json:"available" doc:"Available amounts; an absent field has no limit"`
	Utilization float64     `json:"utilization_percent" doc:"Highest usage of any limit, in percent"`
}
