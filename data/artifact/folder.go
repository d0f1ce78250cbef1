package artifact

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flowforge/flowforge/apperr"
)

// FolderFiles reads the blob under hash and returns the hashes of the files that it
// lists when it is the manifest of a folder; false when it is anything else, or does
// not exist. Sweeps call it for every project. A manifest that cannot be read, or is
// damaged, is an error, because its files are unknown.
func FolderFiles(ctx context.Context, s Store, hash string) ([]string, bool, error) {
	r, err := s.Open(ctx, hash)
	if apperr.Is(err, apperr.NotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read blob %s: %w", hash, err)
	}
	defer r.Close()
	if r.Size() > manifestBytes {
		return nil, false, nil
	}
	reader := bufio.NewReader(&contextReader{ctx: ctx, r: r})
	first, err := reader.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil, false, nil
	}
	if err == nil && !bytes.ContainsAny(first, "{ \t\r\n") {
		return nil, false, nil
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(reader)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read blob %s: %w", hash, err)
	}
	d, err := ReadDirectory(bytes.NewReader(text))
	if err != nil || d.Entries == nil {
		return nil, false, nil // not the manifest of a folder
	}
	files := make([]string, len(d.Entries))
	for i, e := range d.Entries {
		files[i] = e.SHA256
	}
	return files, true, nil
}
