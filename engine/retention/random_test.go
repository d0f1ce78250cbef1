package retention

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
)

// world is the model of a test: the references between objects. It does not model marks
// and sweeps.
type world struct {
	*testBundle
	rng      *rand.Rand
	projects []uuid.UUID

	owned      map[uuid.UUID]map[string]time.Time // bytes of projects, with the time of the last request
	folders    map[string][]string                // files by manifest
	executions map[uuid.UUID]*modelExecution
	artifacts  map[uuid.UUID]*modelArtifact
	standing   map[uuid.UUID][]string // referenced by the catalogue and by definitions
}

type modelExecution struct {
	project       uuid.UUID
	names         []string // bytes
	uses          []uuid.UUID
	expired, kept bool
}

type modelArtifact struct {
	project, execution uuid.UUID
	hash               string
}

func newWorld(t *testing.T, seed uint64, store artifact.Remover) *world {
	t.Helper()
	w := &world{
		testBundle: setup(t, store, nil), rng: rand.New(rand.NewPCG(seed, 7)), owned: map[uuid.UUID]map[string]time.Time{},
		folders: map[string][]string{}, executions: map[uuid.UUID]*modelExecution{}, artifacts: map[uuid.UUID]*modelArtifact{}, standing: map[uuid.UUID][]string{},
	}
	w.projects = []uuid.UUID{auth.LocalProject, w.project("other")}
	for _, p := range w.projects {
		w.owned[p] = map[string]time.Time{}
	}
	return w
}

func pick[T any](w *world, from []T) T { return from[w.rng.IntN(len(from))] }

// bring uploads one of a few texts, so that projects share bytes and upload them
// repeatedly.
func (w *world) bring(p uuid.UUID) string {
	hash := w.upload(p, fmt.Sprint("text ", w.rng.IntN(40)))
	w.owned[p][hash] = w.clock.Now()
	return hash
}

// some returns bytes of p, requested like by a caller that is about to reference them.
func (w *world) some(p uuid.UUID) string {
	all := slices.Sorted(maps.Keys(w.owned[p]))
	if len(all) == 0 || w.rng.IntN(4) == 0 {
		return w.bring(p)
	}
	hash := pick(w, all)
	mediaType := ""
	if w.folders[hash] != nil {
		mediaType = artifact.DirectoryMediaType
	}
	_, err := w.testBundle.artifacts.Blob(auth.AsSystem(w.ctx), p, hash, mediaType)
	require.NoError(w.t, err, "%s of %s is missing, although nothing released it", hash, p)
	w.owned[p][hash] = w.clock.Now()
	for _, f := range w.folders[hash] {
		w.owned[p][f] = w.clock.Now()
	}
	return hash
}

