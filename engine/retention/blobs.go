package retention

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
)

const (
	chunkMarked  = 1000 // blobs that a project loses in one transaction
	chunkFolders = 500
	chunkStored  = 100 // blobs whose rows are locked while their bytes are deleted
	deletesAtOne = 8

	// deleteTimeout ends the deletes of a chunk before the database ends an idle
	// transaction after ten seconds, and with it the lock on the rows.
	deleteTimeout = 5 * time.Second

	// maxClockSkew is the maximum difference between the clocks of servers.
	maxClockSkew  = time.Minute
	strayInterval = 24 * time.Hour // interval of listing the whole store
)

// sweepProjects removes the unreferenced blobs of every project. conn holds the
// temporary table of marks: when it breaks, the marks are lost and the sweep stops.
func (s *Service) sweepProjects(ctx context.Context, conn *pgxpool.Conn, r *Report) error {
	projects, err := s.queries.ProjectsWithBlobs(ctx)
	if err != nil {
		return fmt.Errorf("list projects: %w", err)
	}
	for _, project := range projects {
		if err := s.sweepProject(ctx, conn, project, r); err != nil {
			return fmt.Errorf("blobs of project %s: %w", project, err)
		}
	}
	return nil
}

func (s *Service) sweepProject(ctx context.Context, conn *pgxpool.Conn, project uuid.UUID, r *Report) error {
	q := db.New(conn)
	// Read before anything is marked: the results of an attempt that ends later are
	// marked, and those of an earlier one already exist.
	before, err := s.removableBefore(ctx, q, project)
	if err != nil {
		return err
	}
	if err := s.mark(ctx, q, project, r.DryRun); err != nil {
		return err
	}
	s.config.Crash("blobs.marked")
	for after := []byte{}; ; {
		rows, err := q.UnmarkedBlobs(ctx, project, before, after, chunkMarked)
		if err != nil {
			return fmt.Errorf("find unreferenced blobs: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		hashes := make([][]byte, len(rows))
		for i, row := range rows {
			hashes[i] = row.Sha256
		}
		after = hashes[len(hashes)-1]
		if r.DryRun {
			err = s.estimateSweep(ctx, q, project, hashes, rows, r)
		} else {
			err = s.dropFromProject(ctx, conn, project, hashes, before, r)
		}
		if err != nil {
			return err
		}
	}
}

// removableBefore is the time since which a blob must not have been requested to be removed:
// the grace period, or the start of the oldest running attempt.
func (s *Service) removableBefore(ctx context.Context, q *db.Queries, project uuid.UUID) (time.Time, error) {
	since, err := q.OldestReservation(ctx, s.now().Add(-s.config.Grace), project)
	if err != nil {
		return time.Time{}, fmt.Errorf("find the oldest attempt: %w", err)
	}
	return since.Add(-db.TouchEvery - maxClockSkew), nil
}

// mark marks the blobs that project references, and the files of referenced folders.
func (s *Service) mark(ctx context.Context, q *db.Queries, project uuid.UUID, dry bool) error {
	var ahead *time.Time
	if dry {
		ahead = new(s.now()) // as if expired executions were removed
	}
	success, failure := secondsOf(s.config.Rule)
	if err := q.MarkBlobs(ctx, project, ahead, success, failure); err != nil {
		return fmt.Errorf("mark referenced blobs: %w", err)
	}
	for {
		hashes, err := q.UnreadFolders(ctx, project, chunkFolders)
		if err != nil {
			return fmt.Errorf("find folders: %w", err)
		}
		if len(hashes) == 0 {
			break
		}
		for _, raw := range hashes {
			if err := s.readFolder(ctx, q, raw); err != nil {
				return err
			}
		}
	}
	if err := q.MarkFolderFiles(ctx); err != nil {
		return fmt.Errorf("mark the files of folders: %w", err)
	}
	return nil
}

// readFolder stores the files that a blob lists when it is the manifest of a folder.
// Bytes never change, so this happens once.
func (s *Service) readFolder(ctx context.Context, q *db.Queries, raw []byte) error {
	files, folder, err := artifact.FolderFiles(ctx, s.config.Store, hex.EncodeToString(raw))
	if err != nil {
		return err
	}
	hashes := make([][]byte, len(files))
	for i, f := range files {
		if hashes[i], err = hex.DecodeString(f); err != nil {
			return fmt.Errorf("folder %x: %w", raw, err)
		}
	}
	if err := q.InsertFolderFiles(ctx, raw, hashes); err != nil {
		return fmt.Errorf("store the files of folder %x: %w", raw, err)
	}
	if err := q.NoteFolder(ctx, folder, raw); err != nil {
		return fmt.Errorf("store folder %x: %w", raw, err)
	}
	return nil
}

// estimateSweep counts what a sweep would remove.
func (s *Service) estimateSweep(ctx context.Context, q *db.Queries, project uuid.UUID, hashes [][]byte, rows []db.UnmarkedBlobsRow, r *Report) error {
	sole, err := q.SoleBytes(ctx, hashes, project)
	if err != nil {
		return fmt.Errorf("count blobs of only one project: %w", err)
	}
	r.ProjectBlobs += int64(len(rows))
	for _, row := range rows {
		r.ProjectBytes += row.Size
	}
	r.Blobs += sole.Blobs
	r.Bytes += sole.Bytes
	return nil
}

// dropFromProject removes blobs from a project, and updates its storage counters.
func (s *Service) dropFromProject(ctx context.Context, conn *pgxpool.Conn, project uuid.UUID, hashes [][]byte, before time.Time, r *Report) error {
	var bytes int64
	var sizes []int64
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		q := db.New(tx)
		var err error
		if sizes, err = q.ForgetProjectBlobs(ctx, project, hashes, before); err != nil {
			return err
		}
		for _, size := range sizes {
			bytes += size
		}
		s.config.Crash("blobs.forgetting")
		return s.config.Free(ctx, q, project, bytes)
	})
	if err != nil {
		return fmt.Errorf("remove blobs of a project: %w", err)
	}
	s.config.Crash("blobs.forgotten")
	r.ProjectBlobs += int64(len(sizes))
	r.ProjectBytes += bytes
	return nil
}

