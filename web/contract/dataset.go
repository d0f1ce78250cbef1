package contract

import "time"

// DatasetBody is a dataset or a feature set with its versions.
type DatasetBody struct {
	Name     string           `json:"name"`
	Kind     string           `json:"kind" enum:"Dataset,FeatureSet"`
	Versions []DatasetVersion `json:"versions" doc:"Versions, newest first"`
	Next     string           `json:"next_page,omitempty" doc:"Cursor for older versions; pass it as page"`
	Aliases  []ModelAlias     `json:"aliases"`
	URL      string           `json:"ui_url"`
}

// DatasetVersion is a version of a dataset.
type DatasetVersion struct {
	Ref        string    `json:"ref" doc:"Reference to the version, for use as an input value"`
	Version    string    `json:"version"`
	Aliases    []string  `json:"aliases"`
	Rows       *int64    `json:"rows,omitempty" doc:"Number of rows, from the statistics or else as declared; absent if unknown"`
	SizeBytes  int64     `json:"size_bytes,omitempty"`
	Statistics string    `json:"statistics" enum:"absent,waiting,ready,failed"`
	CreatedBy  string    `json:"created_by"`
	CreatedAt  time.Time `json:"created_at"`
}

// DatasetStatistics describe the columns of a version.
type DatasetStatistics struct {
	Ref        string          `json:"ref"`
	State      string          `json:"state" enum:"absent,waiting,ready,failed"`
	Problem    string          `json:"problem,omitempty" doc:"Reason why there are no statistics"`
	ComputedAt *time.Time      `json:"computed_at,omitempty"`
	Rows       int64           `json:"rows,omitempty" doc:"Number of rows read"`
	All        bool            `json:"all,omitempty" doc:"True if all rows of the version were read"`
	AllColumns int             `json:"total_columns,omitempty" doc:"Number of columns in the version; up to 1,000 are described"`
	Columns    []DatasetColumn `json:"columns"`
}

// DatasetColumn describes the values of a column.
type DatasetColumn struct {
	Name      string         `json:"name"`
	Type      string         `json:"type" enum:"Integer,Float,Boolean,String,Date,Datetime,Time,Binary,List"`
	Count     int64          `json:"count" doc:"Number of values that match the column's type"`
	Nulls     int64          `json:"nulls"`
	Other     int64          `json:"other,omitempty" doc:"Number of values that do not match the column's type, including NaN and infinite numbers"`
	Distinct  int64          `json:"distinct"`
	Estimated bool           `json:"distinct_estimated,omitempty" doc:"True if distinct is an estimate, with an error of about 2 %"`
	Min       string         `json:"min,omitempty"`
	Max       string         `json:"max,omitempty"`
	Mean      *float64       `json:"mean,omitempty"`
	Deviation *float64       `json:"standard_deviation,omitempty"`
	Quantiles []float64      `json:"quantiles,omitempty" doc:"Equally spaced quantiles, from the smallest to the largest sampled value; times are in Unix seconds"`
	Sampled   int64          `json:"sampled,omitempty" doc:"Number of values that the quantiles are based on"`
	Top       []DatasetValue `json:"top,omitempty" doc:"Most frequent values, up to 50"`
	Complete  bool           `json:"top_complete,omitempty" doc:"True if top contains all values"`
	Error     int64          `json:"top_error,omitempty" doc:"Maximum amount by which the counts in top are too low"`
}

// DatasetValue is a frequent value.
type DatasetValue struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// DatasetDrift describes how a version differs from another one.
type DatasetDrift struct {
	Ref        string        `json:"ref"`
	Against    string        `json:"against,omitempty" doc:"Version compared with; absent for the first version"`
	Ready      bool          `json:"ready" doc:"True if both versions have statistics; otherwise, columns is empty"`
	RowsBefore int64         `json:"rows_before"`
	RowsNow    int64         `json:"rows_now"`
	Moved      int           `json:"moved" doc:"Number of columns whose verdict is moved"`
	Columns    []ColumnDrift `json:"columns"`
}

// ColumnDrift is the change of a column.
type ColumnDrift struct {
	Name    string      `json:"name"`
	Verdict string      `json:"verdict" enum:"same,little,moved,added,removed,retyped,unknown"`
	Method  string      `json:"method,omitempty" enum:"deciles,values" doc:"How the column's values were binned"`
	PSI     *float64    `json:"psi,omitempty" doc:"Population stability index"`
	Chance  float64     `json:"chance,omitempty" doc:"Index that unchanged data of this size exceeds in 1 % of cases"`
	KS      *float64    `json:"ks,omitempty" doc:"Kolmogorov–Smirnov statistic, for numbers and times"`
	Note    string      `json:"note,omitempty"`
	Parts   []PartDrift `json:"parts,omitempty"`
}

// PartDrift is a part of a column with its shares of all rows.
type PartDrift struct {
	Name   string  `json:"name"`
	Before float64 `json:"before"`
	Now    float64 `json:"now"`
}

// DatasetRequested is the answer to a request for statistics.
type DatasetRequested struct {
	State string `json:"state" enum:"waiting"`
}
