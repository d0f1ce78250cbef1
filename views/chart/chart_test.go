package chart

import (
	"math"
	"strings"
	"testing"
	"time"
)

func plain(v float64) string { return Fixed(v, 4) }

func TestLines(t *testing.T) {
	t.Parallel()
	falling := Series{Name: "train"}
	for i := range 50 {
		falling.Points = append(falling.Points, Point{float64(i), 2 * math.Exp(-float64(i)/10)})
	}
	c := NewLines([]Series{falling, {Name: "val", Points: falling.Points}}, LineOptions{XUnit: "step", Smooth: 0.5, Format: plain})
	if len(c.Curves) != 2 || c.Curves[0].Ghost == "" || c.Curves[0].Points == "" {
		t.Fatalf("%+v", c)
	}
	if c.GridY[0].Text != "0" || len(c.GridY) < 4 || len(c.GridY) > 6 {
		t.Errorf("value axis %+v", c.GridY)
	}
	if c.Curves[0].LabelY == c.Curves[1].LabelY {
		t.Error("labels of equal ends overlap")
	}
}

func TestLinesWithOddValues(t *testing.T) {
	t.Parallel()
	odd := []Point{{0, math.NaN()}, {1, math.Inf(1)}, {2, -1}, {3, 0}}
	for name, o := range map[string]LineOptions{"linear": {Format: plain}, "log": {Log: true, Format: plain}, "time": {Time: true, Format: plain}} {
		c := NewLines([]Series{{Name: "x", Points: odd}}, o)
		for _, curve := range c.Curves {
			if strings.Contains(curve.Points, "NaN") || strings.Contains(curve.Points, "Inf") {
				t.Errorf("%s: %s", name, curve.Points)
			}
		}
	}
	if c := NewLines(nil, LineOptions{Format: plain}); !c.Empty {
		t.Error("a chart without values is not empty")
	}
	same := NewLines([]Series{{Points: []Point{{1, 5}}}}, LineOptions{Format: plain})
	if len(same.Curves) != 1 || same.Curves[0].EndX == "" {
		t.Errorf("one point: %+v", same)
	}
}

// TestStepAxesShowWholeNumbers: ten steps have marks at 0 and 5, not at 2.5 and 7.5.
func TestStepAxesShowWholeNumbers(t *testing.T) {
	t.Parallel()
	for last, want := range map[float64]string{3: "0 1 2 3", 9: "0 5", 100: "0 25 50 75 100"} {
		c := NewLines([]Series{{Points: []Point{{0, 1}, {last, 2}}}}, LineOptions{XUnit: "step", Format: plain})
		var texts []string
		for _, g := range c.GridX {
			texts = append(texts, g.Text)
		}
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("steps 0 to %g: %s", last, got)
		}
	}
}

func TestLogAxisShowsDecades(t *testing.T) {
	t.Parallel()
	c := NewLines([]Series{{Points: []Point{{0, 0.0003}, {1, 20}}}}, LineOptions{Log: true, Format: plain})
	var texts []string
	for _, g := range c.GridY {
		texts = append(texts, g.Text)
	}
	if got := strings.Join(texts, " "); got != "0.0001 0.01 1 100" {
		t.Error(got)
	}
}

func TestLongCurvesAreThinned(t *testing.T) {
	t.Parallel()
	var long Series
	for i := range 100_000 {
		y := 0.0
		if i == 54_321 {
			y = 9
		}
		long.Points = append(long.Points, Point{float64(i), y})
	}
	c := NewLines([]Series{long}, LineOptions{Format: plain})
	if n := strings.Count(c.Curves[0].Points, " "); n > maxVertices {
		t.Errorf("%d vertices", n)
	}
	if !strings.Contains(c.Curves[0].Points, ",") || c.GridY[len(c.GridY)-1].Text == "0" {
		t.Error("the one peak is lost")
	}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	tl := NewTimeline([]Row{
		{Name: "load", Spans: []Span{{From: at(0), To: at(10)}, {State: "SUCCEEDED", From: at(10), To: at(10)}}},
		{Name: "train", Spans: []Span{{State: "FAILED", From: at(20), To: at(60)}}},
		{Name: "report", Note: "pending"},
	}, TimelineOptions{From: at(0), To: at(100), Now: at(60), Zone: time.UTC})
	if !tl.Rows[0].Bars[0].Wait || tl.Rows[0].Bars[1].W != "0.25%" {
		t.Errorf("a span without a duration is drawn as %+v", tl.Rows[0].Bars)
	}
	if !tl.Rows[1].Bars[0].Cut {
		t.Error("a failure has no cut")
	}
	if tl.NowX == "" || len(tl.Ticks) < 3 {
		t.Errorf("now at %q, ticks %+v", tl.NowX, tl.Ticks)
	}
}

func TestTimeTicksKeepTheZone(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("X", 5*3600+1800)
	a := time.Date(2026, 11, 20, 0, 10, 0, 0, time.UTC)
	ticks := timeTicks(a, a.Add(4*time.Hour), 4, zone)
	if len(ticks) == 0 || ticks[0].Text != "06:00" {
		t.Errorf("%+v", ticks)
	}
}

func TestTimeTicksOfAShortExecution(t *testing.T) {
	t.Parallel()
	a := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for took, want := range map[time.Duration]string{1600 * time.Millisecond: "09:00:00.5", 120 * time.Millisecond: "09:00:00.02", 6 * time.Second: "09:00:01"} {
		if ticks := timeTicks(a, a.Add(took), 6, nil); len(ticks) < 3 || ticks[1].Text != want {
			t.Errorf("%s: %+v", took, ticks)
		}
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	m := NewMatrix([]string{"cat", "dog"}, [][]float64{{9, 1}, {0, 10}})
	if len(m.Cells) != 4 || m.Cells[2].Text != "" || !m.Cells[0].Dark {
		t.Errorf("%+v", m.Cells)
	}
	if !strings.Contains(m.Label, "19 of 20 correct") || !strings.Contains(m.Label, "cat predicted as dog") {
		t.Error(m.Label)
	}
}

func TestTrendAndSpark(t *testing.T) {
	t.Parallel()
	if bars := Trend(make([]Past, 30)); len(bars) != 24 {
		t.Errorf("%d bars", len(bars))
	}
	if Spark(nil) != "" || Spark([]float64{1}) == "" || strings.Count(Spark([]float64{1, 2, 3}), ",") != 3 {
		t.Error("spark")
	}
}
