package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Remover is a Store that can remove blobs. The caller ensures that the blobs are
// unreferenced and not being uploaded (package retention).
type Remover interface {
	Store
	// Delete removes a blob; it succeeds when the blob does not exist.
	Delete(ctx context.Context, hash string) error
	// List visits all blobs in batches, in no order.
	List(ctx context.Context, visit func([]Blob) error) error
}

// listed is the maximum number of blobs per batch of a folder.
const listed = 1000

// Delete implements Remover.
func (s *DiskStore) Delete(_ context.Context, hash string) error {
	name, err := s.path(hash)
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove blob %s: %w", hash, err)
	}
	return nil
}

// List implements Remover. It skips objects that are not blobs.
func (s *DiskStore) List(ctx context.Context, visit func([]Blob) error) error {
	var found []Blob
	root := s.join("data")
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed concurrently
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err() //nolint:wrapcheck // it ended
		case entry.IsDir() || !ValidHash(path.Base(name)):
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		if found = append(found, Blob{SHA256: path.Base(name), Size: info.Size()}); len(found) < listed {
			return nil
		}
		err, found = visit(found), nil
		return err
	})
	if err == nil && len(found) > 0 {
		err = visit(found)
	}
	if err != nil {
		return fmt.Errorf("list the artifact store: %w", err)
	}
	return nil
}

// Delete implements Remover.
func (s *S3Store) Delete(ctx context.Context, hash string) error {
	key, err := s.blobKey(hash)
	if err != nil {
		return err
	}
	_, err = s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.cfg.Bucket, Key: &key})
	if statusOf(err) == http.StatusNotFound { // other stores report it, AWS does not
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove blob %s: %w", hash, storeError(err))
	}
	return nil
}

// List implements Remover. It skips objects that are not blobs.
func (s *S3Store) List(ctx context.Context, visit func([]Blob) error) error {
	prefix := s.key("data/")
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.cfg.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, storeError(err))
		}
		var found []Blob
		for _, o := range page.Contents {
			if hash := path.Base(aws.ToString(o.Key)); ValidHash(hash) {
				found = append(found, Blob{SHA256: hash, Size: aws.ToInt64(o.Size)})
			}
		}
		if len(found) == 0 {
			continue
		}
		if err := visit(found); err != nil {
			return err
		}
	}
	return nil
}
