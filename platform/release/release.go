// Package release names the version of this build: one for the server, the API, the
// Python SDK and the Helm chart.
package release

import (
	"runtime/debug"
)

// Version is the released version, by semantic versioning. A test compares it with the
// files of the SDK, the chart, the API's description and the changelog.
const Version = "1.0.0"

// Describe is the version with the commit that the program was built from, such as
// "1.0.0 (commit 1a2b3c4d5e6f, modified)". Builds outside a repository have no commit.
func Describe() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	return describe(info.Settings)
}

func describe(settings []debug.BuildSetting) string {
	commit, modified := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if commit == "" {
		return Version
	}
	return Version + " (commit " + commit + modified + ")"
}
