package cron

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@daily": "Every day at 00:00", "0 2 * * *": "Every day at 02:00", "30 2 * * SUN": "Every Sunday at 02:30", "0 9 * * 1-5": "Monday to Friday at 09:00",
		"5 * * * *": "Every hour, at minute 5", "*/15 * * * *": "Every 15 minutes", "*/7 * * * *": "", "@every 6h": "Every 6h", "0 0 1 * *": "On day 1 of every month at 00:00",
		"0 0 L * *": "On the last day of every month at 00:00", "30 2 * * SUNL": "", "0 2 * 1 *": "", "10 0 2 * * *": "", "0 2 1 * MON": "",
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, e.Words(), text)
	}
}
