package views

import (
	"net/url"
	"strings"
)

// ArtifactCompare is the page of several artifacts side by side.
type ArtifactCompare struct {
	Page
	Name    string
	Items   []ComparedArtifact
	Same    string // which artifacts have the same bytes, a sentence; "" if all differ
	Images  bool   // all are images: they can also lie on each other
	Table   *JoinedTable
	Patches []ArtifactPatch // of texts, compared with the first
	Problem string          // why their content is not compared line by line or row by row
}

// ArtifactPatch is how a text differs from the first one.
type ArtifactPatch struct {
	ID, Title, Counts string // counts: "2 lines added, 1 removed"
	Lines             []DiffLine
}

// ComparedArtifact is one of the artifacts.
type ComparedArtifact struct {
	Row     ArtifactRow
	Preview Preview
	First   bool // the others are compared with it
}

// JoinedTable is several tables side by side.
type JoinedTable struct {
	Key     string // name of the column that identifies rows
	Columns []string
	Names   []string // of the artifacts
	Rows    []JoinedRow
	Note    string
}

// JoinedRow has the cells of all columns, for each of them one per artifact.
type JoinedRow struct {
	Key   string
	Cells []CompareCell
}

// MostArtifactsCompared is the largest number of artifacts side by side.
const MostArtifactsCompared = 8

// ArtifactCompareURL shows artifacts side by side, at most MostArtifactsCompared.
func ArtifactCompareURL(ids []string) string {
	return "/artifacts/compare?" + url.Values{"ids": {strings.Join(ids, ",")}}.Encode()
}
