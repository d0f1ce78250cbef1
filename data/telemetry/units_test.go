package telemetry

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry/spool"
)

func TestRanges(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var r ranges
	known := map[int64]bool{}
	for range 20_000 {
		n := rng.Int64N(500)
		if rng.IntN(5) == 0 {
			r.remove(n)
			delete(known, n)
			continue
		}
		require.Equal(t, !known[n], r.add(n))
		known[n] = true
		require.True(t, r.has(n))
	}
	for n := range int64(500) {
		require.Equal(t, known[n], r.has(n))
	}
	for i := 1; i < len(r.spans); i++ {
		require.Greater(t, r.spans[i].from, r.spans[i-1].to+1, "spans do not touch")
	}
}

func TestRangesStayBounded(t *testing.T) {
	t.Parallel()
	var r ranges
	for n := range int64(3 * maxRanges) {
		r.add(2 * n)
	}
	require.LessOrEqual(t, len(r.spans), maxRanges)
	require.False(t, r.add(2*(3*maxRanges-1)), "the newest are known")
}

func TestCodec(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 6, 40, 0, 123456000, time.UTC)
	l := LogLine{TenantID: uuid.New(), ProjectID: uuid.New(), ExecutionID: uuid.New(), NodeIndex: 9999, Node: "train", Attempt: 3,
		Stream: "stderr", Seq: 1 << 60, Time: at, Level: "WARN", Message: "naïve \x1b[31mred", Fields: json.RawMessage(`{"a":1}`), Pod: "ff-1-9999-3", Machine: "gpu-7"}
	e := encodeLines([]*LogLine{&l})
	lines, err := decodeLines(spool.Frame{Entry: e})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]LogLine{l}, lines, cmp.AllowUnexported(LogLine{}, origin{})))

	old := encoder{} // a frame of an earlier version
	old.id(l.TenantID)
	old.id(l.ProjectID)
	header := len(old.b)
	old.string(l.Pod)
	old.string(l.Machine)
	old.b = append(old.b[:header], e.Payload[len(old.b):]...)
	lines, err = decodeLines(spool.Frame{Entry: spool.Entry{Kind: kindOldLogs, Group: l.ExecutionID, Count: 1, Payload: old.b}})
	require.NoError(t, err)
	former := l
	former.Pod, former.Machine = "", ""
	require.Empty(t, cmp.Diff([]LogLine{former}, lines, cmp.AllowUnexported(LogLine{}, origin{})))

	step := int64(-4)
	p := Point{TenantID: l.TenantID, ProjectID: l.ProjectID, ExecutionID: l.ExecutionID, Node: "n", Attempt: 1, Seq: 2, Name: "loss",
		Kind: Gauge, Step: &step, Value: 0.25, Time: at, Tags: map[string]string{"b": "2", "a": "1"}}
	e, err = encodePoints([]*Point{&p})
	require.NoError(t, err)
	points, err := decodePoints(spool.Frame{Entry: e})
	require.NoError(t, err)
	require.Equal(t, `{"a":"1","b":"2"}`, points[0].tags)
	points[0].Tags = decodeTags(points[0].tags)
	require.Empty(t, cmp.Diff(p, points[0].Point))

	for n := range len(e.Payload) {
		cut := e
		cut.Payload = e.Payload[:n]
		_, err := decodePoints(spool.Frame{Entry: cut})
		require.Error(t, err)
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 6, 40, 0, 0, time.UTC)
	l := LogLine{Level: "warning", Message: strings.Repeat("é", MaxMessageBytes), Fields: json.RawMessage(`{"a"`), Time: time.Unix(0, 0)}
	l.normalize(now)
	require.Equal(t, "WARN", l.Level)
	require.Equal(t, now, l.Time)
	require.Nil(t, l.Fields)
	require.True(t, strings.HasSuffix(l.Message, "é … (cut)"))
	l = LogLine{Message: "a\xff", Level: "?"}
	l.normalize(now)
	require.Equal(t, "a\uFFFD", l.Message)
	require.Equal(t, "INFO", l.Level)
}

func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(string(logPosition{Key: &lineKey{1, 2, 3, "stdout", 4}, Marks: marks{5: 6, 7: 8}}.cursor()))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Cursor(text).parse()
		if err != nil {
			require.True(t, apperr.Is(err, apperr.Invalid))
			return
		}
		if text == "" {
			return
		}
		again, err := p.cursor().parse()
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(p, again))
	})
}

func TestLTTB(t *testing.T) {
	t.Parallel()
	type point struct{ x, y float64 }
	points := make([]point, 10_000)
	for i := range points {
		points[i] = point{float64(i), float64(i % 7)}
	}
	points[5_003].y = 1000 // a peak must survive
	for _, n := range []int{3, 10, 500, 9_999} {
		got := lttb(points, func(p *point) (float64, float64) { return p.x, p.y }, n)
		require.Len(t, got, n)
		require.Equal(t, points[0], got[0])
		require.Equal(t, points[len(points)-1], got[n-1])
		require.Contains(t, got, points[5_003])
		for i := 1; i < n; i++ {
			require.Less(t, got[i-1].x, got[i].x)
		}
	}
	require.Len(t, lttb(points[:2], func(p *point) (float64, float64) { return p.x, p.y }, 1), 2)
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://ch:8123/logs":           "ch:8123 logs",
		"https://u:p@ch":                "ch:8443 ",
		"clickhouse://ch":               "ch:9000 ",
		"clickhouse://u:p@ch:9440/x":    "ch:9440 x",
		"http+unix:///run/ch/http.sock": "localhost:8123 ",
		"unix:///run/ch/http.sock":      "localhost:8123 ",
		"http://ch/?dial_timeout=2s":    "ch:8123 ",
	} {
		o, err := parseAddress(address)
		require.NoError(t, err, address)
		require.Equal(t, want, o.Addr[0]+" "+o.Auth.Database, address)
	}
	for _, bad := range []string{"", "ch:8123", "tcp://ch", "http://%zz:secret@ch"} {
		_, err := parseAddress(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "secret")
	}
}
