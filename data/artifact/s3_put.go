package artifact

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/flowforge/flowforge/apperr"
)

// Put implements Store. Small blobs use one request; larger ones are uploaded in parts
// while they are read, under their hash when it is known, otherwise under a temporary
// name from which the store copies them. No blob appears under a hash before its last
// byte has been checked.
func (s *S3Store) Put(ctx context.Context, r io.Reader, expected string) (Blob, error) {
	if expected != "" {
		if err := checkHash(expected); err != nil {
			return Blob{}, err
		}
	}
	in := &intake{r: &contextReader{ctx: ctx, r: r}, hash: sha256.New()}
	first := make([]byte, s.cfg.PartBytes)
	n, last, err := in.fill(first)
	if err != nil {
		return Blob{}, err
	}
	if !last {
		return s.putLarge(ctx, in, first, expected)
	}
	blob := in.blob()
	if err := checkExpected(blob, expected); err != nil {
		return Blob{}, err
	}
	return blob, s.putSmall(ctx, blob, first[:n])
}

// intake reads the bytes of a blob and computes their hash.
type intake struct {
	r    io.Reader
	hash hash.Hash
	size int64
}

// fill reads a part; last means that it is the last part.
func (in *intake) fill(part []byte) (n int, last bool, err error) {
	for n < len(part) && !last {
		var read int
		read, err = in.r.Read(part[n:])
		n += read
		last = errors.Is(err, io.EOF)
		if err != nil && !last {
			return n, false, fmt.Errorf("read a blob: %w", err)
		}
	}
	in.hash.Write(part[:n])
	in.size += int64(n)
	return n, last, nil
}

func (in *intake) blob() Blob {
	return Blob{SHA256: hex.EncodeToString(in.hash.Sum(nil)), Size: in.size}
}

func (s *S3Store) putSmall(ctx context.Context, blob Blob, data []byte) error {
	key, err := s.blobKey(blob.SHA256)
	if err != nil {
		return err
	}
	sum, err := base64Sum(blob.SHA256)
	if err != nil {
		return err
	}
	there := func() bool {
		found, err := s.Stat(ctx, blob.SHA256)
		return err == nil && found.Size == blob.Size
	}
	if blob.Size > checkAbove && there() {
		return nil
	}
	err = s.once(func(condition *string) error {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &s.cfg.Bucket, Key: &key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
			ChecksumSHA256: &sum, IfNoneMatch: condition,
		})
		return err //nolint:wrapcheck // once does
	})
	// Stores report an existing blob before they have read all of it, and close the
	// connection: the answer may be lost.
	if err != nil && blob.Size > 0 && ctx.Err() == nil && there() {
		return nil
	}
	return err
}

// once writes with the condition that the object does not exist. An existing object is
// success; a store without conditional writes gets none.
func (s *S3Store) once(write func(condition *string) error) error {
	condition := aws.String("*")
	if s.plain.Load() {
		condition = nil
	}
	err := write(condition)
	switch {
	case err == nil || condition == nil:
	case statusOf(err) == http.StatusNotImplemented || codeOf(err) == "NotImplemented":
		s.plain.Store(true)
		err = write(nil)
	case statusOf(err) == http.StatusConflict: // a concurrent write of the same bytes
		err = write(nil)
	}
	if statusOf(err) == http.StatusPreconditionFailed {
		return nil
	}
	return storeError(err)
}

func base64Sum(hash string) (string, error) {
	raw, err := decodeHash(hash)
	return base64.StdEncoding.EncodeToString(raw), err
}

// putLarge stores the part that was read and the rest.
func (s *S3Store) putLarge(ctx context.Context, in *intake, first []byte, expected string) (Blob, error) {
	key := s.key(incomingFolder + "upload/" + rand.Text())
	if expected != "" {
		there, err := s.Stat(ctx, expected)
		switch {
		case err == nil: // the sender must still prove that it has the bytes
			return s.compare(in, there)
		case !apperr.Is(err, apperr.NotFound):
			return Blob{}, err
		}
		if key, err = s.blobKey(expected); err != nil {
			return Blob{}, err
		}
	}
	up, err := s.beginUpload(ctx, key)
	if err != nil {
		return Blob{}, err
	}
	err = up.all(ctx, in, first)
	blob := in.blob()
	if err == nil {
		err = checkExpected(blob, expected)
	}
	if err == nil {
		err = up.complete(ctx, expected != "")
	}
	if err != nil {
		up.abort(ctx)
		return Blob{}, err
	}
	if expected == "" {
		err = s.adopt(ctx, key, nil, blob)
	}
	return blob, err
}

// compare reads the rest and checks that it equals the existing blob.
func (s *S3Store) compare(in *intake, there Blob) (Blob, error) {
	rest, err := io.Copy(in.hash, in.r)
	if err != nil {
		return Blob{}, fmt.Errorf("read a blob: %w", err)
	}
	in.size += rest
	return in.blob(), checkExpected(in.blob(), there.SHA256)
}

// adopt moves an object to the key of its hash; its bytes were checked at this entity
// tag.
func (s *S3Store) adopt(ctx context.Context, from string, etag *string, blob Blob) error {
	to, err := s.blobKey(blob.SHA256)
	if err != nil {
		return err
	}
	_, err = s.Stat(ctx, blob.SHA256)
	if apperr.Is(err, apperr.NotFound) {
		err = s.copyObject(ctx, from, etag, to, blob.Size)
	}
	if err != nil {
		return err
	}
	s.remove(ctx, from)
	return nil
}

func (s *S3Store) copyObject(ctx context.Context, from string, etag *string, to string, size int64) error {
	source := (&url.URL{Path: s.cfg.Bucket + "/" + from}).EscapedPath()
	if size <= maxCopy {
		_, err := s.client.CopyObject(ctx, &s3.CopyObjectInput{Bucket: &s.cfg.Bucket, Key: &to, CopySource: &source, CopySourceIfMatch: etag})
		return storeError(err)
	}
	up, err := s.beginUpload(ctx, to)
	if err != nil {
		return err
	}
	if err = up.copyAll(ctx, source, size); err == nil {
		err = up.complete(ctx, true)
	}
	if err != nil {
		up.abort(ctx)
	}
	return err
}

// remove deletes an object that is no longer needed; if that fails, Sweep deletes it.
func (s *S3Store) remove(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, _ = s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.cfg.Bucket, Key: &key})
}
