package launch

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/schedule"
)

func TestExcludedTimesAreLines(t *testing.T) {
	t.Parallel()
	w := whenDraft{sent: url.Values{"schedule.exclude": {" 22:00-06:00 fri-mon\n\n12:00 to 13:30\r\n09:00 – 10:00 SAT, SUN"}}, errors: map[string]string{}}
	require.Equal(t, []schedule.Window{
		{From: "22:00", Until: "06:00", Days: []string{"FRI", "SAT", "SUN", "MON"}}, {From: "12:00", Until: "13:30"}, {From: "09:00", Until: "10:00", Days: []string{"SAT", "SUN"}},
	}, w.windows())
	require.Empty(t, w.errors)

	w.failWindow("1", "This is wrong.")
	require.Equal(t, "12:00 to 13:30: This is wrong.", w.errors["exclude"], "several lines: the error names one")
	for _, text := range []string{"22:00", "from 9 to 5", "night"} {
		w := whenDraft{sent: url.Values{"schedule.exclude": {text}}, errors: map[string]string{}}
		require.Empty(t, w.windows())
		require.Contains(t, w.errors["exclude"], "is not a window")
	}
	require.Equal(t, []string{"FUN-DAY"}, weekdays("fun-day"), "the service names unknown days")
}
