package cron

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@daily": "Every day at 00:00", "0 2 * * *": "Every day at 02:00", "30 2 * * SUN": "Every Sunday at 02:30", "0 9 * * 1-5": "Monday to Friday at 09:00",
		"5 * * * *": "Every hour, at minute 5", "*/15 * * * *": "Every 15 minutes", "*/7 * * * *": "", "@every 6h": "Every 6 hours", "@every 1h30m": "Every 90 minutes", "@every 1m": "Every minute", "@every 30s": "Every 30 seconds", "0 0 1 * *": "On day 1 of every month at 00:00",
		"0 0 L * *": "On the last day of every month at 00:00", "10 0 2 * * *": "",
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, e.Words(), text)
	}
}
