package launcher

// ResidentWork is an attempt that waits for a warm pod, or that one has taken.
type ResidentWork struct {
	TaskID string
	Pool   string
	Worker string // name of the pod; empty: no pod has taken it
}

// ResidentPool is what one warm pod can serve, one attempt after another: a project, an
// image, resources and pod fields.
type ResidentPool struct {
	ID        string // 32 hex digits
	ProjectID string
	Queued    int     // attempts that no pod has taken
	Busy      int     // attempts that a pod runs
	Attempt   Attempt // one of them, without its token
	Token     string  // token of a new pod of the pool
}
