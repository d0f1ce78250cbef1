package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration shows d with at most two units: "840 ms", "41 s", "2 min 04 s", "3 h 10 min".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Floor(d.Seconds()*10)/10), ".0") + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return two(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < Day:
		return two(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	default:
		return two(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
	}
}

func two(big int, bigUnit string, small int, smallUnit string) string {
	if small == 0 {
		return fmt.Sprintf("%d %s", big, bigUnit)
	}
	return fmt.Sprintf("%d %s %02d %s", big, bigUnit, small, smallUnit)
}

// Exact shows d in hours, minutes and seconds without rounding: "1 h 30 min", "0.5 s".
func Exact(d time.Duration) string {
	if d > 0 && d < time.Second {
		for _, u := range []struct {
			name   string
			length time.Duration
		}{{"ms", time.Millisecond}, {"µs", time.Microsecond}, {"ns", time.Nanosecond}} {
			if d%u.length == 0 {
				return strconv.FormatInt(int64(d/u.length), 10) + " " + u.name
			}
		}
	}
	words := clock(d, []string{" h", " min", " s"})
	if len(words) == 0 {
		return "0 s"
	}
	return strings.Join(words, " ")
}

// Period shows a period in sentences: whole days as "30 days", others as Exact does.
func Period(d time.Duration) string {
	if d > 0 && d%Day == 0 {
		return Plural(int(d/Day), "day", "days")
	}
	return Exact(d)
}

// ISO writes hours, minutes and seconds of ISO 8601: PT36H, PT1H30M, PT0.25S.
func ISO(d time.Duration) string {
	parts := clock(d, []string{"H", "M", "S"})
	if len(parts) == 0 {
		return "PT0S"
	}
	return "PT" + strings.Join(parts, "")
}

// Compact writes d as users and definitions type it: "1h30m", "10m" rather than "10m0s".
func Compact(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// clock returns the hours, minutes and seconds of d that are not 0, with their units. The
// seconds have a fraction.
func clock(d time.Duration, units []string) (parts []string) {
	seconds := strconv.FormatInt(int64(d%time.Minute/time.Second), 10)
	if rest := d % time.Second; rest != 0 {
		seconds += "." + strings.TrimRight(fmt.Sprintf("%09d", int64(rest)), "0")
	}
	for i, n := range []string{
		strconv.FormatInt(int64(d/time.Hour), 10),
		strconv.FormatInt(int64(d%time.Hour/time.Minute), 10),
		seconds,
	} {
		if n != "0" {
			parts = append(parts, n+units[i])
		}
	}
	return parts
}

// Number groups digits by thousands: 10,009.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Plural returns "1 node" or "3 nodes".
func Plural[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + many
}

// Bytes shows a size in binary units with at most one decimal: 412 MiB, 1.5 GiB.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return Number(n) + " B"
	}
	const almost = unit - 0.05 // rounds to the next unit
	value, suffixes := float64(n)/unit, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for value >= almost && len(suffixes) > 1 {
		value, suffixes = value/unit, suffixes[1:]
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + suffixes[0]
}
