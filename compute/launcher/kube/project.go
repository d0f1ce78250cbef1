package kube

// Project is the part of a project in the tenancy tree that the cluster needs.
type Project struct {
	ID        string
	TenantID  string
	Slug      string // display name
	Namespace string // name of its namespace, which never changes
	Archived  bool
	Limits    Limits
}

// Limits are those of a project's quota; nil: no limit.
type Limits struct {
	CPUMillis, MemoryMiB, Pods, GPUs, StorageMiB *int64
}
