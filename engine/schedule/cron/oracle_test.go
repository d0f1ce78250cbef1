package cron

import (
	"archive/zip"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// sets are the fields of a generated expression as sets. The oracle reads these, not the text, so
// it shares nothing with the parser and the search.
type sets struct {
	minutes, hours, days, months, weekdays map[int]bool // nil: *
	last                                   bool         // the last day of the month, in days
}

// numbers draws n values from low to high.
func numbers(r *rand.Rand, n, low, high int) map[int]bool {
	out := map[int]bool{}
	for range n {
		out[low+r.IntN(high-low+1)] = true
	}
	return out
}

func field(set map[int]bool) string {
	if set == nil {
		return "*"
	}
	var values []int
	for v := range set {
		values = append(values, v)
	}
	slices.Sort(values)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ","), "[]")
}

// generate draws an expression. Hours are those in which clocks change, for the most part.
func generate(r *rand.Rand) sets {
	s := sets{minutes: numbers(r, 1+r.IntN(3), 0, 59)}
	if r.IntN(5) > 0 {
		s.hours = numbers(r, 1+r.IntN(3), 0, 4)
		if r.IntN(4) == 0 {
			s.hours = numbers(r, 1+r.IntN(12), 0, 23)
		}
	}
	if r.IntN(8) == 0 {
		s.minutes = nil
	}
	if r.IntN(4) == 0 {
		s.days = numbers(r, 1+r.IntN(10), 1, 31)
		s.last = r.IntN(3) == 0
	}
	if r.IntN(4) == 0 {
		s.weekdays = numbers(r, 1+r.IntN(3), 0, 6)
	}
	if r.IntN(6) == 0 {
		s.months = numbers(r, 2+r.IntN(6), 1, 12)
	}
	return s
}

func (s sets) text() string {
	days := field(s.days)
	if s.last {
		days += ",L"
	}
	return strings.Join([]string{field(s.minutes), field(s.hours), days, field(s.months), field(s.weekdays)}, " ")
}

// match reports whether the minute of a wall clock matches. w is in UTC.
func (s sets) match(w time.Time) bool {
	in := func(set map[int]bool, v int) bool { return set == nil || set[v] }
	if !in(s.minutes, w.Minute()) || !in(s.hours, w.Hour()) || !in(s.months, int(w.Month())) {
		return false
	}
	day := in(s.days, w.Day()) || s.last && w.AddDate(0, 0, 1).Day() == 1
	weekday := in(s.weekdays, int(w.Weekday()))
	if s.days == nil || s.weekdays == nil {
		return day && weekday
	}
	return day || weekday
}

// every reports whether all hours match.
func (s sets) every() bool {
	for h := range 24 {
		if s.hours != nil && !s.hours[h] {
			return false
		}
	}
	return true
}

// around is the wall clock around a change, minute by minute, and which of its minutes are compared.
type around struct {
	begin, from, until int64
	walls              []int64
	seen, times        []int // how often the wall showed this minute, until now and in all
}

// look builds the clock around c. Margins are as wide as the change, so that each wall time that the
// change repeats is seen both times.
func look(c change, zone *time.Location) around {
	margin := 3*hour + max(c.after-c.before, c.before-c.after)
	a := around{begin: c.at - 2*margin, from: c.at - margin, until: c.at + margin}
	total := map[int64]int{}
	for u := a.begin; u < a.until+margin; u += minute {
		wall := u + offsetAt(u, zone)
		total[wall]++
		a.walls, a.seen = append(a.walls, wall), append(a.seen, total[wall])
	}
	for _, wall := range a.walls {
		a.times = append(a.times, total[wall])
	}
	return a
}

// walk returns the runs by rule, minute by minute: a wall time that was skipped runs when the
// clock jumps, and one that occurs twice runs as the rule for folds says.
func (a around) walk(s sets) map[Clock][]int64 {
	fires := map[Clock][]int64{}
	add := func(u int64, gap Gap, fold Fold) {
		rule := Clock{Gap: gap, Fold: fold}
		if list := fires[rule]; u >= a.from && (len(list) == 0 || list[len(list)-1] != u) {
			fires[rule] = append(list, u)
		}
	}
	for i, wall := range a.walls[1:] {
		i++
		u := a.begin + int64(i)*minute
		if u >= a.until {
			break
		}
		for w := a.walls[i-1] + minute; w < wall && !s.every(); w += minute {
			if s.match(time.Unix(w, 0).UTC()) {
				for _, fold := range Folds() {
					add(u, GapRunAfter, fold)
				}
			}
		}
		if !s.match(time.Unix(wall, 0).UTC()) {
			continue
		}
		for _, gap := range Gaps() {
			for _, fold := range Folds() {
				if s.every() || fold == FoldBoth || fold == FoldFirst && a.seen[i] == 1 || fold == FoldLast && a.seen[i] == a.times[i] {
					add(u, gap, fold)
				}
			}
		}
	}
	return fires
}

