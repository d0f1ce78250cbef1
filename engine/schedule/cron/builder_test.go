package cron

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func patterns() []Pattern {
	var list []Pattern
	for _, n := range MinuteSteps() {
		list = append(list, Pattern{Repeats: Minutes, Every: n, Month: "*"})
	}
	for _, n := range HourSteps() {
		list = append(list, Pattern{Repeats: Hourly, Every: n, Minute: 59, Month: "*"})
	}
	list = append(list, Pattern{Repeats: Daily, Hour: 23, Minute: 5, Month: "*"})
	for i := range Weekdays() {
		list = append(list, Pattern{Repeats: Weekly, Hour: 2, Days: Weekdays()[i:], Month: "*"}, Pattern{Repeats: Weekly, Hour: 2, Days: Weekdays()[:i+1], Month: "*"})
	}
	for _, month := range []string{"*", "*/2", "*/3", "*/6", "1", "12"} {
		for day := 1; day <= 31; day++ {
			if day < 30 || month != "2" {
				list = append(list, Pattern{Repeats: Monthly, On: OnDay, Day: day, Month: month})
			}
		}
		for _, on := range []string{OnLastDay, OnWorkday, OnLastWorkday} {
			list = append(list, Pattern{Repeats: Monthly, On: on, Month: month, Hour: 9, Minute: 30})
		}
		for _, weekday := range Weekdays() {
			list = append(list, Pattern{Repeats: Monthly, On: OnLast, Weekday: weekday, Month: month})
			for n := 1; n <= 4; n++ {
				list = append(list, Pattern{Repeats: Monthly, On: strconv.Itoa(n), Weekday: weekday, Month: month})
			}
		}
	}
	return list
}

// TestPatternsAreReadBack: the choices of the form make expressions that are read as the same
// choices, and that have words.
func TestPatternsAreReadBack(t *testing.T) {
	t.Parallel()
	for _, p := range patterns() {
		text := p.Expression()
		e, err := Parse(text)
		require.NoError(t, err, text)
		back, ok := e.Pattern()
		require.True(t, ok, text)
		require.Equal(t, p, back, text)
		require.NotEmpty(t, e.Words(), text)
	}
}

func TestExpressionsWithoutPattern(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"@every 6h", "10 0 2 * * *", "*/7 * * * *", "0,30 2 * * *", "0 2,4 * * *", "0 2 1 * MON", "0 2 1-5 * *", "0 2 * 1,7 *", "0 2 * * FRI#5", "0 2 * 1 *"} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		_, ok := e.Pattern()
		require.False(t, ok, text)
	}
	e, err := Parse("0 9 * * 1-5")
	require.NoError(t, err)
	p, ok := e.Pattern()
	require.True(t, ok)
	require.Equal(t, "0 9 * * MON-FRI", p.Expression())
}

func TestLongWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"30 2 * * SUNL":         "At 02:30 on the last Sunday of the month",
		"0 2 * 1 *":             "At 02:00 every day in January",
		"0 2 1 * MON":           "At 02:00 on day 1 or every Monday",
		"0 2,14 * * *":          "At 02:00 and 14:00 every day",
		"*/15 9-17 * * MON-FRI": "Every 15 minutes from 09:00 to 17:59 from Monday to Friday",
		"5 */6 * * *":           "At minute 5 of every sixth hour",
		"0 0 1,15 * *":          "At 00:00 on days 1 and 15 of every month",
		"0 9 1W */3 *":          "At 09:00 on the first workday in January, April, July and October",
		"0 9 LW * *":            "At 09:00 on the last workday of every month",
		"0 9 15W,L-2 * *":       "At 09:00 on the workday nearest to day 15 and the third-to-last day of every month",
		"0 12 * * TUE#2":        "At 12:00 on the second Tuesday of the month",
		"0 8 * * MON,THU":       "At 08:00 every Monday and Thursday",
		"* * * * *":             "Every minute",
		"0 2 29 FEB *":          "At 02:00 on day 29 in February",
		"0 6 * MAY-SEP *":       "At 06:00 every day from May to September",
		"*/7 * * * *":           "",
		"10 0 2 * * *":          "",
		"1-5 * * * *":           "",
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, e.Words(), text)
	}
}
