package metaflow

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// ArtifactRecord is an artifact in the shape of the design document.
type ArtifactRecord struct {
	ArtifactID string    `json:"artifact_id"`
	TaskID     string    `json:"task_id"`
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	DSType     string    `json:"ds_type"`
	DSPath     string    `json:"ds_path"`
	SHA256     string    `json:"sha256"`
	SizeBytes  *int64    `json:"size_bytes,omitempty"`
	Encoding   string    `json:"encoding"`
	AttemptID  int64     `json:"attempt_id"`
	CreatedAt  time.Time `json:"created_at"`
	Pathspec   string    `json:"pathspec"`
}

// isHash matches hashes, and the abbreviated ones of the design document.
var isHash = regexp.MustCompile(`^[0-9a-fA-F]{8,64}$`)

// artifactPrefix begins the ID of an artifact.
const artifactPrefix = "art_"

// NewArtifactRecord is an artifact that a client of the design document registers.
type NewArtifactRecord struct {
	TaskID    Text   `json:"task_id"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	SHA256    string `json:"sha256"`
	SizeBytes *int64 `json:"size_bytes"`
	DSType    string `json:"ds_type"`
	DSRoot    string `json:"ds_root"`
	Encoding  string `json:"encoding"`
	AttemptID *int64 `json:"attempt_id"` // nil: the latest of the task
}

// RegisterArtifact records an artifact of a task. Its path in the datastore is
// data/{sha256[:2]}/{sha256[2:4]}/{sha256} below ds_root. Errors: apperr.NotFound, apperr.Invalid,
// and apperr.Conflict if the attempt has an artifact with this name with another hash.
func (s Records) RegisterArtifact(ctx context.Context, n NewArtifactRecord) (ArtifactRecord, error) {
	subject, q, err := s.writer(ctx)
	if err != nil {
		return ArtifactRecord{}, err
	}
	switch {
	case n.Name == "":
		return ArtifactRecord{}, apperr.New(apperr.Invalid, "name is missing: enter the artifact's name")
	case !isHash.MatchString(n.SHA256):
		return ArtifactRecord{}, apperr.New(apperr.Invalid, "sha256 must be the hash of the content in hexadecimal digits")
	case n.AttemptID != nil && (*n.AttemptID < 0 || *n.AttemptID > maxAttempt):
		return ArtifactRecord{}, apperr.New(apperr.Invalid, "attempt_id must be a number from 0 to %d", maxAttempt)
	case n.SizeBytes != nil && *n.SizeBytes < 0:
		return ArtifactRecord{}, apperr.New(apperr.Invalid, "size_bytes must not be negative")
	}
	t, err := s.FindTask(ctx, string(n.TaskID))
	if err == nil {
		err = checkRun(subject, t.flow, t.RunID)
	}
	if err != nil {
		return ArtifactRecord{}, err
	}
	attempt := t.AttemptID
	if n.AttemptID != nil {
		attempt = *n.AttemptID
	}
	location := fmt.Sprintf("%s/data/%s/%s/%s", strings.TrimSuffix(n.DSRoot, "/"), n.SHA256[:2], n.SHA256[2:4], n.SHA256)
	row, err := q.InsertMetaflowArtifact(ctx, db.InsertMetaflowArtifactParams{
		TaskNumber: parseID(t.TaskID).Number, AttemptID: attempt, Name: n.Name, Location: location, DsType: n.DSType, Sha: n.SHA256, Type: n.Type,
		ContentType: n.Encoding, TsEpoch: s.epoch(), SizeBytes: n.SizeBytes,
	})
	if err != nil {
		return ArtifactRecord{}, stored(err, "an artifact "+n.Name)
	}
	if row.Sha != n.SHA256 {
		return ArtifactRecord{}, apperr.New(apperr.Conflict, "Attempt %d of the task has an artifact %q with another hash.", attempt, n.Name)
	}
	return s.FindArtifact(ctx, artifactPrefix+strconv.FormatInt(row.ID, 10))
}

// FindArtifact returns an artifact of any task; apperr.NotFound if it does not exist.
func (s Records) FindArtifact(ctx context.Context, id string) (ArtifactRecord, error) {
	number := parseID(strings.TrimPrefix(id, artifactPrefix)).Number
	if number > 0 {
		found, _, err := s.artifactRecords(ctx, db.MetaflowArtifactRecordsParams{ID: number}, RecordPage{Limit: 1})
		if err != nil || len(found) == 1 {
			return append(found, ArtifactRecord{})[0], err
		}
	}
	return ArtifactRecord{}, apperr.New(apperr.NotFound, "There is no artifact %q.", id)
}

// RecordPage selects a page of records.
type RecordPage struct {
	After string // the cursor of the page before; "": the first page
	Limit int    // rows of a page, from 1 to MaxPage
}

// ArtifactsByHash returns a page of the artifacts with a hash, newest first, and the cursor of
// the next page; apperr.NotFound without one.
func (s Records) ArtifactsByHash(ctx context.Context, sha string, p RecordPage) ([]ArtifactRecord, string, error) {
	found, next, err := s.artifactRecords(ctx, db.MetaflowArtifactRecordsParams{Sha: sha}, p)
	if err == nil && len(found) == 0 && p.After == "" {
		return nil, "", apperr.New(apperr.NotFound, "There is no artifact with the hash %q.", sha)
	}
	return found, next, err
}

// RunArtifacts returns a page of the artifacts of all tasks of a run, newest first, and the
// cursor of the next page.
func (s Records) RunArtifacts(ctx context.Context, id string, p RecordPage) ([]ArtifactRecord, string, error) {
	r, err := s.FindRun(ctx, id)
	if err != nil {
		return nil, "", err
	}
	return s.artifactRecords(ctx, db.MetaflowArtifactRecordsParams{RunNumber: r.number}, p)
}

// TaskArtifacts returns a page of the artifacts of all attempts of a task, newest first, and
// the cursor of the next page.
func (s Records) TaskArtifacts(ctx context.Context, id string, p RecordPage) ([]ArtifactRecord, string, error) {
	t, err := s.FindTask(ctx, id)
	if err != nil {
		return nil, "", err
	}
	return s.artifactRecords(ctx, db.MetaflowArtifactRecordsParams{TaskNumber: parseID(t.TaskID).Number}, p)
}

func (s Records) artifactRecords(ctx context.Context, which db.MetaflowArtifactRecordsParams, p RecordPage) ([]ArtifactRecord, string, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, "", err
	}
	if p.After != "" {
		which.Before, err = strconv.ParseInt(p.After, 10, 64)
		if err != nil || which.Before <= 0 {
			return nil, "", apperr.New(apperr.Invalid, "cursor: enter next_cursor from the previous response, not %q.", p.After)
		}
	}
	which.ProjectID, which.RowLimit = subject.ProjectID, int32(p.Limit)+1 //nolint:gosec // a page
	rows, err := q.MetaflowArtifactRecords(ctx, which)
	if err != nil {
		return nil, "", fmt.Errorf("read artifacts: %w", err)
	}
	next := ""
	if len(rows) > p.Limit {
		rows = rows[:p.Limit]
		next = strconv.FormatInt(rows[p.Limit-1].ID, 10)
	}
	found := make([]ArtifactRecord, 0, len(rows))
	for _, a := range rows {
		found = append(found, ArtifactRecord{
			ArtifactID: artifactPrefix + strconv.FormatInt(a.ID, 10), TaskID: strconv.FormatInt(a.TaskNumber, 10), Name: a.Name, Type: a.Type, DSType: a.DsType,
			DSPath: a.Location, SHA256: a.Sha, SizeBytes: a.SizeBytes, Encoding: a.ContentType, AttemptID: a.AttemptID, CreatedAt: moment(a.TsEpoch),
			Pathspec: strings.Join([]string{a.FlowID, a.RunID, a.StepName, a.TaskID, a.Name}, "/"),
		})
	}
	return found, next, nil
}
