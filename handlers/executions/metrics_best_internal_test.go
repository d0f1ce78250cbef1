package executions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry"
)

func TestTheNameOfAnExportSaysThatItIsDownsampled(t *testing.T) {
	t.Parallel()
	whole := telemetry.Series{Points: make([]telemetry.SeriesPoint, 2), Summary: telemetry.Summary{Count: 2}}
	sampled := telemetry.Series{Points: make([]telemetry.SeriesPoint, 2), Summary: telemetry.Summary{Count: 3}}
	require.Equal(t, "metrics.csv", csvName([]telemetry.Series{whole}))
	require.Equal(t, "metrics-downsampled.csv", csvName([]telemetry.Series{whole, sampled}))
}
