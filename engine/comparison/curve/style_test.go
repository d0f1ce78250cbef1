package curve

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

// ids are n new IDs, oldest first.
func ids(t *testing.T, n int) []uuid.UUID {
	t.Helper()
	list := make([]uuid.UUID, n)
	for i := range list {
		id, err := uuid.NewV7()
		if err != nil {
			t.Fatal(err)
		}
		list[i] = id
	}
	return list
}

// TestColorsAreStable pins colors: a change of the function would recolor every execution.
func TestColorsAreStable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"01900000-0000-7000-8000-00000022b457": 3, "01900000-0000-7000-8000-000000d06fde": 5, "00000000-0000-0000-0000-000000000000": 3,
	} {
		if got := ColorOf(uuid.MustParse(text)); got != want {
			t.Errorf("%s has the color %d, want %d", text, got, want)
		}
	}
}

func TestColorsAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	var count [Colors]int
	list := ids(t, 6000)
	for _, id := range list {
		count[ColorOf(id)]++
	}
	for color, n := range count {
		if n < 800 || n > 1200 {
			t.Errorf("%d of %d executions have the color %d", n, len(list), color)
		}
	}
}

// TestStylesOfOneChart: the color of an execution depends on no other one; executions with the same
// color differ in their dash, whatever the order of the list.
func TestStylesOfOneChart(t *testing.T) {
	t.Parallel()
	list := ids(t, 24)
	styles := Styles(list)
	seen := map[Style]int{}
	perColor := map[int]int{}
	for i, s := range styles {
		if s.Color != ColorOf(list[i]) || Styles(list[i : i+1])[0] != (Style{Color: s.Color}) {
			t.Errorf("the color of %s changes with its neighbors", list[i])
		}
		seen[s]++
		perColor[s.Color]++
	}
	for s, n := range seen {
		if n > 1 && perColor[s.Color] <= Dashes {
			t.Errorf("%d executions look like %+v", n, s)
		}
	}
	backwards := slices.Clone(list)
	slices.Reverse(backwards)
	again := Styles(backwards)
	slices.Reverse(again)
	if !slices.Equal(styles, again) {
		t.Error("the order of the list changes the styles")
	}
	// The oldest execution leaves the page when a new one starts: the others keep their dashes.
	if !slices.Equal(Styles(list[1:]), styles[1:]) {
		t.Error("the styles of newer executions depend on older ones")
	}
}

func TestPartsOfAnExecutionDifferInTheirDash(t *testing.T) {
	t.Parallel()
	first, second := Style{Color: 3}, Style{Color: 3, Dash: 1}
	got := []Style{first.Part(0, 2), first.Part(1, 2), second.Part(0, 2), second.Part(1, 2), second.Part(0, 1)}
	want := []Style{{3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestGroupsAfterTheFirstAreGray(t *testing.T) {
	t.Parallel()
	points := make([][]Point, Colors+1)
	keys := make([]string, len(points))
	for i := range points {
		points[i], keys[i] = []Point{{0, 1}}, string(rune('a'+i))
	}
	lines := NewFrame(points, 10).Group(keys).Lines
	if lines[1].Style != (Style{1, 1}) || lines[Colors].Style != (Style{Color: Gray}) {
		t.Errorf("%+v and %+v", lines[1].Style, lines[Colors].Style)
	}
}
