package execution

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/engine/execution/query"
)

// Service is the engine: the services below, each with one purpose, and the read side. Callers take
// the one that they need. The exported methods of the services authorise the caller first, except
// the methods for the process that composes the engine and its jobs: those of Service, Driver and
// Maintenance, and of Supervisor those that receive what launchers and runners report.
type Service struct {
	*core
	*query.Reader // the read side; its methods are also methods of the Service

	Launches    *LaunchService
	Forecasts   *ForecastService
	Resumption  *ResumeService
	Commands    *CommandService
	DeadLetters *DeadLetterService
	Protection  *ProtectionService
	Semaphores  *SemaphoreService
	Tasks       *TaskService
	Streams     *StreamService
	Secrets     *SecretService
	Channels    *ChannelService
	Watches     *WatchService
	Supervisor  *Supervisor
	Driver      *Driver
	Maintenance *MaintenanceService

	waker *waker
}

// New returns a Service. It does nothing until Run.
func New(c Config) (*Service, error) {
	core, err := newCore(c.withDefaults())
	if err != nil {
		return nil, err
	}
	configMaps, past := &configMaps{core}, &pastResults{core}
	supervisor := &Supervisor{core: core, ends: newObservedEnds()}
	driver := &Driver{core: core, supervisor: supervisor, configMaps: configMaps, past: past}
	snapshots := &snapshots{core: core, driver: driver}
	forecasts := &ForecastService{core}
	launches := &LaunchService{core: core, driver: driver, forecasts: forecasts, configMaps: configMaps}
	resumption := &ResumeService{core: core, launches: launches, past: past}
	commands := &CommandService{core: core, launches: launches}
	streams := &StreamService{core: core, supervisor: supervisor, snapshots: snapshots}
	core.quota.SetOfferHandler(core.wake)
	core.reader = query.New(query.Config{
		Queries: core.reads(), Current: core.queries, Workflows: core.workflows, Quota: core.quota, Estimates: core.estimates, Inputs: snapshots.nodeInputs,
		Cluster: core.config.Cluster, Retention: core.config.Retention, Now: core.now,
	})
	return &Service{
		core:        core,
		Reader:      core.reader,
		Launches:    launches,
		Forecasts:   forecasts,
		Resumption:  resumption,
		Commands:    commands,
		DeadLetters: &DeadLetterService{core: core, commands: commands, resumption: resumption},
		Protection:  &ProtectionService{core},
		Semaphores:  &SemaphoreService{core},
		Tasks:       &TaskService{core: core, supervisor: supervisor, streams: streams, snapshots: snapshots},
		Streams:     streams,
		Secrets:     &SecretService{core},
		Channels:    &ChannelService{core: core, snapshots: snapshots},
		Watches:     &WatchService{core},
		Supervisor:  supervisor,
		Driver:      driver,
		Maintenance: &MaintenanceService{core},
		waker:       &waker{core},
	}, nil
}

// Prepare releases the leases and the reservations of the previous process of this instance.
// Call it before any Drive.
func (s *Service) Prepare(ctx context.Context) error {
	if _, err := s.queries.EnsurePartitions(ctx, s.now(), partitionMonths); err != nil {
		return fmt.Errorf("create partitions: %w", err)
	}
	if _, err := s.queries.ExpireLeasesOf(ctx, s.config.Instance+"/"); err != nil {
		return fmt.Errorf("expire former leases: %w", err)
	}
	if s.config.Quotas != nil {
		return nil
	}
	return s.quota.Prepare(ctx)
}

// partitionMonths is how many months ahead partitions exist.
const partitionMonths = 2

// Run follows and leads until ctx ends, for the only server on a database. The drive jobs
// run separately (package jobs): stop them first, then Run.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if s.config.Quotas == nil {
		group.Go(func() error { return s.quota.Run(ctx) })
	}
	group.Go(func() error { return s.Follow(ctx) })
	group.Go(func() error { return s.Lead(ctx) })
	return group.Wait()
}
