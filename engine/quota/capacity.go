package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Capacity is the capacity of an installation: of one machine when tasks run as local
// processes, of all machines of a cluster when they run as pods.
type Capacity struct {
	CPUMillis int           `json:"cpu_millis"`
	MemoryMiB int           `json:"memory_mib"`
	Pods      int           `json:"pods"` // processes or pods at the same time
	GPUs      []fair.Device `json:"-"`    // of this machine, which are assigned individually
	// ClusterGPUs counts by type the GPUs that a cluster places itself; "" counts GPUs
	// of unknown type.
	ClusterGPUs map[string]int `json:"gpus,omitempty"`
	// InUse is the part in use by other workloads, which is not available now.
	InUse *Capacity `json:"taken,omitempty"`
}

func (c Capacity) zero() bool {
	return c.CPUMillis == 0 && c.MemoryMiB == 0 && c.Pods == 0 && len(c.GPUs) == 0 && len(c.ClusterGPUs) == 0
}

func (c Capacity) equal(o Capacity) bool {
	return c.CPUMillis == o.CPUMillis && c.MemoryMiB == o.MemoryMiB && c.Pods == o.Pods && maps.Equal(c.ClusterGPUs, o.ClusterGPUs) &&
		maps.Equal(c.inUse(), o.inUse())
}

// inUse is the use by other workloads, by resource.
func (c Capacity) inUse() fair.Vector {
	if c.InUse == nil {
		return nil
	}
	return c.InUse.vector()
}

// vector is c by resource. Each type of GPU is a separate resource.
func (c Capacity) vector() fair.Vector {
	v := fair.Vector{
		fair.CPU: int64(c.CPUMillis), fair.Memory: int64(c.MemoryMiB), fair.Pods: int64(c.Pods), fair.GPU: int64(len(c.GPUs)),
	}
	for _, d := range c.GPUs {
		if d.Type != "" {
			v[fair.OfType(d.Type)]++
		}
	}
	for name, n := range c.ClusterGPUs {
		v[fair.GPU] += int64(n)
		if kind := gpuTypeOf(name); kind != "" {
			v[fair.OfType(kind)] += int64(n)
		}
	}
	return v
}

// Capacity returns the capacity of the installation. Until a cluster has reported its
// capacity, it is the zero Capacity and the root has no limit.
func (l *Levels) Capacity() Capacity {
	if c := l.capacity.Load(); c != nil {
		return *c
	}
	return Capacity{}
}

// bounds is the limit of the root.
func (l *Levels) bounds() fair.Vector {
	if c := l.capacity.Load(); c != nil {
		return c.vector()
	}
	return fair.Vector{}
}

// SetCapacity stores the current capacity of the cluster for all servers on the
// database. Only the server that watches the cluster, with Config.Cluster, calls it.
// Reservations stay when the capacity shrinks; nothing new begins until it fits.
func (l *Levels) SetCapacity(ctx context.Context, c Capacity) error {
	if err := l.readCapacity(ctx, l.queries); err != nil {
		return err
	}
	if known := l.capacity.Load(); known != nil && known.equal(c) {
		return nil
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the capacity: %w", err)
	}
	if _, err := l.queries.SetClusterCapacity(ctx, encoded); err != nil {
		return fmt.Errorf("write the capacity of the cluster: %w", err)
	}
	return l.Reload(ctx)
}

// readCapacity reads the capacity that the server that watches the cluster stored.
func (l *Levels) readCapacity(ctx context.Context, q *db.Queries) error {
	if !l.cluster {
		return nil
	}
	raw, err := q.GetClusterCapacity(ctx)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the capacity of the cluster: %w", err)
	}
	var c Capacity
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("the capacity of the cluster: %w", err)
	}
	l.capacity.Store(&c)
	return nil
}
