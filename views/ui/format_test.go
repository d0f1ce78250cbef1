package ui

import (
	"math"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.9934: "0.9934", 0.5: "0.5", 3: "3", 12345.678: "12345.7", 0.999996: "0.999996", 0.99999999995: "1", 2.00004: "2.00004", 3.2e-5: "3.20e-05", math.Inf(1): "∞", 2.5e9: "2.50e+09"} {
		if got := Float(v); got != want {
			t.Errorf("Float(%g) = %q, want %q", v, got, want)
		}
	}
	if got := CPU(500) + ", " + Memory(1536); got != "0.5 CPU, 1.5 GiB" {
		t.Error(got)
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("X", 2*3600)
	c := Clock{Now: time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC), Zone: zone}
	for at, want := range map[time.Time]string{
		c.Now.Add(-time.Minute):                         "14:29",
		c.Now.Add(-20 * time.Hour):                      "Thu 18:30",
		time.Date(2026, 11, 12, 8, 0, 0, 0, time.UTC):   "12 November 2026",
		time.Date(2025, 11, 20, 12, 0, 0, 0, time.UTC):  "20 November 2025",
		time.Date(2026, 11, 20, 22, 30, 0, 0, time.UTC): "21 November 2026",
		time.Date(2026, 11, 19, 22, 30, 0, 0, time.UTC): "00:30",
		time.Date(2026, 11, 14, 13, 0, 0, 0, time.UTC):  "Sat 15:00",
		time.Date(2026, 11, 14, 11, 0, 0, 0, time.UTC):  "14 November 2026",
		{}: "",
	} {
		if got := c.Moment(at).Text; got != want {
			t.Errorf("Moment(%v) = %q, want %q", at, got, want)
		}
	}
	if got := c.Ago(c.Now.Add(-3 * time.Minute)).Text; got != "3 min ago" {
		t.Error(got)
	}
	if got := c.Exactly(c.Now).Exact; got != "Friday 20 November 2026, 14:30:00 X" {
		t.Error(got)
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	bar := NewBar("nodes", []Count{{State: "PENDING", N: 1}, {State: "SUCCEEDED", N: 9998}, {State: "FAILED", N: 1}})
	if bar.Percent != "99 %" || bar.Label != "10,000 nodes: 9,998 succeeded, 1 failed, 1 pending" {
		t.Errorf("%+v", bar)
	}
	if len(bar.Segments) != 3 || bar.Segments[1].State != "FAILED" || bar.Segments[1].Width == "0%" {
		t.Errorf("a single failure is not to be seen: %+v", bar.Segments)
	}
	if empty := NewBar("nodes", nil); len(empty.Segments) != 0 || empty.Label != "No nodes" {
		t.Errorf("%+v", empty)
	}
}
