package fair

import (
	"time"

	"github.com/google/uuid"
)

// The codes of a Reason. The last three belong to other parts of the engine,
// which write them in the same field.
const (
	CPUUnavailable    = "CPU_UNAVAILABLE" // *_UNAVAILABLE: the cluster has no more
	MemoryUnavailable = "MEMORY_UNAVAILABLE"
	GPUUnavailable    = "GPU_UNAVAILABLE" // also: enough GPUs, but not together
	PodsUnavailable   = "PODS_UNAVAILABLE"
	QuotaExceeded     = "QUOTA_EXCEEDED" // a level of the tenancy tree has no more
	BehindInFairShare = "BEHIND_IN_FAIR_SHARE"
	Preempted         = "PREEMPTED"
	ExecutionsLimit   = "EXECUTIONS_LIMIT"
	StorageLimit      = "STORAGE_LIMIT"
	Mutex             = "MUTEX"
	Paused            = "PAUSED"
	RetryBudget       = "RETRY_BUDGET"
)

// LevelRef names a level for programs and readers.
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

// toRelatives names the level in what its siblings and their children read:
// tenants learn nothing of each other.
func (l LevelRef) toRelatives() string {
	if l.Kind == "tenant" {
		return "another tenant"
	}
	return l.String()
}

// Reason says why something waits, in plain words and as numbers in Unit.
type Reason struct {
	Code     string    `json:"code"`
	Message  string    `json:"message"`
	Resource Resource  `json:"resource,omitempty"`
	Unit     string    `json:"unit,omitempty"`
	Asked    int64     `json:"asked,omitempty"`
	Free     int64     `json:"free"` // what it could get of Resource at Level now
	Capacity int64     `json:"capacity,omitempty"`
	Missing  int64     `json:"missing,omitempty"`
	Level    *LevelRef `json:"level,omitempty"` // where it is short
	Holders  []Holder  `json:"holders,omitempty"`
	// Position is its place in the queue when the reason was given, 1 is next;
	// Ahead is how many of the same resource go before it.
	Position int `json:"position,omitempty"`
	Ahead    int `json:"ahead,omitempty"`
	// StartsFrom and StartsTo are the band in which it probably starts, from
	// history; nil when that is missing.
	StartsFrom *time.Time `json:"starts_from,omitempty"`
	StartsTo   *time.Time `json:"starts_to,omitempty"`
	// Basis is how many earlier attempts the least known part of that rests on.
	Basis int    `json:"basis,omitempty"`
	Score *Score `json:"score,omitempty"`
	// Preempting counts the attempts that were asked to make room for it.
	Preempting int `json:"preempting,omitempty"`
}

// Holder is an execution that holds some of the missing resource.
type Holder struct {
	Execution uuid.UUID `json:"execution_id"`
	Node      int       `json:"node"` // the one that holds most; -1 is the execution itself
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

// Score is the standing of a waiting request. Where the paths of two requests
// part, the one that borrows less far goes first, then the branch of the lower
// Score; inside a project Effective decides, then age.
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

// LevelScore is the standing of a level among its siblings: the lowest Score
// goes first, and 1 is exactly its share of what the parent has.
type LevelScore struct {
	Level    LevelRef `json:"level"`
	Weight   float64  `json:"weight"`
	Share    float64  `json:"share"`    // of what the parent has, in its dominant resource, now
	History  float64  `json:"history"`  // the same of its decayed use
	Dominant Resource `json:"dominant"` // the resource of which it uses most
	Score    float64  `json:"score"`    // both, by weight; see Config.HistoryWeight
}
