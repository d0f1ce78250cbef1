package executions

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/platform/sharing"
)

// seriesReader reads the curves of metrics.
type seriesReader func(context.Context, telemetry.MetricQuery) ([]telemetry.Series, error)

// artifactLister lists artifacts.
type artifactLister func(context.Context, artifact.Filter) (artifact.Page, error)

// shareFor is how long the streams of one execution share what they read at every slow tick.
const shareFor = slowInterval / 2

// sharedReads are reads of the streams of execution pages. Many readers can watch one execution.
type sharedReads struct {
	pages     *Pages
	series    *sharing.Reads[seriesKey, sharedSeries]
	artifacts *sharing.Reads[artifactsKey, artifact.Page]
}

// seriesKey and artifactsKey are what a result depends on. A reader sees one project.
type seriesKey struct {
	project, execution uuid.UUID
	node               string
}

type artifactsKey struct{ project, execution uuid.UUID }

// sharedSeries are curves, and the number of received points before they were read.
type sharedSeries struct {
	series   []telemetry.Series
	received uint64
}

func newSharedReads(h *Pages) *sharedReads {
	return &sharedReads{
		pages:  h,
		series: sharing.New[seriesKey, sharedSeries](shareFor, time.Now), artifacts: sharing.New[artifactsKey, artifact.Page](shareFor, time.Now),
	}
}

// taskSeries reads the curves that tasks report. They contain the first received points, and can lack
// later ones (telemetry.Service.Received).
func (s *sharedReads) taskSeries(ctx context.Context, q telemetry.MetricQuery) (series []telemetry.Series, received uint64, err error) {
	subject, err := auth.Authorize(ctx, auth.LogRead)
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // it names its context
	}
	found, err := s.series.Get(ctx, seriesKey{subject.ProjectID, q.ExecutionID, q.Node}, func(ctx context.Context) (out sharedSeries, err error) {
		out.received, _ = s.pages.Telemetry.Received(ctx, q.ExecutionID)
		out.series, err = s.pages.bestSeries(ctx, q)
		return out, err
	})
	return found.series, found.received, err
}

// listArtifacts lists the first artifacts of an execution.
func (s *sharedReads) listArtifacts(ctx context.Context, f artifact.Filter) (artifact.Page, error) {
	subject, err := auth.Authorize(ctx, auth.ArtifactRead)
	if err != nil {
		return artifact.Page{}, err //nolint:wrapcheck // it names its context
	}
	return s.artifacts.Get(ctx, artifactsKey{subject.ProjectID, *f.ExecutionID}, func(ctx context.Context) (artifact.Page, error) {
		return s.pages.Artifacts.List(ctx, f)
	})
}
