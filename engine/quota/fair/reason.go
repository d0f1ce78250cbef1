package fair

import (
	"time"

	"github.com/google/uuid"
)

// The codes of a Reason. Other parts of the engine write the last three in the same
// field.
const (
	CPUUnavailable    = "CPU_UNAVAILABLE" // *_UNAVAILABLE: the cluster has none left
	MemoryUnavailable = "MEMORY_UNAVAILABLE"
	GPUUnavailable    = "GPU_UNAVAILABLE" // also: enough GPUs, but not together
	PodsUnavailable   = "PODS_UNAVAILABLE"
	QuotaExceeded     = "QUOTA_EXCEEDED" // a level of the tenancy tree has none left
	BehindInFairShare = "BEHIND_IN_FAIR_SHARE"
	Preempted         = "PREEMPTED"
	ExecutionsLimit   = "EXECUTIONS_LIMIT"
	StorageLimit      = "STORAGE_LIMIT"
	Mutex             = "MUTEX"
	Paused            = "PAUSED"
	RetryBudget       = "RETRY_BUDGET"
)

// LevelRef identifies and names a level.
type LevelRef struct {
	ID   uuid.UUID `json:"id"`
	Kind string    `json:"kind"`
	Name string    `json:"name"`
}

// String returns "team Vision"; the installation is "the cluster".
func (l LevelRef) String() string {
	if l.Kind == "installation" {
		return "the cluster"
	}
	return l.Kind + " " + l.Name
}

// toRelatives names the level in texts for its siblings and their children: tenants
// never see each other's names.
func (l LevelRef) toRelatives() string {
	if l.Kind == "tenant" {
		return "another tenant"
	}
	return l.String()
}

// Reason explains why a request waits, as a sentence and as numbers in Unit.
type Reason struct {
	Code      string    `json:"code"`
	Message   string    `json:"message"`
	Resource  Resource  `json:"resource,omitempty"`
	Unit      string    `json:"unit,omitempty"`
	Requested int64     `json:"asked,omitempty"`
	Free      int64     `json:"free"` // amount of Resource available at Level now
	Capacity  int64     `json:"capacity,omitempty"`
	Missing   int64     `json:"missing,omitempty"`
	Level     *LevelRef `json:"level,omitempty"` // the level that lacks it
	Holders   []Holder  `json:"holders,omitempty"`
	// Position is its position in the queue when the reason was given, 1 is next; Ahead
	// is the number of earlier requests for the same resource.
	Position int `json:"position,omitempty"`
	Ahead    int `json:"ahead,omitempty"`
	// StartsFrom and StartsTo are the expected range of its start, from history; nil
	// without history.
	StartsFrom *time.Time `json:"starts_from,omitempty"`
	StartsTo   *time.Time `json:"starts_to,omitempty"`
	// Basis is the number of earlier attempts behind the least certain part of that
	// estimate.
	Basis int    `json:"basis,omitempty"`
	Score *Score `json:"score,omitempty"`
	// Preempting counts the attempts that are being preempted for it.
	Preempting int `json:"preempting,omitempty"`
}

// Holder is an execution that holds some of the missing resource.
type Holder struct {
	Execution uuid.UUID `json:"execution_id"`
	Node      int       `json:"node"` // the node that holds most; -1 is the execution itself
	Nodes     int       `json:"nodes"`
	Amount    int64     `json:"amount"`
	// Project holds it, and Owner is the relative it counts for: the level
	// below Reason.Level on the way to Project.
	Project  LevelRef   `json:"project"`
	Owner    LevelRef   `json:"owner"`
	Borrowed bool       `json:"borrowed,omitempty"` // Owner is above its guarantee
	EndsFrom *time.Time `json:"ends_from,omitempty"`
	EndsTo   *time.Time `json:"ends_to,omitempty"`
}

// Score is the rank of a waiting request. Where the paths of two requests diverge, the
// one that borrows less far goes first, then the branch of the lower Score; inside a
// project Effective decides, then age.
type Score struct {
	// Distance is how far up it has to borrow: 0 is within every guarantee on
	// its path, 1 is beyond the one of its project, 2 beyond its team's, and so on.
	Distance int          `json:"distance"`
	Levels   []LevelScore `json:"levels"` // from the tenant down to the project
	// Effective = Base + Weight + Waiting − Utilisation.
	Base        float64 `json:"base"`
	Weight      float64 `json:"weight"`      // 20 for a project of weight 1
	Waiting     float64 `json:"waiting"`     // up to 10 after an hour
	Utilisation float64 `json:"utilisation"` // up to 5 above 80 % of a limit on its path
	Effective   float64 `json:"effective"`
}

// LevelScore is the rank of a level among its siblings: the lowest Score goes first,
// and 1 is exactly its share of what the parent has.
type LevelScore struct {
	Level    LevelRef `json:"level"`
	Weight   float64  `json:"weight"`
	Share    float64  `json:"share"`    // of what the parent has, in its dominant resource, now
	History  float64  `json:"history"`  // the same for its decayed use
	Dominant Resource `json:"dominant"` // the resource with its largest share
	Score    float64  `json:"score"`    // both, by weight; see Config.HistoryWeight
}
