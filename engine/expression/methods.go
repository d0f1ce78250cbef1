package expression

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
)

// methods are the methods of dates, durations and versions that expressions may call. The table
// names each method, because a lookup by [reflect.Value.MethodByName] would make the linker keep
// all exported methods of the program (docs/decisions/052-binary-size.md).
//
//nolint:gochecknoglobals // the same table for every expression, never written again
var methods = sync.OnceValue(func() map[reflect.Type]map[string]any {
	return map[reflect.Type]map[string]any{
		reflect.TypeFor[time.Time](): {
			"Add": time.Time.Add, "AddDate": time.Time.AddDate, "After": time.Time.After, "Before": time.Time.Before,
			"Clock": time.Time.Clock, "Compare": time.Time.Compare, "Date": time.Time.Date, "Day": time.Time.Day,
			"Equal": time.Time.Equal, "Format": time.Time.Format, "GobEncode": time.Time.GobEncode, "GoString": time.Time.GoString, "Hour": time.Time.Hour,
			"ISOWeek": time.Time.ISOWeek, "In": time.Time.In, "IsDST": time.Time.IsDST, "IsZero": time.Time.IsZero,
			"Local": time.Time.Local, "Location": time.Time.Location, "MarshalBinary": time.Time.MarshalBinary,
			"MarshalJSON": time.Time.MarshalJSON, "MarshalText": time.Time.MarshalText, "Minute": time.Time.Minute, "Month": time.Time.Month,
			"Nanosecond": time.Time.Nanosecond, "Round": time.Time.Round, "Second": time.Time.Second,
			"String": time.Time.String, "Sub": time.Time.Sub, "Truncate": time.Time.Truncate, "UTC": time.Time.UTC,
			"Unix": time.Time.Unix, "UnixMicro": time.Time.UnixMicro, "UnixMilli": time.Time.UnixMilli,
			"UnixNano": time.Time.UnixNano, "Weekday": time.Time.Weekday, "Year": time.Time.Year,
			"YearDay": time.Time.YearDay, "Zone": time.Time.Zone, "ZoneBounds": time.Time.ZoneBounds,
		},
		reflect.TypeFor[time.Duration](): {
			"Abs": time.Duration.Abs, "Hours": time.Duration.Hours, "Microseconds": time.Duration.Microseconds,
			"Milliseconds": time.Duration.Milliseconds, "Minutes": time.Duration.Minutes,
			"Nanoseconds": time.Duration.Nanoseconds, "Round": time.Duration.Round, "Seconds": time.Duration.Seconds,
			"String": time.Duration.String, "Truncate": time.Duration.Truncate,
		},
		reflect.TypeFor[time.Month]():   {"String": time.Month.String},
		reflect.TypeFor[time.Weekday](): {"String": time.Weekday.String},
		reflect.TypeFor[*semver.Version](): {
			"Compare": (*semver.Version).Compare, "Equal": (*semver.Version).Equal,
			"GreaterThan": (*semver.Version).GreaterThan, "GreaterThanEqual": (*semver.Version).GreaterThanEqual,
			"IncMajor": (*semver.Version).IncMajor, "IncMinor": (*semver.Version).IncMinor, "IncPatch": (*semver.Version).IncPatch,
			"LessThan": (*semver.Version).LessThan, "LessThanEqual": (*semver.Version).LessThanEqual,
			"Major": (*semver.Version).Major, "MarshalJSON": (*semver.Version).MarshalJSON,
			"MarshalText": (*semver.Version).MarshalText, "Metadata": (*semver.Version).Metadata,
			"Minor": (*semver.Version).Minor, "Original": (*semver.Version).Original, "Patch": (*semver.Version).Patch,
			"Prerelease": (*semver.Version).Prerelease, "SetMetadata": (*semver.Version).SetMetadata,
			"SetPrerelease": (*semver.Version).SetPrerelease, "String": (*semver.Version).String,
			"Value": (*semver.Version).Value,
		},
	}
})

// method(value, name, arguments…) calls a method of a date, a duration or a version.
func (r *run) method(args ...any) any {
	of, name := args[0], args[1].(string)
	r.meter.spend(5)
	for _, a := range args[2:] {
		r.meter.weigh(a)
	}
	f, ok := methods()[reflect.TypeOf(of)][name]
	if !ok {
		panic(&UnknownError{Name: "method " + name + " of " + kindOf(of)})
	}
	v, err := callBound(reflect.ValueOf(f), []reflect.Value{reflect.ValueOf(of)}, args[2:])
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return v
}
