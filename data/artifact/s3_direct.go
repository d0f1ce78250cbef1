package artifact

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/flowforge/flowforge/apperr"
)

// Download describes how a browser should handle the bytes of a link; zero for a task.
type Download struct {
	Browser   bool
	Filename  string
	MediaType string
}

// Request is a presigned request to the store that is valid for 15 minutes, with
// exactly these headers and, for an upload, exactly these bytes.
type Request struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"headers"`
}

// DownloadURL returns a link to a blob.
func (s *S3Store) DownloadURL(ctx context.Context, hash string, d Download) (string, error) {
	key, err := s.blobKey(hash)
	if err != nil {
		return "", err
	}
	in, client := &s3.GetObjectInput{Bucket: &s.cfg.Bucket, Key: &key}, s.direct
	if d.Browser {
		client = s.browser
		// Outputs of tasks are never rendered from the store's own address.
		disposition := mime.FormatMediaType("attachment", map[string]string{"filename": d.Filename})
		in.ResponseContentDisposition = aws.String(cmp.Or(disposition, "attachment"))
		in.ResponseContentType = aws.String(cmp.Or(d.MediaType, "application/octet-stream"))
	}
	signed, err := client.PresignGetObject(ctx, in)
	if err != nil {
		return "", storeError(err)
	}
	return signed.URL, nil
}

// UploadRequest returns the request that uploads blob for owner, a unique name per
// sender; Arrived accepts the upload. false means that blob must go through Put. The
// store checks the hash and the length.
func (s *S3Store) UploadRequest(ctx context.Context, owner string, blob Blob) (Request, bool, error) {
	if blob.Size > maxCopy {
		return Request{}, false, nil
	}
	sum, err := base64Sum(blob.SHA256)
	if err != nil {
		return Request{}, false, err
	}
	key := s.incomingKey(owner, blob.SHA256)
	signed, err := s.direct.PresignPutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.cfg.Bucket, Key: &key, ContentLength: &blob.Size, ChecksumSHA256: &sum,
	})
	if err != nil {
		return Request{}, false, storeError(err)
	}
	request := Request{Method: signed.Method, URL: signed.URL, Header: map[string]string{}}
	for name := range signed.SignedHeader {
		if name != "Host" && name != "Content-Length" {
			request.Header[name] = signed.SignedHeader.Get(name)
		}
	}
	return request, true, nil
}

// incomingKey is the key under which owner uploads the bytes of hash.
func (s *S3Store) incomingKey(owner, hash string) string {
	name := sha256.Sum256([]byte(owner))
	return s.key(incomingFolder + hex.EncodeToString(name[:]) + "/" + hash)
}

// Arrived moves the upload of hash by owner to its final key. The upload proves that
// owner has the bytes. Arrived returns apperr.NotFound without an upload, and
// apperr.Invalid when its bytes have another hash.
func (s *S3Store) Arrived(ctx context.Context, owner, hash string) (Blob, error) {
	sum, err := base64Sum(hash)
	if err != nil {
		return Blob{}, err
	}
	key := s.incomingKey(owner, hash)
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.cfg.Bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if statusOf(err) == http.StatusNotFound {
		return Blob{}, apperr.New(apperr.NotFound, "The bytes of %s have not been uploaded.", hash)
	}
	if err != nil {
		return Blob{}, storeError(err)
	}
	blob := Blob{SHA256: hash, Size: aws.ToInt64(head.ContentLength)}
	if aws.ToString(head.ChecksumSHA256) != sum { // a store without checksums
		found, err := s.hashOf(ctx, key, blob.Size)
		if err != nil {
			return Blob{}, err
		}
		if found != hash {
			s.remove(ctx, key)
			return Blob{}, apperr.New(apperr.Invalid, "The uploaded bytes have the SHA-256 %s, not %s.", found, hash)
		}
	}
	return blob, s.adopt(ctx, key, head.ETag, blob)
}

// hashOf reads an object and returns the hash of its bytes.
func (s *S3Store) hashOf(ctx context.Context, key string, size int64) (string, error) {
	r := &s3Reader{ctx: ctx, store: s, key: key, size: size}
	defer r.drop()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err //nolint:wrapcheck // the reader does
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Sweep removes incomplete uploads that are at least a day old. It may run on any
// server at any time.
func (s *S3Store) Sweep(ctx context.Context) error {
	before := s.cfg.Now().Add(-incomingLives)
	prefix := s.key(incomingFolder)
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.cfg.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("sweep %s: %w", prefix, storeError(err))
		}
		for _, o := range page.Contents {
			if o.LastModified != nil && o.LastModified.Before(before) {
				s.remove(ctx, aws.ToString(o.Key))
			}
		}
	}
	all := s.key("")
	uploads := s3.NewListMultipartUploadsPaginator(s.client, &s3.ListMultipartUploadsInput{Bucket: &s.cfg.Bucket, Prefix: &all})
	for uploads.HasMorePages() {
		page, err := uploads.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("sweep uploads below %s: %w", all, storeError(err))
		}
		for _, u := range page.Uploads {
			if u.Initiated != nil && u.Initiated.Before(before) {
				(&partUpload{store: s, key: aws.ToString(u.Key), id: u.UploadId}).abort(ctx)
			}
		}
	}
	return nil
}

// SweepForever sweeps every few hours until ctx ends; it passes errors to logged.
func (s *S3Store) SweepForever(ctx context.Context, logged func(error)) error {
	ticker := time.NewTicker(6 * time.Hour)
	defer ticker.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			logged(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // it ended
		case <-ticker.C:
		}
	}
}
