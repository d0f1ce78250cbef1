package artifact

import (
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// The store keeps bytes once for all projects, and a hash is not a secret: a project
// may read and reference only the bytes that were uploaded to it. Other bytes are
// absent to it, even if another project has them.

// Upload stores bytes in the current project, and returns their blob. It returns
// apperr.Quota when a level has no storage left.
func (s *Service) Upload(ctx context.Context, r io.Reader) (Blob, error) {
	subject, err := auth.Authorize(ctx, auth.ArtifactWrite)
	if err != nil {
		return Blob{}, err
	}
	blob, err := s.store.Put(ctx, r, "")
	if err != nil {
		return Blob{}, err
	}
	return blob, s.addReference(ctx, subject.ProjectID, blob, func(q *db.Queries, fresh int64) error {
		if fresh == 0 && blob.Size > 0 {
			return nil // the project has it
		}
		if err := s.count(ctx, q, subject.ProjectID, fresh, true); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "blob.upload", Kind: "blob", ID: blob.SHA256, TenantID: subject.TenantID, ProjectID: subject.ProjectID, New: map[string]int64{"bytes": blob.Size},
		})
	})
}

// TakeOutput stores an output file of the calling task; its bytes must have hash. It
// ignores storage limits, so that no work is lost.
func (s *Service) TakeOutput(ctx context.Context, r io.Reader, hash string) (Blob, error) {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return Blob{}, err
	}
	if err := checkHash(hash); err != nil {
		return Blob{}, err
	}
	blob, err := s.store.Put(ctx, r, hash)
	if err != nil {
		return Blob{}, err
	}
	return blob, s.addReference(ctx, subject.ProjectID, blob, func(q *db.Queries, fresh int64) error {
		return s.count(ctx, q, subject.ProjectID, fresh, false)
	})
}

// addReference adds a reference of project to blob, and calls then with the number of bytes
// that are new to it in the same transaction. It returns apperr.Quota when a storage
// limit is exceeded.
func (s *Service) addReference(ctx context.Context, project uuid.UUID, blob Blob, then func(q *db.Queries, fresh int64) error) error {
	raw, err := decodeHash(blob.SHA256)
	if err != nil {
		return err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := s.claim(ctx, q, raw, blob); err != nil {
			return err
		}
		fresh, err := q.ReferBlobs(ctx, project, s.now(), [][]byte{raw}, []int64{blob.Size})
		if err != nil {
			return err
		}
		return then(q, fresh)
	})
	if apperr.Is(err, apperr.Quota) || apperr.Is(err, apperr.Unavailable) {
		return err
	}
	if err != nil {
		return fmt.Errorf("keep blob %s for project %s: %w", blob.SHA256, project, err)
	}
	return nil
}

// claim protects the bytes of blob from sweeps until the transaction of q ends, and
// checks that no sweep has removed them in the meantime.
func (s *Service) claim(ctx context.Context, q *db.Queries, raw []byte, blob Blob) error {
	if err := q.ClaimBlob(ctx, raw, blob.Size, s.now()); err != nil {
		return err
	}
	_, err := s.store.Stat(ctx, blob.SHA256)
	if apperr.Is(err, apperr.NotFound) {
		return apperr.Wrap(apperr.Unavailable, err, "A cleanup removed this file during the upload. Upload it again.")
	}
	return err
}

// Blob returns the size of bytes that project has, or apperr.NotFound. For a folder, by
// its media type, the project must also have every file.
func (s *Service) Blob(ctx context.Context, project uuid.UUID, hash, mediaType string) (Blob, error) {
	if err := mayRead(ctx, project, hash); err != nil {
		return Blob{}, err
	}
	blob, err := s.blobOf(ctx, project, hash)
	if err != nil || mediaType != DirectoryMediaType {
		return blob, err
	}
	files, err := s.filesOf(ctx, hash)
	if err != nil {
		return Blob{}, err
	}
	return blob, s.hasAll(ctx, project, files)
}

// OpenBlob returns bytes that project has for reading, or apperr.NotFound.
func (s *Service) OpenBlob(ctx context.Context, project uuid.UUID, hash string) (*Reader, error) {
	if err := mayRead(ctx, project, hash); err != nil {
		return nil, err
	}
	if _, err := s.blobOf(ctx, project, hash); err != nil {
		return nil, err
	}
	return s.store.Open(ctx, hash)
}

// Files returns the hashes of the files of a folder that project has.
func (s *Service) Files(ctx context.Context, project uuid.UUID, hash string) ([]string, error) {
	if err := mayRead(ctx, project, hash); err != nil {
		return nil, err
	}
	if _, err := s.blobOf(ctx, project, hash); err != nil {
		return nil, err
	}
	return s.filesOf(ctx, hash)
}

// Has reports whether the current project has the bytes under hash.
func (s *Service) Has(ctx context.Context, hash string) (bool, error) {
	subject, err := auth.Authorize(ctx, auth.ArtifactRead)
	if err != nil {
		return false, err
	}
	_, err = s.blobOf(ctx, subject.ProjectID, hash)
	if apperr.Is(err, apperr.NotFound) || apperr.Is(err, apperr.Invalid) { // absent, or not a hash
		return false, nil
	}
	return err == nil, err
}

// mayRead authorizes users and the engine to read, and a task to read in its project.
func mayRead(ctx context.Context, project uuid.UUID, hash string) error {
	action := auth.ArtifactRead
	if s, ok := auth.SubjectOf(ctx); ok && s.Role == auth.RoleTask {
		action = auth.TaskReport
	}
	_, err := auth.AuthorizeIn(ctx, action, project, noBlob(hash))
	return err
}

func noBlob(hash string) error { return apperr.New(apperr.NotFound, "There is no blob %s.", hash) }

// blobOf finds a blob that project has.
func (s *Service) blobOf(ctx context.Context, project uuid.UUID, hash string) (Blob, error) {
	raw, err := decodeHash(hash)
	if err != nil {
		return Blob{}, err
	}
	found, err := db.New(s.pool).FindBlobs(ctx, project, [][]byte{raw}, s.now())
	if err != nil {
		return Blob{}, fmt.Errorf("blob %s: %w", hash, err)
	}
	size, ok := found[string(raw)]
	if !ok {
		return Blob{}, noBlob(hash)
	}
	return Blob{SHA256: hash, Size: size}, nil
}

// filesOf reads the hashes of the files of a folder.
func (s *Service) filesOf(ctx context.Context, hash string) ([]string, error) {
	manifest, err := s.store.Open(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer manifest.Close()
	d, err := ReadDirectory(manifest)
	if err != nil {
		return nil, err
	}
	files := make([]string, len(d.Entries))
	for i, e := range d.Entries {
		files[i] = e.SHA256
	}
	return files, nil
}

// hasAll returns NotFound for a hash that project does not have.
func (s *Service) hasAll(ctx context.Context, project uuid.UUID, hashes []string) error {
	raw := make([][]byte, len(hashes))
	for i, h := range hashes {
		b, err := decodeHash(h)
		if err != nil {
			return err
		}
		raw[i] = b
	}
	found, err := db.New(s.pool).FindBlobs(ctx, project, raw, s.now())
	if err != nil {
		return err
	}
	for i, h := range hashes {
		if _, ok := found[string(raw[i])]; !ok {
			return noBlob(h)
		}
	}
	return nil
}
