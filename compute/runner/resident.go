package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// takeWait is how long the server may hold the response that there is no work.
	takeWait    = 20 * time.Second
	defaultIdle = 2 * time.Minute
)

// Pool identifies the work of a warm pod: attempts of one project with the same image,
// resources and pod fields. The pod's Secret holds it as JSON.
type Pool struct {
	Pool        string `json:"pool"`
	Worker      string `json:"worker"` // the pod's name
	Token       string `json:"token"`  // valid for the pool only and for a short time; each response renews it
	APIEndpoint string `json:"api_endpoint"`
	ProjectID   string `json:"project_id"`
	IdleSeconds int    `json:"idle_seconds"`
}

// Resident runs the attempts that the server assigns to pool, one after another, until
// none arrives within the idle time, the server no longer needs the worker, or ctx is
// cancelled: then the current attempt ends as described at Task. Attempts are isolated
// from each other: each has its own supervisor, folders and environment, and clean
// empties what the container shares between them.
func Resident(ctx context.Context, config Config, pool Pool, clean func()) error {
	r := &resident{config: config, pool: pool, server: config.Server.connect(), logger: config.Logger, last: time.Now()}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	defer r.server.http.CloseIdleConnections()
	end, err := r.warm()
	if err != nil {
		return err
	}
	defer end()
	idle := time.Duration(pool.IdleSeconds) * time.Second
	if idle <= 0 {
		idle = defaultIdle
	}
	for n := 1; ctx.Err() == nil; n++ {
		r.config.warm.tick(time.Now())
		spec, leave, err := r.take(ctx, idle-time.Since(r.last))
		switch {
		case err != nil && ctx.Err() != nil, leave:
			return nil
		case err != nil:
			return err
		case spec == nil:
			if time.Since(r.last) >= idle {
				return nil
			}
			continue
		}
		if err := r.run(ctx, spec, n); err != nil {
			return err
		}
		clean()
		r.finished, r.last = spec.TaskId, time.Now()
	}
	return nil
}

// warm makes attempts forks of processes that outlive each of them, until end is called.
func (r *resident) warm() (end func(), err error) {
	limit := r.config.Warm
	if limit.Parents <= 0 {
		return func() {}, nil
	}
	if all := readCgroup().limit(); all > 0 {
		limit.MemoryMiB = min(limit.MemoryMiB, all/warmPodShare>>20)
	}
	forker, err := newForker()
	if err != nil {
		return nil, err
	}
	buffers := &sync.Pool{New: func() any { return new([readBuffer]byte) }}
	r.config.warm = newWarmPool(forker, limit, buffers, r.logger)
	return func() {
		r.config.warm.close()
		forker.close()
	}, nil
}

// resident is a worker of a pool.
type resident struct {
	config   Config
	pool     Pool
	server   *server
	logger   *slog.Logger
	finished string    // the last attempt
	last     time.Time // when it ended
}

// take requests the next attempt. The server may wait for one as long as the worker stays
// anyway.
func (r *resident) take(ctx context.Context, left time.Duration) (spec *flowforgev1.AttemptSpec, leave bool, err error) {
	message := &flowforgev1.TakeWorkRequest{
		Worker: r.pool.Worker, Finished: r.finished, WaitMs: max(0, min(takeWait, left)).Milliseconds(),
	}
	var answer *flowforgev1.TakeWorkResponse
	err = r.server.persistently(ctx, nil, func() error {
		ctx, cancel := context.WithTimeout(ctx, takeWait+deliverLimit)
		defer cancel()
		req := connect.NewRequest(message)
		req.Header().Set("Authorization", "Bearer "+r.pool.Token)
		resp, err := r.server.tasks.TakeWork(ctx, req)
		if err != nil {
			return rpcError("work", err)
		}
		answer = resp.Msg
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("take work of pool %s: %w", r.pool.Pool, err)
	}
	if answer.Token != "" {
		r.pool.Token = answer.Token
	}
	if len(answer.Spec) == 0 {
		return nil, answer.Leave, nil
	}
	spec = &flowforgev1.AttemptSpec{}
	if err := proto.Unmarshal(answer.Spec, spec); err != nil {
		return nil, false, fmt.Errorf("take work of pool %s: %w", r.pool.Pool, err)
	}
	if spec.ProjectId != r.pool.ProjectID {
		return nil, false, errForeignProject
	}
	return spec, false, nil
}

var errForeignProject = errors.New("the server assigned an attempt of another project")

// run runs one attempt in its own folder.
func (r *resident) run(ctx context.Context, spec *flowforgev1.AttemptSpec, n int) error {
	config := r.config
	config.Dir = filepath.Join(r.config.Dir, strconv.Itoa(n))
	defer os.RemoveAll(config.Dir)
	pod := Pod{}
	if config.Pod != nil {
		pod = *config.Pod
	}
	pod.Scratch, pod.OwnHome = filepath.Join(config.Dir, "scratch"), true
	config.Pod = &pod
	if spec.GetApiEndpoint() != "" && config.Server.URL == "" {
		config.Server.URL = spec.GetApiEndpoint()
	}
	end, err := Task(ctx, config, spec)
	if err != nil {
		return fmt.Errorf("attempt %s: %w", spec.TaskId, err)
	}
	r.logger.Info("An attempt has ended.", "task", spec.TaskId, "outcome", OutcomeName(end.GetOutcome()), "reported", end.Reported)
	return nil
}

// ReadPool reads a pool's JSON.
func ReadPool(path string) (Pool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Pool{}, err
	}
	var pool Pool
	if err := json.Unmarshal(data, &pool); err != nil {
		return Pool{}, fmt.Errorf("%s: %w", path, err)
	}
	return pool, nil
}
