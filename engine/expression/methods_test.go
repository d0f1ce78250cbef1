package expression

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMethods compares the table of methods with the types: an update of Go or of the library
// must not leave one out. Methods that change their value, or append to bytes, are not callable.
func TestMethods(t *testing.T) {
	t.Parallel()
	excluded := []string{"AppendBinary", "AppendFormat", "AppendText", "Scan", "UnmarshalJSON", "UnmarshalText"}
	for of, named := range methods() {
		for method := range of.Methods() {
			f, ok := named[method.Name]
			require.NotEqual(t, slices.Contains(excluded, method.Name), ok, "%s.%s", of, method.Name)
			if ok {
				require.Equal(t, method.Func.Type(), reflect.TypeOf(f), "%s.%s", of, method.Name)
			}
		}
		for name := range named {
			_, ok := of.MethodByName(name)
			require.True(t, ok, "%s has no method %s", of, name)
		}
	}
}

func TestCallMethods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`date("2026-11-29T22:04:05Z").Year()`:                                         int64(2026),
		`date("2026-11-29T22:04:05Z").AddDate(0, 1, 2).Format("2006-01-02")`:          "2026-12-31",
		`date("2026-11-29T22:04:05Z").Sub(date("2026-11-29T20:04:05Z")).Hours()`:      2.0,
		`date("2026-11-29T22:04:05Z").Month().String()`:                               "November",
		`date("2026-11-29T22:04:05Z").Weekday().String()`:                             "Sunday",
		`duration("90s").Minutes()`:                                                   1.5,
		`sprig.semver("1.4.2-rc1").Minor()`:                                           int64(4),
		`sprig.semver("1.4.2").LessThan(sprig.semver("1.10.0"))`:                      true,
		`date("2026-11-29T22:04:05Z").Add(duration("1h")).Format("15:04")`:            "23:04",
		`date("2026-11-29T22:04:05Z").Truncate(duration("24h")).Format("2006-01-02")`: "2026-11-29",
	} {
		e, err := ParseArgo(text)
		require.NoError(t, err, text)
		got, err := e.Value(nil)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		`date("2026-11-29T22:04:05Z").Add()`:         "Add: expected 1 arguments, got 0",
		`date("2026-11-29T22:04:05Z").Add("hour")`:   "Add: argument 1 must be",
		`date("2026-11-29T22:04:05Z").Century()`:     "method Century of",
		`date("2026-11-29T22:04:05Z").Scan("x")`:     "method Scan of",
		`duration("90s").UnmarshalText("x")`:         "method UnmarshalText of",
		`sprig.semver("1.4.2").Scan("1.4.3")`:        "method Scan of",
		`inputs.Year()`:                              "method Year of",
		`date("2026-11-29T22:04:05Z").Year().Year()`: "method Year of",
	} {
		e, err := ParseArgo(text)
		require.NoError(t, err, text)
		_, err = e.Value(map[string]any{"inputs": map[string]any{}})
		require.ErrorContains(t, err, want, text)
	}
}
