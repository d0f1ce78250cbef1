package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Store reads the files of a datastore. Names are slash-separated paths below its root, as of
// fs.ValidPath. Errors: apperr.NotFound for what does not exist, apperr.Unavailable for a store
// that cannot be read.
type Store interface {
	// Read returns at most limit bytes from offset, and the size of the file.
	Read(ctx context.Context, name string, offset, limit int64) ([]byte, int64, error)
	// List returns at most limit entries directly in a folder, by name; none of a folder that
	// does not exist. "." is the root.
	List(ctx context.Context, folder string, limit int) ([]Entry, error)
	// Open returns the whole file with its size.
	Open(ctx context.Context, name string) (io.ReadCloser, int64, error)
}

// Entry is a file or a folder.
type Entry struct {
	Name     string
	Folder   bool
	Size     int64
	Modified time.Time
}

func absent(name string) error {
	return apperr.New(apperr.NotFound, "The datastore has no file %s.", name)
}

// Found is what a test of a datastore has found.
type Found struct {
	OK      bool
	Message string // a sentence
	Flows   []string
}

// maxFlows is the maximum number of flows that a test names.
const maxFlows = 20

// testFor is the maximum duration of a test.
const testFor = 15 * time.Second

// Test reads the datastore at a place that is not stored yet. Errors are those of Put; a
// datastore that cannot be read is not an error. The audit log records the test before it begins.
func (s *Service) Test(ctx context.Context, p Place) (Found, error) {
	subject, err := auth.Authorize(ctx, auth.TenancyWrite)
	if err != nil {
		return Found{}, err
	}
	if p, err = s.check(ctx, subject, p); err != nil {
		return Found{}, err
	}
	tested := s.placed(subject, p)
	err = db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return audit.Record(ctx, q, audit.Entry{
			Action: "metaflow_datastore.test", Kind: "metaflow_datastore", ID: subject.ProjectID.String(), Name: tested.Root,
			TenantID: subject.TenantID, ProjectID: subject.ProjectID, New: factsOf(p),
		})
	})
	if err != nil {
		return Found{}, fmt.Errorf("record the test of a datastore: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, testFor)
	defer cancel()
	p = tested
	store, err := s.open(ctx, subject, p)
	if apperr.Is(err, apperr.NotFound) && p.Kind == Local {
		return Found{OK: true, Message: "The folder does not exist yet. The client creates it."}, nil
	}
	var entries []Entry
	if err == nil {
		entries, err = store.List(ctx, ".", 1000)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Found{Message: fmt.Sprintf("The datastore did not respond within %d s.", int(testFor.Seconds()))}, nil
	}
	if err != nil {
		if apperr.Is(err, apperr.Internal) {
			return Found{}, err
		}
		return Found{Message: apperr.MessageOf(err)}, nil
	}
	return s.found(ctx, subject, entries)
}

// found describes the folders of a datastore: those of flows that the project knows come first.
func (s *Service) found(ctx context.Context, subject auth.Subject, entries []Entry) (Found, error) {
	known, err := db.New(s.Pool).MetaflowFlows(ctx, subject.ProjectID)
	if err != nil {
		return Found{}, fmt.Errorf("flows of project %s: %w", subject.ProjectID, err)
	}
	f := Found{OK: true}
	for _, e := range entries {
		if e.Folder && slices.ContainsFunc(known, func(k db.MetaflowFlow) bool { return k.FlowID == e.Name }) {
			f.Flows = append(f.Flows, e.Name)
		}
	}
	n := len(f.Flows)
	switch {
	case len(entries) == 0:
		f.Message = "The datastore can be read. It is empty."
	case n == 0:
		f.Message = "The datastore can be read. It has no data from this project's flows yet."
	case n > maxFlows:
		f.Flows = f.Flows[:maxFlows]
		f.Message = fmt.Sprintf("The datastore can be read. It has data from %d of this project's flows, such as %s.", n, f.Flows[0])
	default:
		f.Message = "The datastore can be read. It has data of " + strings.Join(f.Flows, ", ") + "."
	}
	return f, nil
}
