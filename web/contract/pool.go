package contract

import (
	"time"

	"github.com/google/uuid"
)

// PoolAmount is an amount of resources.
type PoolAmount struct {
	Slots     int    `json:"slots" doc:"Concurrent tasks"`
	CPUMillis int    `json:"cpu_millis" doc:"CPU in millicores; in a capacity, 0 means no limit"`
	MemoryMiB int    `json:"memory_mib" doc:"Memory in MiB; in a capacity, 0 means no limit"`
	GPUs      int    `json:"gpus"`
	GPUType   string `json:"gpu_type,omitempty"`
}

// PoolBody is a pool of workers with the state of its queue.
type PoolBody struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Draining    bool       `json:"draining" doc:"True if the workers of the pool take no more tasks"`
	Restricted  bool       `json:"restricted" doc:"True if only some projects can use the pool"`
	CreatedAt   time.Time  `json:"created_at"`
	CreatedBy   string     `json:"created_by"`
	Workers     int        `json:"workers" doc:"Workers, including those without a heartbeat"`
	Connected   int        `json:"connected" doc:"Workers with a recent heartbeat"`
	Capacity    PoolAmount `json:"capacity" doc:"Total capacity of the connected workers"`
	Used        PoolAmount `json:"used" doc:"Total requests of the running tasks"`
	Queued      int        `json:"queued" doc:"Tasks that wait for a worker"`
	Running     int        `json:"running" doc:"Tasks that workers have taken"`
	WaitSeconds float64    `json:"wait_seconds" doc:"Time in seconds that the first task in the queue has waited; 0 if no task waits"`
}

// PoolList are all pools by name.
type PoolList struct {
	Pools []PoolBody `json:"pools"`
}

// PoolWorker is a worker of a pool.
type PoolWorker struct {
	ID        string            `json:"id"`
	Name      string            `json:"name" doc:"Name of the machine"`
	Labels    map[string]string `json:"labels"`
	Capacity  PoolAmount        `json:"capacity"`
	Version   string            `json:"version" doc:"Version of the program"`
	State     string            `json:"state" enum:"ready,draining,leaving,lost" doc:"State. draining: an administrator drains the worker. leaving: its process exits after its tasks. lost: it sends no heartbeat"`
	Tasks     []string          `json:"tasks" doc:"IDs of its running tasks"`
	JoinedAt  time.Time         `json:"joined_at"`
	Heartbeat time.Time         `json:"heartbeat" doc:"Time of the last heartbeat"`
}

// PoolToken is a token with which workers join a pool, without its secret.
type PoolToken struct {
	ID         string     `json:"id"`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
}

// PoolDetail is a pool with its workers and tokens.
type PoolDetail struct {
	PoolBody

	WorkerList []PoolWorker `json:"worker_list"`
	Tokens     []PoolToken  `json:"tokens"`
}

// PoolAccess says which projects may use a pool.
type PoolAccess struct {
	Restricted bool             `json:"restricted" doc:"false: every project may use the pool; true: the projects at and below the nodes"`
	Nodes      []PoolAccessNode `json:"nodes"`
}

// PoolAccessNode is a tenant, department, team or project that may use a restricted pool.
type PoolAccessNode struct {
	ID       uuid.UUID `json:"id"`
	Kind     string    `json:"kind" enum:"tenant,department,team,project"`
	Path     []string  `json:"path" doc:"Names from the tenant to the node"`
	Archived bool      `json:"archived"`
}

// PoolAccessInput replaces the access to a pool.
type PoolAccessInput struct {
	Restricted bool        `json:"restricted" doc:"false: every project may use the pool, and nodes are not allowed"`
	Nodes      []uuid.UUID `json:"nodes,omitempty" maxItems:"200" doc:"Tenants, departments, teams and projects that may use a restricted pool; without any, no project may use it"`
}

// PoolInput is a new pool.
type PoolInput struct {
	Name        string `json:"name" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" patternDescription:"up to 63 lower-case letters, digits and hyphens" maxLength:"63"`
	Description string `json:"description,omitempty" maxLength:"300"`
}

// PoolDrain starts or ends a drain.
type PoolDrain struct {
	Draining bool `json:"draining" doc:"true: take no more tasks; false: take tasks again"`
}

// NewPoolToken is a new token with its secret, which is not stored.
type NewPoolToken struct {
	PoolToken

	Token string `json:"token" doc:"The token for flowforge worker; returned only once"`
}

// PoolLimit is what the projects at and below a node may run in a pool at the same time.
type PoolLimit struct {
	Tasks *int `json:"tasks,omitempty" minimum:"0" maximum:"2147483647" doc:"Maximum number of running tasks; absent: no limit"`
	GPUs  *int `json:"gpus,omitempty" minimum:"0" maximum:"2147483647" doc:"Maximum number of GPUs in use; absent: no limit"`
}

// PoolShare is what a node uses of a pool, with all nodes below it.
type PoolShare struct {
	Node      PoolAccessNode `json:"node"`
	Limit     PoolLimit      `json:"limit"`
	Running   int            `json:"running" doc:"Running tasks"`
	GPUs      int            `json:"gpus" doc:"GPUs of the running tasks"`
	Queued    int            `json:"queued" doc:"Tasks that wait for a worker"`
	Ended     int            `json:"ended" doc:"Tasks that ended in the last 30 days"`
	TaskHours float64        `json:"task_hours" doc:"Hours of the running tasks and of those that ended in the last 30 days"`
	GPUHours  float64        `json:"gpu_hours" doc:"GPU hours of the running tasks and of those that ended in the last 30 days"`
}

// PoolShareList are the nodes that have a limit in a pool or use it, by path.
type PoolShareList struct {
	Shares []PoolShare `json:"shares" doc:"At most 500"`
}
