package workflow

import (
	"slices"
	"testing"
)

func TestVersionsOrder(t *testing.T) {
	t.Parallel()
	want := []string{"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.2.0", "1.10.0", "2.0.0"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareVersions)
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestSupersedes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		candidate, current string
		want               bool
	}{
		{"1.0.1", "1.0.0", true},
		{"1.0.0", "1.0.1", false},
		{"2.0.0-rc.1", "1.0.0", false},
		{"1.0.0", "2.0.0-rc.1", true},
		{"2.0.0-rc.2", "2.0.0-rc.1", true},
		{"2.0.0-dev.h1", "1.0.0", false},
		{"2.0.0-dev.h1", "1.0.0-rc.1", false},
		{"1.0.0-rc.1", "2.0.0-dev.h1", true},
		{"1.0.0-dev.h1", "1.0.0-dev.h2", true}, // registered last
		{"1.0.0-developer", "1.0.0-dev.h2", true},
	} {
		if got := supersedes(test.candidate, test.current); got != test.want {
			t.Errorf("%s in the place of %s: %v", test.candidate, test.current, got)
		}
	}
}

func TestParseVersionRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "1", "1.0", "v1.0.0", "1.0.0+build", "01.0.0", "1.0.0-", "99999999999999999999.0.0", "18446744073709551615.0.0", " 1.0.0"} {
		if _, err := parseVersion(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}