func (w *world) ended() []uuid.UUID {
	var ids []uuid.UUID
	for id := range w.executions {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// act performs one random action of a user or engine.
func (w *world) act() {
	p := pick(w, w.projects)
	switch kind := w.rng.IntN(12); {
	case kind <= 1:
		w.bring(p)
	case kind == 2:
		files := []string{w.some(p), w.some(p)}
		files = slices.DeleteFunc(files, func(h string) bool { return w.folders[h] != nil })
		manifest := w.folder(p, files...)
		w.folders[manifest], w.owned[p][manifest] = append([]string{}, files...), w.clock.Now()
	case kind <= 4:
		w.launch(p)
	case kind <= 6:
		w.produce()
	case kind == 7:
		hash := w.some(p)
		id := uuid.New()
		w.exec(`INSERT INTO catalogue_entries (id, project_id, kind, name, version, facts, blob, created_by, created_at)
			VALUES ($1, $2, 'Dataset', $3, '1.0.0', '{}', $4, 'ada', now())`, id, p, id.String(), `{"sha256": "`+hash+`", "media_type": "x"}`)
		w.standing[p] = append(w.standing[p], hash)
	case kind == 8:
		hash := w.some(p)
		w.version(p, `{"operators": [{"code": {"package": "sha256:`+hash+`"}}]}`)
		w.standing[p] = append(w.standing[p], hash)
	case kind == 9:
		if ids := w.ended(); len(ids) > 0 {
			id := pick(w, ids)
			w.testBundle.expire(id)
			w.executions[id].expired = true
		}
	case kind == 10:
		if ids := w.ended(); len(ids) > 0 {
			id := pick(w, ids)
			if w.executions[id].kept = !w.executions[id].kept; w.executions[id].kept {
				require.NoError(w.t, w.Keep(w.ctx, id))
			} else {
				require.NoError(w.t, w.Release(w.ctx, id))
			}
		}
	default:
		w.clock.add(time.Duration(w.rng.IntN(20)) * time.Hour)
	}
}

// launch inserts an execution that references a file, a folder, or the artifact of
// another execution.
func (w *world) launch(p uuid.UUID) {
	hash := w.some(p)
	id := w.testBundle.execution(p, "SUCCEEDED", `{"deep": [{"$file": "`+hash+`"}]}`)
	e := &modelExecution{project: p, names: []string{hash}}
	w.executions[id] = e
	for artifactID, a := range w.artifacts {
		if a.project == p && w.rng.IntN(4) == 0 && w.use(p, id, artifactID) {
			e.uses = append(e.uses, artifactID)
			break
		}
	}
	if w.rng.IntN(3) == 0 {
		saved := w.some(p)
		w.exec(`INSERT INTO checkpoint_folders (execution_id, node_index, attempt, sha256, size, saved_at) VALUES ($1, 0, 1, decode($2, 'hex'), 1, now())`, id, saved)
		e.names = append(e.names, saved)
	}
}

// produce creates an artifact of an execution.
func (w *world) produce() {
	ids := w.ended()
	if len(ids) == 0 {
		return
	}
	id := pick(w, ids)
	e := w.executions[id]
	hash := w.some(e.project)
	mediaType := "text/plain"
	if w.folders[hash] != nil {
		mediaType = artifact.DirectoryMediaType
	}
	w.artifacts[w.publish(e.project, id, hash, mediaType)] = &modelArtifact{e.project, id, hash}
}

// swept removes from the model what a completed sweep has removed: expired executions,
// and then the unused artifacts.
func (w *world) swept() {
	for id, e := range w.executions {
		if e.expired && !e.kept {
			delete(w.executions, id)
		}
	}
	used := map[uuid.UUID]bool{}
	for _, e := range w.executions {
		for _, id := range e.uses {
			used[id] = true
		}
	}
	for id, a := range w.artifacts {
		if w.executions[a.execution] == nil && !used[id] {
			delete(w.artifacts, id)
		}
	}
	for _, p := range w.projects {
		named := w.named(p)
		for hash, requested := range w.owned[p] {
			// The recorded time of a request may be this much older than the request.
			if !named[hash] && w.clock.Now().Sub(requested) > DefaultGrace {
				delete(w.owned[p], hash)
			}
		}
	}
}

// named returns what p references, directly or in folders.
func (w *world) named(p uuid.UUID) map[string]bool {
	names := slices.Clone(w.standing[p])
	for _, e := range w.executions {
		if e.project == p {
			names = append(names, e.names...)
		}
	}
	for _, a := range w.artifacts {
		if a.project == p {
			names = append(names, a.hash)
		}
	}
	named := map[string]bool{}
	for _, hash := range names {
		named[hash] = true
		for _, file := range w.folders[hash] {
			named[file] = true
		}
	}
	return named
}

// check checks that everything referenced exists; with all, that nothing else exists.
func (w *world) check(all bool, when string) {
	inStore := map[string]bool{}
	for _, p := range w.projects {
		var bytes int64
		have := map[string]bool{}
		rows, err := w.pool.Query(w.ctx, `SELECT sha256, size FROM project_blobs WHERE project_id = $1`, p)
		require.NoError(w.t, err)
		for rows.Next() {
			var raw []byte
			var size int64
			require.NoError(w.t, rows.Scan(&raw, &size))
			have[hex.EncodeToString(raw)] = true
			bytes += size
		}
		require.NoError(w.t, rows.Err())
		require.Equal(w.t, bytes, w.testBundle.stored(p), "%s: the counters of the storage", when)
		named := w.named(p)
		for hash := range named {
			require.True(w.t, have[hash], "%s: %s of %s is referenced and missing", when, hash, p)
		}
		for hash := range have {
			inStore[hash] = true
			_, err := w.store.Stat(w.ctx, hash)
			require.NoError(w.t, err, "%s: %s", when, hash)
			require.True(w.t, !all || named[hash], "%s: %s of %s exists and is not referenced", when, hash, p)
		}
	}
	for id, a := range w.artifacts {
		require.EqualValues(w.t, 1, w.count(`SELECT count(*) FROM artifacts WHERE id = $1`, id), "%s: artifact of %s", when, a.execution)
	}
	for id := range w.executions {
		require.EqualValues(w.t, 1, w.count(`SELECT count(*) FROM nodes WHERE execution_id = $1`, id), when)
	}
	if !all {
		return
	}
	require.EqualValues(w.t, len(w.artifacts), w.count(`SELECT count(*) FROM artifacts`), when)
	require.EqualValues(w.t, len(w.executions), w.count(`SELECT count(*) FROM executions`), when)
	require.NoError(w.t, w.store.List(w.ctx, func(blobs []artifact.Blob) error {
		for _, b := range blobs {
			require.True(w.t, inStore[b.SHA256], "%s: %s is in the store, but in no project", when, b.SHA256)
		}
		return nil
	}))
}

// stopped sweeps with a stop at one of its points, like a killed process, and reports
// whether it completed.
func (w *world) stopped(at int) (ended bool) {
	n := 0
	w.crash = func(point string) {
		if n++; n == at {
			panic(stop(point))
		}
	}
	defer func() {
		w.crash = func(string) {}
		if r := recover(); r != nil {
			if _, ours := r.(stop); !ours {
				panic(r)
			}
		}
	}()
	r, err := w.Sweep(w.ctx, false)
	require.NoError(w.t, err)
	require.Empty(w.t, r.Error)
	return true
}

// stop is the point at which a test stopped a sweep.
type stop string

// forgetExpired removes from the model what a stopped sweep may have begun to remove.
func (w *world) forgetExpired() {
	for id, e := range w.executions {
		if e.expired && !e.kept && w.count(`SELECT count(*) FROM executions WHERE id = $1 AND removal_began_at IS NULL`, id) == 0 {
			delete(w.executions, id)
		}
	}
	used := map[uuid.UUID]bool{}
	for _, e := range w.executions {
		for _, id := range e.uses {
			used[id] = true
		}
	}
	for id, a := range w.artifacts {
		if w.executions[a.execution] == nil && !used[id] {
			delete(w.artifacts, id)
		}
	}
}

func TestRandomWorldsKeepWhatIsNamed(t *testing.T) {
	t.Parallel()
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, uint64(seed), nil)
			w.play()
		})
	}
}

// play acts and sweeps, with stops everywhere, and checks for a clean state at the end.
func (w *world) play() {
	for round := range 8 {
		for range 12 {
			w.act()
		}
		when := fmt.Sprint("round ", round)
		if w.stopped(1 + w.rng.IntN(30)) {
			w.swept()
		} else {
			w.forgetExpired()
			when += ", stopped"
		}
		w.check(false, when)
		w.sync()
	}
	w.clock.add(5 * 24 * time.Hour)
	w.sweep()
	w.swept()
	w.clock.add(5 * 24 * time.Hour)
	w.sweep() // what the first left for the grace period
	w.swept()
	w.check(true, "at the end")
}

// sync removes bytes from the model that a sweep removed: unreferenced ones, last
// requested before the grace period.
func (w *world) sync() {
	for _, p := range w.projects {
		for hash, requested := range w.owned[p] {
			if in, _ := w.has(p, hash); !in {
				require.Greater(w.t, w.clock.Now().Sub(requested), DefaultGrace, "%s was removed within its grace period", hash)
				delete(w.owned[p], hash)
			}
		}
	}
}