// sweepStore deletes the bytes that no project has. It locks the row of a blob while it
// deletes the bytes; an upload of the same bytes waits for the lock and checks whether
// they exist, so no upload relies on bytes that are being deleted.
func (s *Service) sweepStore(ctx context.Context, r *Report) error {
	if err := s.insertStrayBlobs(ctx, r); err != nil {
		return err
	}
	before := s.now().Add(-s.config.Grace)
	if r.DryRun {
		found, err := s.queries.CountUnclaimed(ctx, before)
		if err != nil {
			return fmt.Errorf("count blobs that no project has: %w", err)
		}
		r.Blobs += found.Blobs
		r.Bytes += found.Bytes
		return nil
	}
	for after := []byte{}; after != nil; {
		var gone []db.LockUnclaimedRow
		var failed error
		err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
			rows, err := q.LockUnclaimed(ctx, after, before, chunkStored)
			if err != nil || len(rows) == 0 {
				after = nil
				return err
			}
			after = rows[len(rows)-1].Sha256
			gone, failed, err = s.deleteHeld(ctx, q, rows)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete blobs that no project has: %w", err)
		}
		s.config.Crash("store.deleted")
		for _, row := range gone {
			r.Blobs++
			r.Bytes += row.Size
			s.config.Count(CountBytes, row.Size)
		}
		s.config.Count(CountBlobs, int64(len(gone)))
		if failed != nil {
			return failed
		}
	}
	return nil
}

// deleteHeld deletes the bytes of the rows that the transaction of q has locked, and
// then the rows of deleted blobs. failed is the error for the others.
func (s *Service) deleteHeld(ctx context.Context, q *db.Queries, rows []db.LockUnclaimedRow) (gone []db.LockUnclaimedRow, failed, err error) {
	hashes := make([][]byte, len(rows))
	for i, row := range rows {
		hashes[i] = row.Sha256
	}
	// Read again under the lock: no upload can claim them from here on.
	claimed, err := q.ReferencedBlobs(ctx, hashes)
	if err != nil {
		return nil, nil, err
	}
	inUse := make(map[string]bool, len(claimed))
	for _, raw := range claimed {
		inUse[string(raw)] = true
	}
	s.config.Crash("store.held")
	deleting, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(deletesAtOne)
	for _, row := range rows {
		if inUse[string(row.Sha256)] {
			continue
		}
		group.Go(func() error {
			if err := deleting.Err(); err != nil { // this process was suspended: another process may have locked the row
				return fmt.Errorf("deleting took too long: %w", err)
			}
			if err := s.config.Store.Delete(deleting, hex.EncodeToString(row.Sha256)); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			gone = append(gone, row)
			return nil
		})
	}
	failed = group.Wait()
	s.config.Crash("store.deleting")
	deleted := make([][]byte, 0, len(gone))
	for _, row := range gone {
		deleted = append(deleted, row.Sha256)
	}
	return gone, failed, q.DeleteBlobs(ctx, deleted)
}

// insertStrayBlobs lists the store once a day and adds rows for blobs without one, as after a
// crash between the store and the database. A later sweep removes those that are still
// unclaimed.
func (s *Service) insertStrayBlobs(ctx context.Context, r *Report) error {
	seen, err := s.queries.StraysSeenAt(ctx)
	if err != nil {
		return fmt.Errorf("read the time of the last listing: %w", err)
	}
	now := s.now()
	if r.DryRun || now.Sub(seen) < strayInterval {
		return nil
	}
	err = s.config.Store.List(ctx, func(blobs []artifact.Blob) error {
		hashes, sizes := make([][]byte, len(blobs)), make([]int64, len(blobs))
		for i, b := range blobs {
			raw, err := hex.DecodeString(b.SHA256)
			if err != nil {
				return fmt.Errorf("blob %s: %w", b.SHA256, err)
			}
			hashes[i], sizes[i] = raw, b.Size
		}
		_, err := s.queries.InsertStrayBlobs(ctx, now, hashes, sizes)
		if err != nil {
			return fmt.Errorf("store strays: %w", err)
		}
		return nil
	})
	if err == nil {
		r.StraysSeenAt = &now
	}
	return err
}
