package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

// partUpload is a multipart upload. The object does not exist before complete.
type partUpload struct {
	store *S3Store
	key   string
	id    *string

	mu    sync.Mutex
	parts []types.CompletedPart
}

func (s *S3Store) beginUpload(ctx context.Context, key string) (*partUpload, error) {
	out, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &s.cfg.Bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	if err != nil {
		return nil, storeError(err)
	}
	return &partUpload{store: s, key: key, id: out.UploadId}, nil
}

// all uploads first and then the rest of in, several parts at once.
func (u *partUpload) all(ctx context.Context, in *intake, first []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	spare := make(chan []byte, partsAtOnce+1) // bounds the memory: a part waits for a buffer
	for range partsAtOnce {
		spare <- nil
	}
	part, n, last := first, len(first), false
	var readErr error
	for number := int32(1); ; number++ {
		data := part[:n]
		if n == 0 {
			break // the previous part was the last
		}
		group.Go(func() error {
			err := u.put(ctx, number, data)
			spare <- data[:cap(data)]
			return err
		})
		if last {
			break
		}
		if part = u.buffer(ctx, spare); part == nil {
			break // a part failed, or ctx ended
		}
		if n, last, readErr = in.fill(part); readErr != nil {
			break
		}
	}
	err := group.Wait()
	if readErr != nil {
		return readErr
	}
	if err == nil && !last {
		err = ctx.Err()
	}
	return err //nolint:wrapcheck // put wraps
}

func (u *partUpload) buffer(ctx context.Context, spare chan []byte) []byte {
	select {
	case b := <-spare:
		if b == nil {
			b = make([]byte, u.store.cfg.PartBytes)
		}
		return b[:u.store.cfg.PartBytes]
	case <-ctx.Done():
		return nil
	}
}

func (u *partUpload) put(ctx context.Context, number int32, data []byte) error {
	raw := sha256.Sum256(data)
	sum := base64.StdEncoding.EncodeToString(raw[:])
	out, err := u.store.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.store.cfg.Bucket, Key: &u.key, UploadId: u.id, PartNumber: &number, Body: bytes.NewReader(data),
		ContentLength: aws.Int64(int64(len(data))), ChecksumSHA256: &sum,
	})
	if err != nil {
		return storeError(err)
	}
	u.add(types.CompletedPart{ETag: out.ETag, PartNumber: &number, ChecksumSHA256: out.ChecksumSHA256})
	return nil
}

func (u *partUpload) add(part types.CompletedPart) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts = append(u.parts, part)
}

// copyAll copies size bytes of another object.
func (u *partUpload) copyAll(ctx context.Context, source string, size int64) error {
	const step = 1 << 30
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for number, at := int32(1), int64(0); at < size; number, at = number+1, at+step {
		group.Go(func() error {
			out, err := u.store.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
				Bucket: &u.store.cfg.Bucket, Key: &u.key, UploadId: u.id, PartNumber: &number, CopySource: &source,
				CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", at, min(at+step, size)-1)),
			})
			if err != nil {
				return storeError(err)
			}
			u.add(types.CompletedPart{ETag: out.CopyPartResult.ETag, PartNumber: &number, ChecksumSHA256: out.CopyPartResult.ChecksumSHA256})
			return nil
		})
	}
	return group.Wait() //nolint:wrapcheck // a storeError
}

// complete creates the object; with once, only if it does not exist.
func (u *partUpload) complete(ctx context.Context, once bool) error {
	slices.SortFunc(u.parts, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	write := func(condition *string) error {
		_, err := u.store.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &u.store.cfg.Bucket, Key: &u.key, UploadId: u.id, IfNoneMatch: condition,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
		})
		if statusOf(err) == http.StatusPreconditionFailed {
			u.abort(ctx)
		}
		return err //nolint:wrapcheck // storeError does
	}
	if once {
		return u.store.once(write)
	}
	return storeError(write(nil))
}

// abort discards the parts. A part in transit may keep the upload alive, so abort
// repeats until the store no longer knows the upload, as the documentation of S3
// advises; Sweep removes the rest.
func (u *partUpload) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause *= 2 {
		_, err := u.store.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.store.cfg.Bucket, Key: &u.key, UploadId: u.id})
		if statusOf(err) == http.StatusNotFound || pause > time.Second {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
