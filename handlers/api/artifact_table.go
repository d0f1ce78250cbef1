package api

import (
	"context"
	"math"
	"strconv"

	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/handlers/request"
)

type tableBody struct {
	Columns     []tableColumn    `json:"columns" doc:"The columns of the rows"`
	Rows        [][]any          `json:"rows" doc:"One list per row, with a value per column: null, a boolean, a number or text. Times are RFC 3339; infinite numbers and NaN are text."`
	TotalCols   int              `json:"total_columns" doc:"Columns of the table"`
	TotalRows   *int64           `json:"total_rows,omitempty" doc:"Rows of the table; absent for CSV, whose rows are not counted"`
	NextPage    string           `json:"next_page,omitempty"`
	ScannedRows int64            `json:"scanned_rows,omitempty" doc:"Rows that the filter or the order looked at"`
	Complete    bool             `json:"complete" doc:"The filter or the order looked at all rows. Otherwise a sorted table is sorted within scanned_rows, and a filtered one continues with next_page."`
	Statistics  *tableStatistics `json:"statistics,omitempty"`
}

type tableColumn struct {
	Name string `json:"name"`
	Type string `json:"type" enum:"Integer,Float,Boolean,String,Date,Datetime,Time,Binary,List"`
}

type tableStatistics struct {
	Rows    int64           `json:"rows" doc:"The statistics describe this number of rows from the beginning"`
	All     bool            `json:"all" doc:"They are all rows of the table"`
	Columns []columnSummary `json:"columns"`
}

type columnSummary struct {
	Name     string       `json:"name"`
	Count    int64        `json:"count" doc:"Values that are not null"`
	Nulls    int64        `json:"nulls"`
	Other    int64        `json:"other,omitempty" doc:"Values that do not have the type of the column"`
	Distinct int          `json:"distinct" doc:"Distinct values, at most 1,000"`
	More     bool         `json:"more_distinct,omitempty" doc:"There are more distinct values"`
	Min      any          `json:"min,omitempty"`
	Max      any          `json:"max,omitempty"`
	Mean     any          `json:"mean,omitempty" doc:"Of numbers"`
	Bins     []tableBin   `json:"histogram,omitempty" doc:"Of numbers: values from \"from\" on and less than \"to\""`
	Top      []tableValue `json:"top,omitempty" doc:"The most frequent values of other types"`
}

type tableBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

type tableValue struct {
	Value any   `json:"value"`
	Count int64 `json:"count"`
}

func (h *artifactAPI) apiTable(ctx context.Context, in *struct {
	ID         string   `path:"artifact_id" doc:"ID of the artifact"`
	Path       string   `query:"path" doc:"A file of a folder or an archive" maxLength:"1000"`
	Filter     []string `query:"filter,explode" doc:"Conditions, all of which must hold: operator:column:value with the operators eq, ne, lt, le, gt, ge, contains, null and not_null. Write a backslash before a colon in the name of a column." maxItems:"20"`
	Sort       string   `query:"sort" doc:"Name of a column; a leading - sorts in descending order" maxLength:"1000"`
	Page       string   `query:"page" doc:"next_page of the previous answer" maxLength:"50"`
	Limit      int      `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of rows"`
	FromColumn int      `query:"from_column" minimum:"0" default:"0" doc:"The first column, counted from 0"`
	Columns    int      `query:"columns" minimum:"1" maximum:"100" default:"100" doc:"Maximum number of columns"`
	Statistics bool     `query:"statistics" doc:"Include statistics of the columns"`
}) (*body[tableBody], error) {
	id, err := request.ParseID(in.ID, "artifact")
	if err != nil {
		return nil, err
	}
	a, err := h.Artifacts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	q := preview.Query{Limit: in.Limit, FromColumn: in.FromColumn, Columns: in.Columns, Sort: in.Sort, Statistics: in.Statistics}
	if q.From, err = preview.ParsePosition(in.Page); err != nil {
		return nil, err
	}
	if q.Filters, err = preview.ParseFilters(in.Filter); err != nil {
		return nil, err
	}
	t, err := h.Artifacts.Table(ctx, a, in.Path, q)
	if err != nil {
		return nil, err
	}
	return reply(toTableBody(t)), nil
}

func toTableBody(t preview.Table) tableBody {
	out := tableBody{Columns: []tableColumn{}, Rows: make([][]any, len(t.Rows)), TotalCols: len(t.Columns), ScannedRows: t.Scanned, Complete: t.Complete}
	for _, i := range t.Shown {
		out.Columns = append(out.Columns, tableColumn{t.Columns[i].Name, string(t.Columns[i].Type)})
	}
	for i, row := range t.Rows {
		out.Rows[i] = make([]any, len(row))
		for j, v := range row {
			out.Rows[i][j] = jsonValue(v)
		}
	}
	if t.Total >= 0 {
		out.TotalRows = &t.Total
	}
	if t.Next != nil {
		out.NextPage = t.Next.String()
	}
	if t.Statistics != nil {
		out.Statistics = &tableStatistics{Rows: t.Statistics.Rows, All: t.Statistics.All, Columns: []columnSummary{}}
		for i, s := range t.Statistics.Columns {
			out.Statistics.Columns = append(out.Statistics.Columns, toSummary(t.Columns[t.Shown[i]], s))
		}
	}
	return out
}

func toSummary(c preview.Column, s preview.Summary) columnSummary {
	out := columnSummary{
		Name: c.Name, Count: s.Count, Nulls: s.Nulls, Other: s.Other, Distinct: s.Distinct, More: s.More, Min: jsonValue(s.Min), Max: jsonValue(s.Max),
	}
	if c.Type.Numeric() && s.Count > s.Other {
		out.Mean = jsonValue(s.Mean)
	}
	for _, b := range s.Bins {
		out.Bins = append(out.Bins, tableBin(b))
	}
	for _, v := range s.Top {
		out.Top = append(out.Top, tableValue{jsonValue(v.Value), v.Count})
	}
	return out
}

// jsonValue is a value as JSON has it: infinite numbers and NaN are text.
func jsonValue(v any) any {
	if n, ok := v.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return v
}
