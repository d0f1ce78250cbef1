package artifact

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/channel/mark"
	"github.com/flowforge/flowforge/db"
)

const (
	// MaxBatchBlob is the largest blob of a batch, in bytes.
	MaxBatchBlob = 1 << 20
	// MaxBatchBlobs bounds the blobs of a batch.
	MaxBatchBlobs = 2000

	batchPuts = 16 // uploads of a batch to an object store at a time
)

// Incoming is a blob of a batch: its hash and its bytes.
type Incoming struct {
	SHA256 string
	Bytes  []byte
}

// Next returns the next blob of a batch, and io.EOF at its end. The bytes are valid until
// the next call.
type Next func() (Incoming, error)

// batchStore is a Store that makes many blobs durable at the cost of one.
type batchStore interface {
	PutAll(ctx context.Context, next Next) ([]Blob, error)
}

// TakeOutputs stores small files that the calling task produces. All are stored, or the
// error explains why not; blobs that were stored before the error stay. As with TakeOutput, no
// limit rejects them.
func (s *Service) TakeOutputs(ctx context.Context, next Next) error {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return err
	}
	store, ok := s.store.(batchStore)
	if !ok {
		store = singly{s.store}
	}
	blobs, err := store.PutAll(ctx, bounded(next))
	if err != nil || len(blobs) == 0 {
		return err
	}
	return s.addReferences(ctx, subject.ProjectID, blobs)
}

// bounded checks the hash, the size and the number of blobs.
func bounded(next Next) Next {
	n := 0
	return func() (Incoming, error) {
		in, err := next()
		if err != nil {
			return in, err
		}
		if n++; n > MaxBatchBlobs {
			return in, apperr.New(apperr.Invalid, "A batch can have at most %d blobs.", MaxBatchBlobs)
		}
		if len(in.Bytes) > MaxBatchBlob {
			return in, apperr.New(apperr.Invalid, "A blob in a batch can have at most %d bytes.", MaxBatchBlob)
		}
		if err := checkHash(in.SHA256); err != nil {
			return in, err
		}
		sum := sha256.Sum256(in.Bytes)
		return in, checkExpected(Blob{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(in.Bytes))}, in.SHA256)
	}
}

// addReferences is addReference for many blobs in one transaction.
func (s *Service) addReferences(ctx context.Context, project uuid.UUID, blobs []Blob) error {
	hashes, sizes := make([][]byte, len(blobs)), make([]int64, len(blobs))
	for i, b := range blobs {
		raw, err := decodeHash(b.SHA256)
		if err != nil {
			return err
		}
		hashes[i], sizes[i] = raw, b.Size
	}
	err := db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.ClaimBlobs(ctx, s.now(), hashes, sizes); err != nil {
			return err
		}
		if err := s.statAll(ctx, blobs); err != nil {
			return err
		}
		fresh, err := q.ReferBlobs(ctx, project, s.now(), hashes, sizes)
		if err != nil {
			return err
		}
		return s.count(ctx, q, project, fresh, false)
	})
	if err != nil && !apperr.Is(err, apperr.Unavailable) {
		return fmt.Errorf("keep %d blobs for project %s: %w", len(blobs), project, err)
	}
	return err
}

// statAll fails when a sweep removed a blob between its Put and its claim.
func (s *Service) statAll(ctx context.Context, blobs []Blob) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(batchPuts)
	for _, b := range blobs {
		group.Go(func() error {
			_, err := s.store.Stat(ctx, b.SHA256)
			return err
		})
	}
	err := group.Wait()
	if apperr.Is(err, apperr.NotFound) {
		return apperr.Wrap(apperr.Unavailable, err, "A cleanup removed blobs during the upload. Upload them again.")
	}
	return err
}

// singly stores a batch in a store that has no cheaper way, several blobs at a time.
type singly struct{ store Store }

// PutAll implements batchStore.
func (s singly) PutAll(ctx context.Context, next Next) ([]Blob, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(batchPuts)
	var blobs []Blob
	for {
		in, err := next()
		if errors.Is(err, io.EOF) {
			return blobs, group.Wait()
		}
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		blobs = append(blobs, Blob{SHA256: in.SHA256, Size: int64(len(in.Bytes))})
		content := bytes.Clone(in.Bytes)
		group.Go(func() error {
			_, err := s.store.Put(ctx, bytes.NewReader(content), in.SHA256)
			return err
		})
	}
}

// PutAll implements batchStore. One syncfs makes the bytes durable before the renames,
// and another one the renames: an fsync for each file would take longer than everything
// else together.
func (s *DiskStore) PutAll(ctx context.Context, next Next) (blobs []Blob, err error) {
	folder := s.join("tmp", rand.Text())
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, diskError(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for {
		in, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		target, err := s.path(in.SHA256)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, Blob{SHA256: in.SHA256, Size: int64(len(in.Bytes))})
		if there, err := os.Stat(target); err == nil && there.Size() == int64(len(in.Bytes)) {
			continue
		}
		err = writeMarked(filepath.Join(folder, in.SHA256), in.Bytes)
		if err != nil && !errors.Is(err, fs.ErrExist) { // the batch can have the same bytes twice
			return nil, diskError(err)
		}
	}
	return blobs, diskError(s.publishAll(folder))
}

// writeMarked creates a file that no task can be given for writing.
func writeMarked(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, mark.Set(f), f.Close())
}

// publishAll moves the finished files of a folder to their places.
func (s *DiskStore) publishAll(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := syncFileSystem(folder); err != nil {
		return err
	}
	for _, e := range entries {
		target, err := s.path(e.Name())
		if err != nil {
			return err
		}
		if err := moveTo(target, filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return syncFileSystem(folder)
}

// moveTo moves a file to target and creates the folder of target if it is missing.
func moveTo(target, file string) error {
	err := os.Rename(file, target)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(target), 0o700)
		if err == nil {
			err = os.Rename(file, target)
		}
	}
	return err
}

// syncFileSystem writes everything of the file system that dir is on to the disk.
func syncFileSystem(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
