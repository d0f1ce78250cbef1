package datastore

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow/pickle"
	"github.com/flowforge/flowforge/platform/units"
)

// Limits of what is read for pages.
const (
	maxBlob    = 1 << 20  // compressed bytes of a value
	maxText    = 16 << 10 // bytes of a value's text
	maxObjects = 2 << 20  // bytes of the list of a task's objects
	atOnce     = 8        // requests to a store for one page
	valuesFor  = 5 * time.Second
)

// decoders limits how many values are decoded at once in the whole process: each takes some 100 MiB
// at most.
var decoders = make(chan struct{}, 2) //nolint:gochecknoglobals // a limit of the process

// Task names a task in the datastore.
type Task struct{ Flow, Run, Step, ID string }

// isName reports whether a text is one element of a path.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// folder is the folder of the task.
func (t Task) folder() (string, error) {
	for _, name := range []string{t.Flow, t.Run, t.Step, t.ID} {
		if !isName(name) {
			return "", absent(name)
		}
	}
	return path.Join(t.Flow, t.Run, t.Step, t.ID), nil
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// BlobName is the file with the bytes of an artifact of a flow; apperr.NotFound for names that no
// file has.
func BlobName(flow, sha string) (string, error) {
	if !isName(flow) || !hashPattern.MatchString(sha) {
		return "", absent(flow + "/data/" + sha)
	}
	return path.Join(flow, "data", sha[:2], sha), nil
}

// Value is the value of an artifact for a page.
type Value struct {
	Text string // as Python prints it; "" if it is not shown
	Cut  bool   // Text is the beginning
	Why  string // why the value is not shown
	Type string // such as numpy.ndarray; "" if the datastore does not say
	Size int64  // bytes of the pickle; 0 if the datastore does not say
}

// Ref names the bytes of an artifact.
type Ref struct{ Name, SHA string }

// Object returns a decoded artifact. Errors: apperr.NotFound, apperr.Unavailable, and
// apperr.Invalid for what is not a plain value.
func Object(ctx context.Context, store Store, flow, sha string) (any, error) {
	name, err := BlobName(flow, sha)
	if err != nil {
		return nil, err
	}
	raw, size, err := store.Read(ctx, name, 0, maxBlob)
	if err != nil {
		return nil, err
	}
	if size > maxBlob {
		return nil, apperr.New(apperr.Invalid, "The value takes up %s in the datastore.", units.Bytes(size))
	}
	select {
	case decoders <- struct{}{}:
		defer func() { <-decoders }()
	case <-ctx.Done():
		return nil, late(ctx)
	}
	if raw, err = unpacked(raw); err != nil {
		return nil, err
	}
	v, err := pickle.Decode(ctx, raw)
	if ctx.Err() != nil {
		return nil, late(ctx)
	}
	if errors.Is(err, pickle.ErrTooLarge) {
		return nil, apperr.Wrap(apperr.Invalid, err, "The value has too many parts to show. Download it instead.")
	}
	if other, ok := errors.AsType[*pickle.OtherError](err); ok {
		if other.Name == "" {
			return nil, apperr.Wrap(apperr.Invalid, err, "The value is an object.")
		}
		return nil, apperr.Wrap(apperr.Invalid, err, "The value needs "+other.Name+" of Python.")
	}
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The bytes are not a pickle.")
	}
	return v, nil
}

// late is the error of a request that has ended.
func late(ctx context.Context) error {
	return apperr.Wrap(apperr.Unavailable, context.Cause(ctx), "Reading the datastore took too long. Try again.")
}

// unpacked is the content of a gzip file of bounded size; other bytes are unchanged.
func unpacked(raw []byte) ([]byte, error) {
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err == nil {
		raw, err = io.ReadAll(io.LimitReader(z, pickle.MaxBytes+1))
	}
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The file in the datastore is damaged.")
	}
	if len(raw) > pickle.MaxBytes {
		return nil, apperr.New(apperr.Invalid, "The value has more than %s.", units.Bytes(pickle.MaxBytes))
	}
	return raw, nil
}

// Values reads artifacts of an attempt for a page, several at once, in a bounded time. An artifact
// that cannot be shown explains why.
func Values(ctx context.Context, store Store, t Task, attempt int64, refs []Ref) map[string]Value {
	ctx, cancel := context.WithTimeout(ctx, valuesFor)
	defer cancel()
	kinds := objects(ctx, store, t, attempt)
	values := make([]Value, len(refs))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, ref := range refs {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			kind := kinds[ref.Name]
			values[i] = value(ctx, store, t.Flow, ref.SHA)
			values[i].Type, values[i].Size = className(kind.Type), max(kind.Size, 0)
		})
	}
	group.Wait()
	out := make(map[string]Value, len(refs))
	for i, ref := range refs {
		out[ref.Name] = values[i]
	}
	return out
}

func value(ctx context.Context, store Store, flow, sha string) Value {
	v, err := Object(ctx, store, flow, sha)
	switch {
	case ctx.Err() != nil:
		return Value{Why: fmt.Sprintf("The datastore did not respond within %d s.", int(valuesFor.Seconds()))}
	case apperr.Is(err, apperr.NotFound):
		return Value{Why: "The value is not in the datastore."}
	case apperr.Is(err, apperr.Internal):
		return Value{Why: "The value cannot be read."}
	case err != nil:
		return Value{Why: apperr.MessageOf(err)}
	}
	text, cut := pickle.Text(v, maxText)
	return Value{Text: text, Cut: cut}
}

// kind is what the client writes about an object.
type kind struct {
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// objects are the types and sizes of the objects of an attempt by name; none if the datastore does
// not have them.
func objects(ctx context.Context, store Store, t Task, attempt int64) map[string]kind {
	folder, err := t.folder()
	if err != nil || attempt < 0 {
		return nil
	}
	raw, _, err := store.Read(ctx, path.Join(folder, strconv.FormatInt(attempt, 10)+".data.json"), 0, maxObjects)
	if err != nil {
		return nil
	}
	var list struct {
		Info map[string]kind `json:"info"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list.Info
}

// className is the name in <class 'name'>.
func className(text string) string {
	name, ok := strings.CutPrefix(text, "<class '")
	if !ok || len(name) > 100 {
		return ""
	}
	return strings.TrimSuffix(name, "'>")
}
