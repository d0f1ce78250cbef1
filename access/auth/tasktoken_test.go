package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

func TestTokensOfTasksAndPools(t *testing.T) {
	t.Parallel()
	signer, err := NewSigner([]byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	other, err := NewSigner([]byte(strings.Repeat("o", 32)))
	require.NoError(t, err)
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	task := TaskScope{ExecutionID: uuid.New(), NodeIndex: 9999, Attempt: 3, TenantID: uuid.New(), ProjectID: uuid.New()}
	pool := PoolScope{TenantID: uuid.New(), ProjectID: uuid.New(), Pool: [16]byte{1, 2}, Born: now.Add(-time.Hour)}

	ofTask, ofPool := signer.Sign(task, now), signer.SignPool(pool, now)
	gotTask, err := signer.Verify(ofTask, now)
	require.NoError(t, err)
	require.Equal(t, task, gotTask)
	gotPool, err := signer.VerifyPool(ofPool, now)
	require.NoError(t, err)
	require.Equal(t, pool, gotPool)

	later := now.Add(time.Second)
	for name, bad := range map[string]string{
		"empty": "", "prefix": "fft_", "no base64": "fft_!!!!", "cut": ofTask[:len(ofTask)-2], "longer": ofTask + "AA",
		"another key": other.Sign(task, now), "a pool's": ofPool,
		"a pool's with the other prefix": "fft_" + strings.TrimPrefix(ofPool, "ffp_"),
		"one character off":              ofTask[:10] + flip(ofTask[10]) + ofTask[11:],
	} {
		_, err := signer.Verify(bad, now)
		require.True(t, apperr.Is(err, apperr.Unauthenticated), name)
	}
	for name, bad := range map[string]string{
		"another key": other.SignPool(pool, now), "a task's": ofTask,
		"a task's with the other prefix": "ffp_" + strings.TrimPrefix(ofTask, "fft_"),
	} {
		_, err := signer.VerifyPool(bad, now)
		require.True(t, apperr.Is(err, apperr.Unauthenticated), name)
	}
	_, err = signer.Verify(ofTask, later)
	require.EqualError(t, err, "The token has expired.")
	_, err = signer.VerifyPool(ofPool, later)
	require.EqualError(t, err, "The token has expired.")
	_, err = NewSigner([]byte("short"))
	require.Error(t, err)
}

func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}
