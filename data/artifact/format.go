package artifact

import (
	"cmp"
	"path"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// ParquetMediaType is the media type of Parquet files.
const ParquetMediaType = "application/vnd.apache.parquet"

// TableFormat returns how the rows of an artifact are stored: "parquet", "csv" or "tsv"; false for
// anything that is not a table.
func TableFormat(a Artifact) (string, bool) {
	switch ending := strings.ToLower(path.Ext(cmp.Or(a.Filename, a.Name))); {
	case a.MediaType == ParquetMediaType, ending == ".parquet", ending == ".pq":
		return "parquet", true
	case a.MediaType == "text/csv":
		return "csv", true
	case a.MediaType == "text/tab-separated-values":
		return "tsv", true
	}
	return "", false
}

func notTable(a Artifact) error {
	return apperr.New(apperr.Invalid, "%s is not a table. Tables are Parquet, CSV and TSV files.", a.Name)
}