// zones are all zones of the database that Go has.
func zones(t testing.TB) (list []*time.Location) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		data, err := fs.ReadFile(r, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocationFromTZData(f.Name, data)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, zone)
	}
	return list
}

// change is a change of the clocks: when, and the offsets before and after.
type change struct{ at, before, after int64 }

// changes are all changes of offset in the zones from 2000 to 2040. One example stays of those that
// happen at the same time on the same clocks.
func changes(t testing.TB) map[change]*time.Location {
	t.Helper()
	out := map[change]*time.Location{}
	for _, zone := range zones(t) {
		at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		for {
			_, end := at.In(zone).ZoneBounds()
			if end.IsZero() || end.Year() > 2040 {
				break
			}
			c := change{end.Unix(), offsetAt(end.Unix()-1, zone), offsetAt(end.Unix(), zone)}
			if c.before != c.after {
				out[c] = zone
			}
			if at = end; c.before == c.after {
				at = end.Add(25 * time.Hour) // the end of a year, see segmentOf
			}
		}
	}
	return out
}

// everyPair makes TestOracle compare every change with every expression, which takes minutes.
var everyPair = flag.Bool("every-pair", false, "compare every clock change with every expression")

// TestOracle compares Next with a walker around every change of the clocks in all time zones from
// 2000 to 2040, for 200 generated expressions and all rules. Without -every-pair, each change is
// compared with some of the expressions.
func TestOracle(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 40))
	var all []sets
	var expressions []Expression
	for len(all) < 200 {
		s := generate(r)
		e, err := Parse(s.text())
		if err != nil {
			if strings.Contains(err.Error(), "never runs") {
				continue // such as 31 February
			}
			t.Fatal(s.text(), err)
		}
		all, expressions = append(all, s), append(expressions, e)
	}
	list := changes(t)
	if len(list) < 2000 {
		t.Fatalf("only %d changes of the clocks were found", len(list))
	}
	pairs := 6
	if *everyPair {
		pairs = len(all)
	}
	next, fired := 0, 0
	for c, zone := range list {
		a := look(c, zone)
		for range pairs {
			i := next % len(all)
			next++
			walked := a.walk(all[i])
			for _, gap := range Gaps() {
				for _, fold := range Folds() {
					want := walked[Clock{Gap: gap, Fold: fold}]
					got := between(expressions[i], Clock{Zone: zone, Gap: gap, Fold: fold}, a.from, a.until)
					if !slices.Equal(want, got) {
						t.Fatalf("%q in %s around %s, %s, %s:\n want %v\n got  %v", all[i].text(), zone, time.Unix(c.at, 0).UTC(), gap, fold, clocks(want, zone), clocks(got, zone))
					}
					fired += len(want)
				}
			}
		}
	}
	t.Logf("%d changes, %d pairs of a change and an expression, %d runs", len(list), next, fired)
}

func between(e Expression, c Clock, from, until int64) (fires []int64) {
	for t := e.Next(time.Unix(from-1, 0), c); !t.IsZero() && t.Unix() < until; t = e.Next(t, c) {
		fires = append(fires, t.Unix())
	}
	return fires
}

func clocks(fires []int64, zone *time.Location) (out []string) {
	for _, f := range fires {
		out = append(out, time.Unix(f, 0).In(zone).Format("01-02 15:04 MST"))
	}
	return out
}

func BenchmarkNext(b *testing.B) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{"30 2 * * *", "*/15 * * * *", "0 9 * * MON-FRI", "30 2 * * SUNL", "0 0 1 1 *"} {
		b.Run(text, func(b *testing.B) {
			e, err := Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			t := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			for b.Loop() {
				t = e.Next(t, Clock{Zone: zone})
				if t.Year() > 2060 {
					t = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
				}
			}
		})
	}
}
