package units

import (
	"math"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "90 s": 90 * time.Second, "1h30m": 90 * time.Minute, " 2 h 30 min ": 150 * time.Minute, "1.5 days": 36 * time.Hour,
		"1d12h": 36 * time.Hour, "2w": 14 * Day, "250ms": 250 * time.Millisecond, "0,5 h": 30 * time.Minute, "PT1H30M": 90 * time.Minute,
		"P1DT2H": 26 * time.Hour, "p2w": 14 * Day, "1 µs": time.Microsecond, "0.1s": 100 * time.Millisecond,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":         "“” is not a valid duration. Enter a value such as 90 s or 1 h 30 min.",
		"90":       "“90” has no unit. Enter a duration such as 90 s or 90 min.",
		"-5s":      "“-5s” is not a valid duration. Enter a value such as 90 s or 1 h 30 min.",
		"3 moons":  "“moons” is not a unit of time. Enter days, h, min or s.",
		"P1Y":      "“P1Y” contains years or months, whose length varies. Enter days, hours, minutes or seconds.",
		"pm":       "“pm” is not a valid duration. Enter a value such as 90 s or 1 h 30 min.",
		"PT":       "“PT” is not a valid duration. Enter a value such as PT1H30M.",
		"300000 d": "“300000 d” is too long. Enter less than 292 years.",
		"nan":      "“nan” is not a valid duration. Enter a value such as 90 s or 1 h 30 min.",
	} {
		if _, err := ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("ParseDuration(%q): %v, want %s", text, err, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "-1": -time.Second, "10m": 10 * time.Minute, "2d": 2 * Day} {
		if got, ok := Seconds(text); !ok || got != want {
			t.Errorf("Seconds(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "NaN", "inf", "1e300", "0x10", "soon"} {
		if d, ok := Seconds(text); ok {
			t.Errorf("Seconds(%q) = %v, want an error", text, d)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 ms", 840 * time.Millisecond: "840 ms", 1500 * time.Millisecond: "1.5 s", 41 * time.Second: "41 s",
		124 * time.Second: "2 min 04 s", 120 * time.Second: "2 min", 190 * time.Minute: "3 h 10 min", 49 * time.Hour: "2 d 01 h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{10 * time.Second: "10s", 20 * time.Minute: "20m", time.Hour: "1h", 90 * time.Minute: "1h30m", 0: "0s", 10 * time.Hour: "10h"} {
		if got := Compact(d); got != want {
			t.Errorf("Compact(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{Day: "1 day", 30 * Day: "30 days", 90 * time.Minute: "1 h 30 min"} {
		if got := Period(d); got != want {
			t.Errorf("Period(%v) = %q, want %q", d, got, want)
		}
	}
}

// TestFormatsAreReadBack: what Exact, ISO and Compact write, ParseDuration reads.
func TestFormatsAreReadBack(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(DurationPattern())
	for range 2000 {
		d := time.Duration(rand.Int64N(math.MaxInt64)) >> rand.IntN(62)
		for _, text := range []string{Exact(d), ISO(d), Compact(d)} {
			if got, err := ParseDuration(text); err != nil || got != d {
				t.Fatalf("%d ns is written as %q and read as %d ns, %v", d, text, got, err)
			}
			if !pattern.MatchString(text) {
				t.Fatalf("the pattern refuses %q", text)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 10009: "10,009", 1234567: "1,234,567", -1234: "−1,234"} {
		if got := Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1,023 B", 1024: "1 KiB", 1536: "1.5 KiB", 412 << 20: "412 MiB", 3 << 40: "3 TiB", 1<<20 - 1: "1 MiB", 10<<20 + 512<<10: "10.5 MiB",
		math.MaxInt64: "8 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Plural(1, "node", "nodes") + ", " + Plural(int64(2000), "entry", "entries"); got != "1 node, 2,000 entries" {
		t.Error(got)
	}
}

func TestQuantity(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		number float64
		unit   string
	}{
		"12": {12, ""}, " 0.5 ": {0.5, ""}, "500m": {500, "m"}, "16 GiB": {16, "GiB"}, "1,000 pods": {1000, "pods"}, "-1": {-1, ""}, "1e9": {1, "e9"}, "2Ki B": {2, "Ki B"},
	} {
		number, unit, ok := Quantity(text)
		if !ok || number != want.number || unit != want.unit {
			t.Errorf("Quantity(%q) = %v, %q, %v", text, number, unit, ok)
		}
	}
	for _, text := range []string{"", "GiB", "1,5", "1.2.3", "--1", "1,0000", "NaN", "Inf", "٣"} {
		if number, unit, ok := Quantity(text); ok {
			t.Errorf("Quantity(%q) = %v, %q", text, number, unit)
		}
	}
}

func TestSizeOf(t *testing.T) {
	t.Parallel()
	for unit, want := range map[string]float64{
		"k": 1e3, "K": 1e3, "KB": 1e3, "kB": 1e3, "M": 1e6, "GB": 1e9, "T": 1e12, "P": 1e15, "EB": 1e18,
		"Ki": 1 << 10, "KiB": 1 << 10, "Mi": 1 << 20, "mib": 1 << 20, "gi": 1 << 30, "GIB": 1 << 30, "Ti": 1 << 40, "PiB": 1 << 50, "Ei": 1 << 60,
	} {
		if got, ok := SizeOf(unit); !ok || got != want {
			t.Errorf("SizeOf(%q) = %v, %v, want %v", unit, got, ok, want)
		}
	}
	for _, unit := range []string{"", "B", "m", "mb", "g", "gb", "i", "ib", "Xi", "MM", "KMB", "MiBB", "litres"} {
		if got, ok := SizeOf(unit); ok {
			t.Errorf("SizeOf(%q) = %v", unit, got)
		}
	}
}
