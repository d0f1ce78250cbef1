package artifact

import (
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// memberOf returns a developer of one project without other permissions.
func memberOf(project uuid.UUID) auth.Subject {
	dev := auth.Everywhere(auth.ProjectDev)
	return auth.Subject{ID: uuid.New(), Name: "mia", Role: auth.RoleUser, TenantID: uuid.New(), ProjectID: project,
		Policy: auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool { return place == project && dev.May(a, place) })}
}

// otherProject creates a project in addition to the local one.
func otherProject(t *testing.T, s *Service) uuid.UUID {
	t.Helper()
	id := uuid.New()
	_, err := s.pool.Exec(t.Context(), `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, 'other', 'other' FROM tenancy_nodes WHERE id = $2`, id, auth.LocalTeam)
	require.NoError(t, err)
	return id
}

func TestAProjectHasTheBlobsThatWereBroughtIntoIt(t *testing.T) {
	t.Parallel()
	everywhere(t, checkAProjectHasTheBlobsThatWereBroughtIntoIt)
}

func checkAProjectHasTheBlobsThatWereBroughtIntoIt(t *testing.T, s *Service) {
	t.Helper()
	other := otherProject(t, s)
	mine := auth.WithSubject(t.Context(), memberOf(auth.LocalProject))
	theirs := auth.WithSubject(t.Context(), memberOf(other))
	blob, err := s.Upload(mine, strings.NewReader("hello"))
	require.NoError(t, err)

	got, err := s.Blob(mine, auth.LocalProject, blob.SHA256, "")
	require.NoError(t, err)
	require.Equal(t, blob, got)
	has, err := s.Has(mine, blob.SHA256)
	require.NoError(t, err)
	require.True(t, has)
	has, err = s.Has(theirs, blob.SHA256)
	require.NoError(t, err)
	require.False(t, has, "a hash alone does not give access to the bytes")
	for _, project := range []uuid.UUID{auth.LocalProject, other} { // in their own project, and with ours
		_, err = s.Blob(theirs, project, blob.SHA256, "")
		require.Equal(t, noBlob(blob.SHA256), err)
		_, err = s.OpenBlob(theirs, project, blob.SHA256)
		require.Equal(t, noBlob(blob.SHA256), err)
	}

	again, err := s.Upload(theirs, strings.NewReader("hello"))
	require.NoError(t, err)
	require.Equal(t, blob, again)
	r, err := s.OpenBlob(theirs, other, blob.SHA256)
	require.NoError(t, err)
	defer r.Close()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text), "anyone who has the bytes may upload them")
}

func TestAFolderNamesNoBytesOfOthers(t *testing.T) {
	t.Parallel()
	everywhere(t, checkAFolderNamesNoBytesOfOthers)
}

func checkAFolderNamesNoBytesOfOthers(t *testing.T, s *Service) {
	t.Helper()
	other := otherProject(t, s)
	mine := auth.WithSubject(t.Context(), memberOf(auth.LocalProject))
	theirs := auth.WithSubject(t.Context(), memberOf(other))
	blob, err := s.Upload(mine, strings.NewReader("hello"))
	require.NoError(t, err)
	text := `{"entries":[{"path":"a.txt","sha256":"` + blob.SHA256 + `","size":5}]}`
	manifest, err := s.Upload(theirs, strings.NewReader(text))
	require.NoError(t, err)

	_, err = s.Blob(theirs, other, manifest.SHA256, DirectoryMediaType)
	require.Equal(t, noBlob(blob.SHA256), err)
}

func TestATaskBringsItsOutputIntoItsProject(t *testing.T) {
	t.Parallel()
	everywhere(t, checkATaskBringsItsOutputIntoItsProject)
}

func checkATaskBringsItsOutputIntoItsProject(t *testing.T, s *Service) {
	t.Helper()
	other := otherProject(t, s)
	task := auth.WithSubject(t.Context(), auth.ForTask(auth.TaskScope{ExecutionID: uuid.New(), Attempt: 1, ProjectID: other}))
	_, err := s.TakeOutput(task, strings.NewReader(""), helloHash)
	require.True(t, apperr.Is(err, apperr.Invalid), "the bytes themselves are required, even if another project has them")
	_, err = s.TakeOutput(task, strings.NewReader("hello"), helloHash)
	require.NoError(t, err)
	_, err = s.Blob(task, other, helloHash, "")
	require.NoError(t, err)
	_, err = s.Blob(task, auth.LocalProject, helloHash, "")
	require.Equal(t, noBlob(helloHash), err)
	_, err = s.Upload(task, strings.NewReader("x"))
	require.True(t, apperr.Is(err, apperr.Forbidden))
}
