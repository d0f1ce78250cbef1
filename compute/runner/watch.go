package runner

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	sampleEvery   = time.Second
	pruneEvery    = time.Hour
	checkpointAge = 14 * 24 * time.Hour
	unusedAge     = 30 * 24 * time.Hour // for packages and virtual environments
	recentLimit   = 20_000
	toolGrace     = 3 * time.Second
)

// recentIDs remembers the most recently delivered attempts, so that a late retry of Start
// does not run them again.
type recentIDs struct {
	ids  map[string]struct{}
	ring []string
	next int
}

func (r *recentIDs) has(id string) bool {
	_, ok := r.ids[id]
	return ok
}

func (r *recentIDs) add(id string) {
	if r.ids == nil {
		r.ids = make(map[string]struct{})
	}
	if len(r.ring) < recentLimit {
		r.ring = append(r.ring, id)
	} else {
		delete(r.ids, r.ring[r.next])
		r.ring[r.next] = id
		r.next = (r.next + 1) % recentLimit
	}
	r.ids[id] = struct{}{}
}

// watch samples memory, sends heartbeats and prunes the caches.
func (s *Supervisor) watch() {
	ticker := time.NewTicker(min(sampleEvery, s.config.Heartbeat, s.config.SampleUse))
	defer ticker.Stop()
	beat, used := time.Now(), time.Now()
	var pruned time.Time
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-ticker.C:
			beating := now.Sub(beat) >= s.config.Heartbeat
			if beating {
				beat = now
			}
			measuring := now.Sub(used) >= s.config.SampleUse
			if measuring {
				used = now
			}
			s.sample(now, beating, measuring)
			s.warm.tick(now)
			if s.config.OwnProcess {
				s.forker.sweepOrphans(s.processes.ownerOf, func(string) bool { return false })
			}
			if now.Sub(pruned) >= pruneEvery {
				pruned = now
				s.prune(now)
			}
		}
	}
}

// sweepAfter kills the processes that escaped from the attempt that has just ended. A
// process that hides its owner is killed when nothing else runs.
func (s *Supervisor) sweepAfter(taskID string) {
	if !s.config.OwnProcess {
		return
	}
	s.forker.sweepOrphans(s.processes.ownerOf, func(id string) bool {
		if id != "" {
			return id == taskID
		}
		running, _ := s.counts()
		return running <= 1
	})
}

func (s *Supervisor) prune(now time.Time) {
	s.blobs.prune(now)
	removeOlder(filepath.Join(s.config.Dir, checkpointsFolder), "", now.Add(-checkpointAge))
	removeOlder(s.packages.dir, "", now.Add(-unusedAge))
	removeOlder(s.environments.dir, ".flowforge-ready", now.Add(-unusedAge))
}

// removeOlder removes the folders of dir that are older than limit, by the time of the
// folder or of its file marker.
func removeOlder(dir, marker string, limit time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, err := os.Stat(filepath.Join(path, marker))
		if err == nil && entry.IsDir() && info.ModTime().Before(limit) {
			_ = os.RemoveAll(path)
		}
	}
}

// runTool runs a tool of the runner, such as pip, and passes its output lines to line.
func (s *Supervisor) runTool(ctx context.Context, c command, env environ, dir string, line func(string)) (exit, error) {
	var mu sync.Mutex
	splitter := lineSplitter{emit: line}
	take := func(p []byte) {
		mu.Lock()
		defer mu.Unlock()
		splitter.write(p)
	}
	child, err := s.forker.startChild(c, env, dir, &s.buffers, take, take)
	if err != nil {
		return exit{}, err
	}
	unwatch := context.AfterFunc(ctx, func() {
		child.signal(syscall.SIGTERM)
		time.AfterFunc(toolGrace, func() { child.signal(syscall.SIGKILL) })
	})
	defer unwatch()
	status, err := child.wait(func() {})
	splitter.close()
	return status, err
}
