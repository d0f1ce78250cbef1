package workflow

import (
	"errors"
	"fmt"
	"math"

	"github.com/Masterminds/semver/v3"
)

// parseVersion reads a semantic version 2.0.0. Build metadata is refused because it
// does not affect the order of versions.
func parseVersion(s string) (*semver.Version, error) {
	v, err := semver.StrictNewVersion(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a semantic version such as 1.0.0 or 2.1.0-beta.1", shorten(s, 60))
	case v.Metadata() != "":
		return nil, errors.New("a version must not have build metadata; remove the part after the +")
	case v.Major() > math.MaxInt64 || v.Minor() > math.MaxInt64 || v.Patch() > math.MaxInt64:
		return nil, errors.New("the numbers of the version are too large")
	}
	return v, nil
}

// compareVersions orders two valid versions by semantic version precedence:
// a pre-release comes before its release.
func compareVersions(a, b string) int {
	va, errA := parseVersion(a)
	vb, errB := parseVersion(b)
	if errA != nil || errB != nil {
		return 0
	}
	return va.Compare(vb)
}

// supersedes reports whether candidate replaces current as the latest version: any
// release comes before every pre-release.
func supersedes(candidate, current string) bool {
	c, errC := parseVersion(candidate)
	now, errN := parseVersion(current)
	if errC != nil || errN != nil {
		return errN != nil
	}
	if (c.Prerelease() == "") != (now.Prerelease() == "") {
		return c.Prerelease() == ""
	}
	return c.GreaterThan(now)
}
