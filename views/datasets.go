package views

import (
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// Datasets is the list of datasets or of feature sets.
type Datasets struct {
	Page
	Kind  string // Dataset or FeatureSet
	Tabs  []ui.Tab
	Query string
	Rows  []DatasetRow
	Pager ui.Pager
}

// DatasetRow is a dataset in the list.
type DatasetRow struct {
	Name, URL               string
	Newest                  string
	Versions, Rows, Columns string
	NewestAt                ui.Moment
}

// Dataset is the page of a dataset or feature set, with one of its versions.
type Dataset struct {
	Page
	Kind, Name, Version string
	Description         string
	Failed, Done        string
	Choose              []ui.Option // versions
	Against             []ui.Option // versions that this one can be compared with
	FormURL             string      // of the page
	Python              string      // the code that reads the version, or ""
	By                  string
	At                  ui.Moment
	MadeBy, MadeByURL   string
	Used                string // "used by 214 executions, 3 models"
	Links               []ui.Action
	Tiles               []DatasetTile
	Waiting             string // address that specifies when the statistics are ready, or ""
	Problem             string // why there are no statistics
	ComputeURL          string // "": the reader may not, or there is nothing to compute
	Columns             DatasetColumns
	Drift               *DatasetDrift // nil without an earlier version
	Preview             *DataSample
	Uses                []DatasetUse
	MoreUses            string
	Models              []LineageLink
	Sources             []LineageLink
	Omitted             string // what the lists of models and sources leave out, or ""
	Versions            []DatasetVersionRow
	Older               ui.Pager
	Aliases             []ModelAlias
	AliasURL, Alias     string
	Facts               []ui.Fact
}

// DatasetTile is a figure of a version.
type DatasetTile struct{ Name, Value, Unit, Note string }

// DatasetColumns are the columns of a version.
type DatasetColumns struct {
	Now, Before string // versions
	Read        string // "over all 1,797 rows"
	Declared    bool   // the columns declare a default or statistics
	Counted     bool   // there are statistics
	Rows        []DatasetColumn
	Pager       ui.Pager
}

// DatasetColumn is a column with its statistics.
type DatasetColumn struct {
	Name, URL, Type, Description string
	Chart                        chart.Distribution
	Missing, Distinct, Range     string
	Declared                     []string // "default 0", "mean 37.2"
	Drift                        DriftMark
}

// DriftMark is the verdict about a column.
type DriftMark struct{ Class, Icon, Word, PSI string }

// DatasetDrift is what changed since another version.
type DatasetDrift struct {
	Before   string
	Problem  string // why there is no comparison
	Changes  []DatasetChange
	More     string
	Nothing  string // shown without changes
	Lineage  string
	Chosen   *DatasetChange
	Chart    chart.Distribution
	Low      string // ends of the axis, or ""
	High     string
	Method   string
	Parts    []DatasetPart
	ChooseOf []ui.Option // columns
}

// DatasetChange is the change of a column.
type DatasetChange struct {
	Name, URL, Note string
	Mark            DriftMark
}

// DatasetPart is a row of the table behind the chart.
type DatasetPart struct{ Name, Before, Now string }

// DataSample is the first rows of a table.
type DataSample struct {
	Problem string
	Columns []DataColumn
	Rows    [][]DataCell
	Note    string // "20 of 1,797 rows"
	OpenURL string // of the whole table, or ""
}

// DatasetUse is an execution that read a version.
type DatasetUse struct {
	Title, URL, Short, State, Input, Requested, By string
	At                                             ui.Moment
}

// DatasetVersionRow is a version in the list.
type DatasetVersionRow struct {
	Version, URL, Rows, Size, Statistics, By string
	CompareURL                               string // "": it is the one shown
	Aliases                                  []string
	At                                       ui.Moment
	Current                                  bool
}

// wideUnless is the place of a cell in a stacked table: a line of its own, or none.
func wideUnless(empty bool) string {
	if empty {
		return "hide"
	}
	return "wide"
}
