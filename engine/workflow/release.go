package workflow

import (
	"errors"
	"fmt"
	"math"
	"strings"

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

// isDevelopment reports whether a version is a development version: a pre-release named
// dev, such as 1.2.0-dev.h3f2a. The commands run and dev register them.
func isDevelopment(version string) bool {
	v, err := parseVersion(version)
	return err == nil && (v.Prerelease() == "dev" || strings.HasPrefix(v.Prerelease(), "dev."))
}

// supersedes reports whether candidate, the version registered last, replaces current as
// the latest version. Any release precedes every pre-release, and any other pre-release
// precedes every development version. Names of development versions have no order: the
// one registered last precedes the others.
func supersedes(candidate, current string) bool {
	c, errC := parseVersion(candidate)
	now, errN := parseVersion(current)
	if errC != nil || errN != nil {
		return errN != nil
	}
	if (c.Prerelease() == "") != (now.Prerelease() == "") {
		return c.Prerelease() == ""
	}
	if develops := isDevelopment(candidate); develops || isDevelopment(current) {
		return isDevelopment(current)
	}
	return c.GreaterThan(now)
}
