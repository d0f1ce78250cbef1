package artifact

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Direct is a Store that clients access without the server in between.
type Direct interface {
	// DownloadURL returns a link to a blob.
	DownloadURL(ctx context.Context, hash string, d Download) (string, error)
	// UploadRequest returns the request with which owner uploads blob; false when that
	// is not possible.
	UploadRequest(ctx context.Context, owner string, blob Blob) (Request, bool, error)
	// Arrived accepts the upload of hash by owner, or returns apperr.NotFound.
	Arrived(ctx context.Context, owner, hash string) (Blob, error)
}

// SendDirect lets tasks, and with browsers also users, download and upload bytes
// directly at the store. Call it before the service is used.
func (s *Service) SendDirect(d Direct, browsers bool) { s.direct, s.browsers = d, browsers }

// TaskLink returns a link to bytes that project has; "" when the server must send them.
// It authorizes like OpenBlob.
func (s *Service) TaskLink(ctx context.Context, project uuid.UUID, hash string) (string, error) {
	if err := mayRead(ctx, project, hash); err != nil || s.direct == nil {
		return "", err
	}
	if _, err := s.blobOf(ctx, project, hash); err != nil {
		return "", err
	}
	return s.direct.DownloadURL(ctx, hash, Download{})
}

// BrowserLink returns a link to the bytes of an artifact that saves them under its
// name; "" when the server must send them.
func (s *Service) BrowserLink(ctx context.Context, a Artifact) (string, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, a.ProjectID, absent(a.ID)); err != nil || s.direct == nil || !s.browsers {
		return "", err
	}
	return s.direct.DownloadURL(ctx, a.SHA256, Download{Browser: true, Filename: a.Filename, MediaType: a.MediaType})
}

// UploadPlan describes how the calling task uploads a file: not at all (There), by Request
// and then FinishUpload, or otherwise through TakeOutput.
type UploadPlan struct {
	There   bool
	Request *Request
}

// PlanUpload returns how the calling task, whose name is owner, uploads blob.
func (s *Service) PlanUpload(ctx context.Context, owner string, blob Blob) (UploadPlan, error) {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return UploadPlan{}, err
	}
	_, err = s.blobOf(ctx, subject.ProjectID, blob.SHA256)
	if err == nil {
		return UploadPlan{There: true}, nil
	}
	if !apperr.Is(err, apperr.NotFound) || s.direct == nil {
		return UploadPlan{}, ignore(err, apperr.NotFound)
	}
	request, ok, err := s.direct.UploadRequest(ctx, owner, blob)
	if err != nil || !ok {
		return UploadPlan{}, err
	}
	return UploadPlan{Request: &request}, nil
}

// FinishUpload accepts the upload of hash by the calling task, whose name is owner,
// with a Request. It ignores storage limits, so that no work is lost. It returns
// apperr.Unavailable when the upload is missing: the task then repeats it.
func (s *Service) FinishUpload(ctx context.Context, owner, hash string) error {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return err
	}
	if s.direct == nil {
		return apperr.New(apperr.Conflict, "This installation accepts files only through the server.")
	}
	blob, err := s.direct.Arrived(ctx, owner, hash)
	if apperr.Is(err, apperr.NotFound) {
		return apperr.Wrap(apperr.Unavailable, err, "The file has not arrived. Upload it again.")
	}
	if err != nil {
		return err
	}
	return s.addReference(ctx, subject.ProjectID, blob, func(q *db.Queries, fresh int64) error {
		return s.count(ctx, q, subject.ProjectID, fresh, false)
	})
}

func ignore(err error, code apperr.Code) error {
	if apperr.Is(err, code) {
		return nil
	}
	return err
}
