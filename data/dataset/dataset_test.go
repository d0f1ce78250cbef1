package dataset_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/data/dataset/drift"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/typeregistry"
)

const kind = typeregistry.KindDataset

type bundle struct {
	t         *testing.T
	pool      *pgxpool.Pool
	mia, vera context.Context // a developer and a viewer
	catalogue *catalogue.Service
	artifacts *artifact.Service
	datasets  *dataset.Service
}

func person(t *testing.T, name, role string) context.Context {
	t.Helper()
	s := auth.Subject{ID: uuid.New(), Name: name, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: auth.Everywhere(role)}
	return auth.WithSubject(t.Context(), s)
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, pool: dbtest.New(t), mia: person(t, "mia", auth.ProjectDev), vera: person(t, "vera", auth.Viewer)}
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	b.artifacts = artifact.NewService(b.pool, store, time.Now)
	b.catalogue = catalogue.NewService(b.pool, time.Now)
	b.datasets, err = dataset.NewService(dataset.Config{Pool: b.pool, Catalogue: b.catalogue, Artifacts: b.artifacts, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	require.NoError(t, err)
	return b
}

func (b *bundle) register(version, csv, filename string) catalogue.Entry {
	b.t.Helper()
	e := catalogue.Entry{Kind: kind, Name: "digits", Version: version}
	if csv != "" {
		blob, err := b.artifacts.Upload(b.mia, io.Reader(strings.NewReader(csv)))
		require.NoError(b.t, err)
		e.Blob = &catalogue.BlobRef{SHA256: blob.SHA256, Size: blob.Size, MediaType: "text/csv", Filename: filename}
		if filename == "notes.txt" {
			e.Blob.MediaType = "text/plain"
		}
	}
	e, created, err := b.catalogue.Register(b.mia, e)
	require.NoError(b.t, err, "%+v", apperr.FieldsOf(err))
	require.True(b.t, created)
	return e
}

// jobs counts the jobs that wait.
func (b *bundle) jobs() int {
	b.t.Helper()
	var n int
	require.NoError(b.t, b.pool.QueryRow(b.t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'profile'").Scan(&n))
	return n
}

func rows(n int, value func(i int) int) string {
	var s strings.Builder
	s.WriteString("label,split\n")
	for i := range n {
		fmt.Fprintf(&s, "%d,train\n", value(i))
	}
	return s.String()
}

func TestStatisticsAreComputedAndComparedWithTheFormerVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := b.register("1", rows(1000, func(i int) int { return i % 10 }), "digits.csv")
	require.Equal(t, 1, b.jobs(), "the registration enqueues the job")
	_, stats, err := b.datasets.Statistics(b.vera, kind, "digits@1")
	require.NoError(t, err)
	require.Equal(t, dataset.Waiting, stats.State)

	require.NoError(t, b.datasets.Compute(b.mia, one.ID))
	_, stats, err = b.datasets.Statistics(b.vera, kind, "digits@1")
	require.NoError(t, err)
	require.Equal(t, dataset.Ready, stats.State)
	require.EqualValues(t, 1000, stats.Profile.Rows)
	require.EqualValues(t, 10, stats.Profile.Columns[0].Distinct)
	change, err := b.datasets.Compare(b.vera, kind, "digits@1", "")
	require.NoError(t, err)
	require.True(t, change.First)

	two := b.register("2", rows(1200, func(i int) int { return i % 5 }), "digits.csv")
	change, err = b.datasets.Compare(b.vera, kind, "digits", "")
	require.NoError(t, err)
	require.Equal(t, "1", change.Before.Version)
	require.Nil(t, change.Report, "the statistics of version 2 are not ready")
	require.NoError(t, b.datasets.Compute(b.mia, two.ID))
	change, err = b.datasets.Compare(b.vera, kind, "digits", "")
	require.NoError(t, err)
	require.Equal(t, drift.Moved, change.Report.Find("label").Verdict)
	require.Equal(t, drift.Same, change.Report.Find("split").Verdict)
	_, err = b.datasets.Compare(b.vera, kind, "digits", "9")
	require.Equal(t, "against", apperr.FieldsOf(err)[0].Path)

	d, err := b.datasets.Get(b.vera, kind, "digits", "")
	require.NoError(t, err)
	require.EqualValues(t, 1200, d.Versions[0].Rows)
	require.False(t, d.MayChange)
	list, next, err := b.datasets.List(b.vera, kind, "DIG", "")
	require.NoError(t, err)
	require.Empty(t, next)
	require.Equal(t, 2, list[0].Versions)
	require.EqualValues(t, 1200, list[0].Rows)
	require.EqualValues(t, 2, list[0].Columns)

	table, err := b.datasets.Rows(b.vera, two, preview.Query{Limit: 2, Columns: 10})
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(0), "train"}, {int64(1), "train"}}, table.Rows)
}

func TestVersionsWithoutValuesSayWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("1", "", "")
	_, stats, err := b.datasets.Statistics(b.mia, kind, "digits@1")
	require.NoError(t, err)
	require.Equal(t, dataset.Absent, stats.State)
	require.Contains(t, stats.Problem, "without a file")
	require.Equal(t, apperr.Conflict, apperr.CodeOf(b.datasets.Refresh(b.mia, kind, "digits@1")))
	require.Zero(t, b.jobs())

	for version, want := range map[string]string{"2": "not a table", "3": "UTF-8"} {
		name, content := "notes.txt", "hello"
		if version == "3" {
			name, content = "x.csv", "\xff\xfe\x00\n1\n"
		}
		e := b.register(version, content, name)
		require.NoError(t, b.datasets.Compute(b.mia, e.ID), "what is wrong with a file is no failure of the job")
		_, stats, err = b.datasets.Statistics(b.mia, kind, "digits@"+version)
		require.NoError(t, err)
		require.Equal(t, dataset.Failed, stats.State)
		require.Contains(t, stats.Problem, want)
	}
}

// TestStatisticsThatCannotBeStoredAreReleased: the next attempt of the job computes them, instead of the
// one that finds the claim stale.
func TestStatisticsThatCannotBeStoredAreReleased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.register("1", "hello", "notes.txt")
	_, err := b.pool.Exec(t.Context(), "ALTER TABLE dataset_profiles ADD CONSTRAINT never_fails CHECK (state <> 'failed')")
	require.NoError(t, err)
	require.ErrorContains(t, b.datasets.Compute(b.mia, e.ID), "never_fails")
	_, err = b.pool.Exec(t.Context(), "ALTER TABLE dataset_profiles DROP CONSTRAINT never_fails")
	require.NoError(t, err)
	require.NoError(t, b.datasets.Compute(b.mia, e.ID))
	_, stats, err := b.datasets.Statistics(b.mia, kind, "digits@1")
	require.NoError(t, err)
	require.Equal(t, dataset.Failed, stats.State)
}

// TestStatisticsOfValuesWithNUL: PostgreSQL stores no NUL in JSON.
func TestStatisticsOfValuesWithNUL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.register("1", "a,b\nx\x00y,1\nz,2\n", "d.csv")
	require.NoError(t, b.datasets.Compute(t.Context(), e.ID))
	var state, top string
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT state, profile #>> '{columns,0,top,0,value}' FROM dataset_profiles WHERE entry_id = $1`, e.ID).Scan(&state, &top))
	require.Equal(t, "ready xy", state+" "+top)
}

func TestStatisticsThatNeverFinishEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.register("1", rows(10, func(i int) int { return i }), "digits.csv")
	for range 3 { // three processes died in the middle
		_, err := b.pool.Exec(t.Context(), "UPDATE dataset_profiles SET attempts = attempts + 1, started_at = now() - interval '1 hour'")
		require.NoError(t, err)
	}
	require.NoError(t, b.datasets.ComputeWaiting(b.mia))
	_, stats, err := b.datasets.Statistics(b.mia, kind, "digits")
	require.NoError(t, err)
	require.Equal(t, dataset.Failed, stats.State)
	require.Contains(t, stats.Problem, "3 attempts")

	require.Error(t, b.datasets.Refresh(b.vera, kind, "digits@1"))
	require.NoError(t, b.datasets.Refresh(b.mia, kind, "digits@1"))
	require.Equal(t, 2, b.jobs())
	require.NoError(t, b.datasets.ComputeWaiting(b.mia))
	_, stats, err = b.datasets.Statistics(b.mia, kind, "digits")
	require.NoError(t, err)
	require.Equal(t, dataset.Ready, stats.State)
	require.NoError(t, b.datasets.Compute(b.mia, e.ID), "a second job has nothing to do")
}

func TestAliasesNameVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("1", "", "")
	b.register("2", "", "")
	require.Error(t, b.datasets.SetAlias(b.vera, kind, "digits", "golden", "1"))
	for alias, path := range map[string]string{"2": "alias", "latest": "alias", "a b": "alias", "golden": ""} {
		err := b.datasets.SetAlias(b.mia, kind, "digits", alias, "1")
		if path == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, path, apperr.FieldsOf(err)[0].Path, alias)
	}
	_, ref, err := b.catalogue.Pin(b.vera, kind, "digits@golden")
	require.NoError(t, err)
	require.Equal(t, "digits@1", ref, "a launch uses the version that the alias means then")
	require.NoError(t, b.datasets.SetAlias(b.mia, kind, "digits", "golden", "2"))
	d, err := b.datasets.Get(b.mia, kind, "digits", "")
	require.NoError(t, err)
	require.Equal(t, []string{"golden"}, d.Versions[0].Aliases)
	require.Empty(t, d.Versions[1].Aliases)
	require.NoError(t, b.datasets.RemoveAlias(b.mia, kind, "digits", "golden"))
	require.Equal(t, apperr.NotFound, apperr.CodeOf(b.datasets.RemoveAlias(b.mia, kind, "digits", "golden")))
	var audited []string
	found, err := b.pool.Query(t.Context(), "SELECT action FROM audit_log WHERE action LIKE 'dataset.%' ORDER BY id")
	require.NoError(t, err)
	for found.Next() {
		var action string
		require.NoError(t, found.Scan(&action))
		audited = append(audited, action)
	}
	require.NoError(t, found.Err())
	require.Equal(t, []string{"dataset.alias_set", "dataset.alias_set", "dataset.alias_removed"}, audited)
}
