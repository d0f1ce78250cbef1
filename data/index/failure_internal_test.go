package index

import (
	"errors"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

func TestOnlyAMissingAnswerMeansThatClickHouseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for code, want := range map[int32]apperr.Code{
		codeTimeout: apperr.Invalid, codeMemory: apperr.Invalid, codeNoColumn: apperr.Unavailable, codeUnknownTable: apperr.Unavailable,
		62: apperr.Internal,
	} {
		require.Equal(t, want, apperr.CodeOf(failure(&clickhouse.Exception{Code: code})), "%d", code)
	}
	require.Equal(t, apperr.Unavailable, apperr.CodeOf(failure(errors.New("connection refused"))))
	require.Equal(t, `["<a & b>"]`, list([]any{"<a & b>"}))
}
