package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
)

const (
	watchEvery = time.Second // while pools have attempts
	tidyEvery  = time.Minute
	// busyAfter is how long an attempt waits before its node shows that the workers are busy.
	busyAfter = 2 * time.Second
	// abandonedAfter is the age at which a waiting attempt that the engine does not count is removed.
	abandonedAfter = time.Minute
	// forgottenAfter is how long a lost worker stays listed.
	forgottenAfter = 24 * time.Hour
	maxWaiting     = 5000
	lostBatch      = 500
)

// Run ends the attempts of lost workers and updates why attempts wait, until ctx is cancelled. One
// server at a time calls it: the leader.
func (s *Service) Run(ctx context.Context, observe Observe) {
	since, tidied, reported := time.Now(), time.Time{}, time.Time{}
	for ctx.Err() == nil {
		turn, most := s.config.Watch.Turn(), db.Safety
		work, err := s.queries.AnyPoolWork(ctx)
		if work && err == nil {
			most = watchEvery
			err = s.explain(ctx, observe)
		}
		if work && time.Since(since) >= s.config.LostAfter && time.Since(reported) >= shortagesEvery && err == nil {
			reported = time.Now()
			err = s.reportShortages(ctx)
		}
		if work && time.Since(since) >= s.config.LostAfter && err == nil { // until then, this server may have missed heartbeats
			err = s.endLost(ctx, observe)
		}
		if time.Since(tidied) >= tidyEvery && err == nil {
			tidied = time.Now()
			err = s.tidy(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("watch the pools of workers", "error", err)
			since = time.Now() // workers could not send heartbeats either
			most = watchEvery
		}
		turn.Rest(ctx, nil, watchEvery, most)
	}
}

// Lost reports that the process of a worker ended without delivering attempts.
func Lost(observe Observe, now func() time.Time) func(ctx context.Context, worker string, taskIDs []string) error {
	return func(ctx context.Context, worker string, taskIDs []string) error {
		return observe(ctx, lostAttempts(taskIDs, fmt.Sprintf("The worker %s was restarted while the task was running.", worker), now()))
	}
}

func lostAttempts(taskIDs []string, message string, at time.Time) []launcher.Observation {
	seen := make([]launcher.Observation, len(taskIDs))
	for i, id := range taskIDs {
		seen[i] = launcher.Observation{TaskID: id, End: &launcher.End{Class: launcher.ClassMachineLost, Message: message, FinishedAt: at}}
	}
	return seen
}

// endLost ends the attempts of workers without a heartbeat. An attempt is reported before its row
// is deleted, so a crash in between only repeats the report.
func (s *Service) endLost(ctx context.Context, observe Observe) error {
	rows, err := s.queries.LostPoolWork(ctx, s.config.LostAfter.Seconds(), lostBatch)
	if err != nil {
		return fmt.Errorf("list attempts of lost workers: %w", err)
	}
	lost := map[uuid.UUID][]string{}
	var seen []launcher.Observation
	for _, r := range rows {
		message := fmt.Sprintf("The worker %s of the pool %s sent no heartbeat for %s.", r.Name, r.Pool, s.config.LostAfter)
		seen = append(seen, lostAttempts([]string{r.TaskID}, message, s.config.Now())...)
		lost[r.Worker] = append(lost[r.Worker], r.TaskID)
	}
	if len(seen) == 0 {
		return nil
	}
	if err := observe(ctx, seen); err != nil {
		return err
	}
	for worker, tasks := range lost {
		if _, err := s.queries.EndPoolWork(ctx, &worker, tasks); err != nil {
			return fmt.Errorf("end attempts of worker %s: %w", worker, err)
		}
	}
	return nil
}

// tidy removes attempts that the engine no longer counts, and workers that are gone.
func (s *Service) tidy(ctx context.Context) error {
	if _, err := s.queries.DropAbandonedPoolWork(ctx, s.config.Now().Add(-abandonedAfter)); err != nil {
		return fmt.Errorf("remove abandoned attempts: %w", err)
	}
	if err := s.queries.PrunePoolUse(ctx, s.config.Now().Add(-keepUse)); err != nil {
		return fmt.Errorf("remove the former use of pools: %w", err)
	}
	if _, err := s.queries.ForgetPoolWorkers(ctx, max(forgottenAfter, s.config.LostAfter).Seconds()); err != nil {
		return fmt.Errorf("remove former workers: %w", err)
	}
	return nil
}

// explain writes why attempts wait, as far as it changed.
func (s *Service) explain(ctx context.Context, observe Observe) error {
	waiting, err := s.queries.WaitingPoolWork(ctx, maxWaiting)
	if err != nil {
		return fmt.Errorf("list waiting attempts: %w", err)
	}
	if len(waiting) == 0 {
		return nil
	}
	pools, err := s.list(ctx, "")
	if err != nil {
		return err
	}
	workers, err := s.workers(ctx, "")
	if err != nil {
		return err
	}
	limits, err := s.queries.PoolLimits(ctx)
	if err != nil {
		return fmt.Errorf("list the limits of pools: %w", err)
	}
	now := s.config.Now()
	var seen []launcher.Observation
	var changed []db.WaitingPoolWorkRow
	for _, w := range waiting {
		reason := whyWaiting(w, pools, workers, limits)
		if reason.Message == w.Reason || reason.Code == launcher.WaitPoolBusy && now.Sub(w.QueuedAt) < busyAfter {
			continue
		}
		seen = append(seen, launcher.Observation{TaskID: w.TaskID, Waiting: &reason})
		w.Reason = reason.Message
		changed = append(changed, w)
	}
	if len(seen) == 0 {
		return nil
	}
	if err := observe(ctx, seen); err != nil {
		return err
	}
	reasons := make(map[string]string, len(changed))
	for _, w := range changed {
		reasons[w.TaskID] = w.Reason
	}
	encoded, err := json.Marshal(reasons)
	if err != nil {
		return fmt.Errorf("encode why attempts wait: %w", err)
	}
	if err := s.queries.SetPoolWorkReasons(ctx, encoded); err != nil {
		return fmt.Errorf("store why attempts wait: %w", err)
	}
	return nil
}

// whyWaiting explains why no worker has taken an attempt.
func whyWaiting(w db.WaitingPoolWorkRow, pools []Pool, workers []Worker, limits []db.PoolLimitsRow) launcher.Waiting {
	i := slices.IndexFunc(pools, func(p Pool) bool { return p.Name == w.Pool })
	if i < 0 {
		return waiting(launcher.WaitPoolEmpty, "The pool %s no longer exists. An administrator can create it again.", w.Pool)
	}
	if pools[i].Draining {
		return waiting(launcher.WaitPoolEmpty, "The pool %s is being drained: its workers take no tasks. An administrator can end the drain.", w.Pool)
	}
	connected := slices.DeleteFunc(slices.Clone(workers), func(k Worker) bool { return k.Pool != w.Pool || !k.Connected })
	if len(connected) == 0 {
		return waiting(launcher.WaitPoolEmpty, "No worker of the pool %s is connected. Start one, or ask an administrator to start one.", w.Pool)
	}
	ready := slices.DeleteFunc(slices.Clone(connected), func(k Worker) bool { return k.Draining || k.Leaving })
	if len(ready) == 0 {
		return waiting(launcher.WaitPoolEmpty, "All connected workers of the pool %s are being drained. Start another worker, or ask an administrator to end the drain.", w.Pool)
	}
	required := labelsOf(w.Labels)
	labelled := slices.DeleteFunc(slices.Clone(ready), func(k Worker) bool { return !hasLabels(k.Labels, required) })
	if len(labelled) == 0 {
		return waiting(launcher.WaitPoolUnfit, "No connected worker of the pool %s has the %s. Start such a worker, or change the task.", w.Pool, labelText(required))
	}
	if !slices.ContainsFunc(labelled, func(k Worker) bool { return k.Capacity.holds(w) }) {
		return waiting(launcher.WaitPoolUnfit, "No connected worker of the pool %s is large enough: the task requests %s. Start a larger worker, or reduce the request.", w.Pool, requestText(w))
	}
	if reason := limited(w, limits); reason != nil {
		return *reason
	}
	return waiting(launcher.WaitPoolBusy, "The workers of the pool %s have no capacity left for this task.", w.Pool)
}

func waiting(code, format string, args ...any) launcher.Waiting {
	return launcher.Waiting{Code: code, Message: fmt.Sprintf(format, args...)}
}

func hasLabels(have, required map[string]string) bool {
	for key, value := range required {
		if got, ok := have[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// holds reports whether an idle worker of this capacity can run w.
func (a Amount) holds(w db.WaitingPoolWorkRow) bool {
	return (a.CPUMillis == 0 || int(w.CpuMillis) <= a.CPUMillis) && (a.MemoryMiB == 0 || int(w.MemoryMib) <= a.MemoryMiB) &&
		int(w.Gpus) <= a.GPUs && (w.GpuType == "" || w.GpuType == a.GPUType)
}

func labelText(labels map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	if len(parts) == 1 {
		return "label " + parts[0]
	}
	return "labels " + strings.Join(parts, ", ")
}

func requestText(w db.WaitingPoolWorkRow) string {
	parts := []string{fmt.Sprintf("%g CPU cores", float64(w.CpuMillis)/1000), fmt.Sprintf("%d MiB of memory", w.MemoryMib)}
	if w.Gpus > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", w.Gpus, strings.TrimSpace(cmp.Or(w.GpuType, "")+" GPUs")))
	}
	return strings.Join(parts, ", ")
}
