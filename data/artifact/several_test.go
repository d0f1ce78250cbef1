package artifact

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestSeveral: artifacts that do not exist, or that the caller may not read, are left out.
func TestSeveral(t *testing.T) {
	t.Parallel()
	s := NewService(dbtest.New(t), newDisk(t), time.Now)
	ctx := auth.WithSubject(t.Context(), auth.Local())
	blob, err := s.Upload(ctx, strings.NewReader("hello"))
	require.NoError(t, err)
	item := New{
		ExecutionID: uuid.Must(uuid.NewV7()), Node: "train", Attempt: 1, WorkflowName: "digits", Name: "model", Type: "Model", Kind: "Model",
		SHA256: blob.SHA256, Size: blob.Size, MediaType: "application/json",
	}
	ids := publish(t, s, item)
	found, err := s.Several(ctx, append(ids, uuid.Must(uuid.NewV7())))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, blob.SHA256, found[0].SHA256)

	stranger := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.Must(uuid.NewV7()), Role: auth.RoleUser, ProjectID: uuid.Must(uuid.NewV7())})
	found, err = s.Several(stranger, ids)
	require.NoError(t, err)
	require.Empty(t, found)
}
