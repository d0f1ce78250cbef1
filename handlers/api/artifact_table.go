package api

import (
	"context"
	"math"
	"strconv"

	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/handlers/request"
)

type tableBody struct {
	Columns     []tableColumn    `json:"columns" doc:"Columns in the response"`
	Rows        [][]any          `json:"rows" doc:"One array per row, with one value per column: null, a boolean, a number or a string. Times are in RFC 3339 format; infinite numbers and NaN are strings."`
	TotalCols   int              `json:"total_columns" doc:"Number of columns in the table"`
	TotalRows   *int64           `json:"total_rows,omitempty" doc:"Number of rows in the table; absent for CSV files, whose rows are not counted"`
	NextPage    string           `json:"next_page,omitempty"`
	ScannedRows int64            `json:"scanned_rows,omitempty" doc:"Number of rows scanned to filter or sort"`
	Complete    bool             `json:"complete" doc:"True if all rows were scanned. If false, sorting covers only scanned_rows, and filtering continues with next_page."`
	Statistics  *tableStatistics `json:"statistics,omitempty"`
}

type tableColumn struct {
	Name string `json:"name"`
	Type string `json:"type" enum:"Integer,Float,Boolean,String,Date,Datetime,Time,Binary,List"`
}

type tableStatistics struct {
	Rows    int64           `json:"rows" doc:"Number of rows that the statistics cover, counted from the beginning"`
	All     bool            `json:"all" doc:"True if the statistics cover the whole table"`
	Columns []columnSummary `json:"columns"`
}

type columnSummary struct {
	Name     string       `json:"name"`
	Count    int64        `json:"count" doc:"Number of values that are not null"`
	Nulls    int64        `json:"nulls"`
	Other    int64        `json:"other,omitempty" doc:"Number of values that do not match the column's type"`
	Distinct int          `json:"distinct" doc:"Number of distinct values, up to 1,000"`
	More     bool         `json:"more_distinct,omitempty" doc:"True if there are more than 1,000 distinct values"`
	Min      any          `json:"min,omitempty"`
	Max      any          `json:"max,omitempty"`
	Mean     any          `json:"mean,omitempty" doc:"Mean of numeric values"`
	Bins     []tableBin   `json:"histogram,omitempty" doc:"Histogram of numeric values; \"from\" is inclusive, \"to\" is exclusive"`
	Top      []tableValue `json:"top,omitempty" doc:"Most frequent values, for non-numeric columns"`
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
	ID         string   `path:"artifact_id" doc:"Artifact ID"`
	Path       string   `query:"path" doc:"Path of a file in a folder or archive" maxLength:"1000"`
	Filter     []string `query:"filter,explode" doc:"Conditions that must all match, written operator:column:value. Operators: eq, ne, lt, le, gt, ge, contains, null and not_null. Escape a colon in a column name with a backslash." maxItems:"20"`
	Sort       string   `query:"sort" doc:"Column to sort by; prefix with - for descending order" maxLength:"1000"`
	Page       string   `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"50"`
	Limit      int      `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of rows"`
	FromColumn int      `query:"from_column" minimum:"0" default:"0" doc:"First column, counted from 0"`
	Columns    int      `query:"columns" minimum:"1" maximum:"100" default:"100" doc:"Maximum number of columns"`
	Statistics bool     `query:"statistics" doc:"Include column statistics"`
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

// jsonValue converts a value to JSON, which has no infinite numbers and no NaN: they become
// strings.
func jsonValue(v any) any {
	if n, ok := v.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return v
}
