package kube

// Project is a project of the tenancy tree, as far as the cluster has to know it.
type Project struct {
	ID        string
	TenantID  string
	Slug      string // what people recognise
	Namespace string // its namespace's name, which never changes
	Archived  bool
	Limits    Limits
}

// Limits are those of a project's quota; nil is no limit.
type Limits struct {
	CPUMillis, MemoryMiB, Pods, GPUs, StorageMiB *int64
}
