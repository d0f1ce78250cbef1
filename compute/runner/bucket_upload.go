package runner

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// bucketUpload is an output that is also uploaded to a bucket.
type bucketUpload struct {
	spec *flowforgev1.OutputSpec
	path string // of its file or folder
}

// uploadAll uploads outputs to their buckets. Its error begins with a capital letter.
func (b bucketFiles) uploadAll(ctx context.Context, found *collection) error {
	for i, u := range found.uploads {
		if err := b.upload(ctx, u, i, found); err != nil {
			return fmt.Errorf("Output %s could not be uploaded: %w", u.spec.Name, err)
		}
	}
	return nil
}

// sentenceOf ends the text of an error with a full stop.
func sentenceOf(err error) string { return strings.TrimSuffix(err.Error(), ".") + "." }

func (b bucketFiles) upload(ctx context.Context, u bucketUpload, i int, found *collection) error {
	root, err := os.OpenRoot(filepath.Dir(u.path))
	if err != nil {
		return err
	}
	defer root.Close()
	base := filepath.Base(u.path)
	info, err := root.Stat(base)
	if err != nil {
		return err
	}
	target := u.spec.Bucket
	switch {
	case target.Archive != flowforgev1.Archive_ARCHIVE_UNSPECIFIED:
		packed := filepath.Join(b.paths.base, "packed-"+strconv.Itoa(i))
		defer os.Remove(packed)
		if err := pack(ctx, root, base, packed, target); err != nil {
			return fmt.Errorf("pack %s: %w", base, err)
		}
		return b.uploadObjects(ctx, u.spec.Name, []string{""}, func(string) string { return packed })
	case !info.IsDir():
		return b.uploadObjects(ctx, u.spec.Name, []string{""}, func(string) string { return u.path })
	}
	names, links, err := filesBelow(root, base)
	if err != nil {
		return err
	}
	if links > 0 {
		found.notes = append(found.notes, fmt.Sprintf("Output %s has %d links; they are not uploaded to the bucket without an archive.", u.spec.Name, links))
	}
	return b.uploadObjects(ctx, u.spec.Name, names, func(name string) string { return filepath.Join(u.path, filepath.FromSlash(name)) })
}

// filesBelow returns the paths of the regular files in a folder, and the number of links.
func filesBelow(root *os.Root, folder string) (names []string, links int, err error) {
	err = fs.WalkDir(root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case entry.Type() == fs.ModeSymlink:
			links++
		case entry.Type().IsRegular():
			names = append(names, strings.TrimPrefix(name, path.Clean(folder)+"/"))
		}
		return nil
	})
	return names, links, err
}

// uploadObjects uploads the files of an output; file returns the path of the one with a name
// below the key.
func (b bucketFiles) uploadObjects(ctx context.Context, output string, names []string, file func(name string) string) error {
	for len(names) > 0 {
		batch := names[:min(len(names), signedAtOnce)]
		names = names[len(batch):]
		signed, err := b.sign(ctx, &flowforgev1.SignBucketRequestsRequest{Output: output, Names: batch})
		if err != nil {
			return err
		}
		if err := inParallel(len(batch), func(i int) error {
			return b.s.requester.uploadObject(ctx, signed.Requests[i], file(batch[i]), signed)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *requester) uploadObject(ctx context.Context, request *flowforgev1.SignedRequest, file string, signed *flowforgev1.SignBucketRequestsResponse) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Size() > signed.MaxBytes {
		return fmt.Errorf("the object %s would have %d bytes; an upload to a bucket can have at most %d", signed.Location, info.Size(), signed.MaxBytes)
	}
	resp, err := r.bucket(ctx, request, file, info.Size())
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
