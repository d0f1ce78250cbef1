package preview

import (
	"archive/zip"
	"context"
	"math"
	"slices"
	"strings"
)

// Bounds of arrays.
const (
	ArrayRows    = 20  // numbers shown
	ArrayColumns = 10  // numbers shown
	HeatCells    = 128 // along each side of a heat map

	sliceBytes   = 16 << 20 // of a slice that are read for its heat map and statistics
	arrayMembers = 1000     // arrays of an NPZ file
)

// Array is a slice of an array: the plane of its two fastest axes at an index of the others.
type Array struct {
	Members []ArrayMember `json:"members,omitempty" doc:"Arrays in an NPZ file"`
	Member  string        `json:"member,omitempty" doc:"Array shown"`
	DType   string        `json:"dtype"`
	Shape   []int64       `json:"shape"`
	Fortran bool          `json:"fortran_order"`
	Size    int64         `json:"size_bytes" doc:"Size of the elements"`
	Note    string        `json:"note,omitempty" doc:"Reason why no values are shown"`

	RowAxis    int     `json:"row_axis" doc:"Axis that the slice's rows follow; -1 if none"`
	ColumnAxis int     `json:"column_axis" doc:"Axis that the slice's columns follow; -1 if none"`
	Index      []int64 `json:"index" doc:"Index on each axis; 0 on the axes of the slice"`
	Rows       int64   `json:"rows" doc:"Number of rows in the slice"`
	Columns    int64   `json:"columns" doc:"Number of columns in the slice"`
	FromRow    int64   `json:"from_row" doc:"Index of the first row in values"`
	FromColumn int64   `json:"from_column" doc:"Index of the first column in values"`
	Values     [][]any `json:"values" doc:"Up to 20 rows and 10 columns of the slice. Infinite numbers and NaN are strings."`

	Statistics *SliceStatistics `json:"statistics,omitempty" doc:"Statistics of the slice, for numeric arrays"`
	Heat       *Heat            `json:"-"`
}

// ArrayMember is one array of an NPZ file.
type ArrayMember struct {
	Name    string  `json:"name"`
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Problem string  `json:"problem,omitempty"`
}

// SliceStatistics describe the finite values of a slice.
type SliceStatistics struct {
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Mean     float64 `json:"mean"`
	Count    int64   `json:"count" doc:"Number of finite values"`
	Other    int64   `json:"other" doc:"Number of NaN and infinite values"`
	Complete bool    `json:"complete" doc:"True if the statistics cover the whole slice, not only its first 16 MiB"`
}

// Heat is a slice as a grid of at most HeatCells cells along each side. Each cell is the mean of
// its values, NaN without finite values.
type Heat struct {
	Cells         [][]float64
	Rows, Columns int64 // that the cells stand for
}

// ArrayQuery selects what is shown of an array.
type ArrayQuery struct {
	Member          string
	Index           []int64
	Row, Column     int64
	WithoutHeatMaps bool
}

// ReadArray reads a slice of a NumPy array; format is "npy" or "npz".
func ReadArray(ctx context.Context, f File, format string, q ArrayQuery) (a Array, err error) {
	defer recovered(&err, "array")
	var members []ArrayMember
	if format == "npz" {
		if f, q.Member, members, err = openMember(ctx, f, q.Member); err != nil {
			return Array{Members: members, Index: []int64{}, Shape: []int64{}, Values: [][]any{}}, err
		}
	}
	h, err := readNpy(f)
	if err != nil {
		return a, err
	}
	a = Array{
		Members: members, Member: q.Member, DType: h.dtype.name, Shape: slices.Concat([]int64{}, h.shape), Fortran: h.fortran,
		Size: h.bytes(), Note: h.note, Values: [][]any{}, Index: []int64{}, RowAxis: -1, ColumnAxis: -1,
	}
	if h.note == "" && h.count == 0 {
		a.Note = "The array has no elements."
	}
	if a.Note != "" {
		return a, nil
	}
	s := sliceOf(h, q.Index)
	a.RowAxis, a.ColumnAxis, a.Index, a.Rows, a.Columns = s.rowAxis, s.columnAxis, s.index, s.rows, s.columns
	a.FromRow, a.FromColumn = min(max(q.Row, 0), max(s.rows-1, 0)), min(max(q.Column, 0), max(s.columns-1, 0))
	if err := s.values(f, &a); err != nil || !h.dtype.numeric() || q.WithoutHeatMaps {
		return a, err
	}
	return a, s.statistics(f, &a)
}

// openMember opens one array of an NPZ file and lists them all. Without a name, it is the first.
func openMember(ctx context.Context, f File, name string) (File, string, []ArrayMember, error) {
	r, err := openZip(f)
	if err != nil {
		return f, name, nil, err
	}
	var members []ArrayMember
	var chosen *zip.File
	for _, z := range r.File[:min(len(r.File), arrayMembers)] {
		if !strings.HasSuffix(z.Name, ".npy") {
			continue
		}
		m := ArrayMember{Name: strings.TrimSuffix(clean(z.Name), ".npy"), Shape: []int64{}}
		if name == "" || name == m.Name {
			chosen, name = z, m.Name
		}
		if len(members) < 100 && ctx.Err() == nil { // the description of each is read
			if h, err := headerOf(f, z); err != nil {
				m.Problem = "The array is damaged."
			} else {
				m.DType, m.Shape = h.dtype.name, slices.Concat([]int64{}, h.shape)
			}
		}
		members = append(members, m)
	}
	if chosen == nil {
		return f, name, members, bad("The file has no array %q.", name)
	}
	member, cut, err := zipEntry(f, chosen)
	if err == nil && cut {
		err = bad("The array %q is compressed and larger than 32 MiB. Save it with numpy.savez instead of numpy.savez_compressed to show slices of it.", name)
	}
	return member, name, members, err
}

// headerOf reads the description of an array of an NPZ file. Of compressed arrays it unpacks only
// the beginning.
func headerOf(f File, z *zip.File) (npyHeader, error) {
	if z.Method == zip.Store {
		member, _, err := zipEntry(f, z)
		if err != nil {
			return npyHeader{}, err
		}
		return readNpy(member)
	}
	r, err := z.Open()
	if err != nil {
		return npyHeader{}, bad("The array is damaged.")
	}
	defer r.Close()
	head, err := beginningOf(r)
	if err != nil {
		return npyHeader{}, err
	}
	head.Size = max(head.Size, entrySize(z.UncompressedSize64))
	return readNpy(head)
}

// slice is a plane of an array, with steps in elements.
type slice struct {
	npyHeader

	rowAxis, columnAxis int
	index               []int64
	rows, columns       int64
	rowStep, columnStep int64
	start               int64 // the first element
}

// sliceOf chooses the two fastest axes as the plane, because its elements are together in the file.
func sliceOf(h npyHeader, index []int64) slice {
	n := len(h.shape)
	s := slice{npyHeader: h, rowAxis: -1, columnAxis: -1, rows: 1, columns: 1, rowStep: 1, columnStep: 1, index: make([]int64, n)}
	steps := make([]int64, n)
	step := int64(1)
	for i := range n {
		axis := n - 1 - i
		if h.fortran {
			axis = i
		}
		steps[axis] = step
		step *= h.shape[axis]
	}
	switch {
	case n == 0:
		return s
	case n == 1:
		s.rowAxis = 0
	case h.fortran:
		s.rowAxis, s.columnAxis = 0, 1
	default:
		s.rowAxis, s.columnAxis = n-2, n-1
	}
	s.rows, s.rowStep = h.shape[s.rowAxis], steps[s.rowAxis]
	if s.columnAxis >= 0 {
		s.columns, s.columnStep = h.shape[s.columnAxis], steps[s.columnAxis]
	}
	for axis := range n {
		if axis == s.rowAxis || axis == s.columnAxis || axis >= len(index) {
			continue
		}
		s.index[axis] = min(max(index[axis], 0), h.shape[axis]-1)
		s.start += s.index[axis] * steps[axis]
	}
	return s
}

// at is the byte of an element.
func (s slice) at(row, column int64) int64 {
	return s.data + (s.start+row*s.rowStep+column*s.columnStep)*s.dtype.size
}

// values reads the window of numbers.
func (s slice) values(f File, a *Array) error {
	p := make([]byte, s.dtype.size)
	for row := a.FromRow; row < min(a.FromRow+ArrayRows, s.rows); row++ {
		var line []any
		for column := a.FromColumn; column < min(a.FromColumn+ArrayColumns, s.columns); column++ {
			if err := f.read(p, s.at(row, column), "this element"); err != nil {
				return err
			}
			line = append(line, s.dtype.value(p))
		}
		a.Values = append(a.Values, line)
	}
	return nil
}

// statistics reads the slice, or its first 16 MiB in the order of the file.
func (s slice) statistics(f File, a *Array) error {
	total := s.rows * s.columns
	count := min(total, sliceBytes/s.dtype.size)
	short := s.columns // elements that are together in the file
	if s.fortran && s.columnAxis >= 0 {
		short = s.rows
	}
	if count > short {
		count -= count % short // whole lines
	}
	p := make([]byte, count*s.dtype.size)
	if err := f.read(p, s.at(0, 0), "this slice"); err != nil {
		return err
	}
	lines := (count + short - 1) / short
	read := &Heat{Rows: lines, Columns: min(short, count)}
	if s.fortran && s.columnAxis >= 0 {
		read.Rows, read.Columns = read.Columns, read.Rows
	}
	if s.columnAxis < 0 { // a vector is drawn as one line
		read.Rows, read.Columns = 1, count
	}
	stats := &SliceStatistics{Min: math.Inf(1), Max: math.Inf(-1), Complete: count == total}
	grid := newGrid(read)
	var sum float64
	for i := range count {
		v := s.dtype.number(p[i*s.dtype.size : (i+1)*s.dtype.size])
		row, column := i/short, i%short
		switch {
		case s.columnAxis < 0:
			row, column = 0, i
		case s.fortran:
			row, column = column, row
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			stats.Other++
			continue
		}
		stats.Count++
		sum += v / float64(total) // a sum of large numbers is infinite
		stats.Min, stats.Max = min(stats.Min, v), max(stats.Max, v)
		grid.add(row, column, v)
	}
	if stats.Count == 0 {
		stats.Min, stats.Max = 0, 0
	} else {
		stats.Mean = min(max(sum*(float64(total)/float64(stats.Count)), stats.Min), stats.Max)
	}
	read.Cells = grid.means()
	a.Statistics, a.Heat = stats, read
	return nil
}

// grid sums values in cells.
type grid struct {
	perRow, perColumn int64 // values of one cell
	rows, columns     int64 // cells
	sums              []float64
	counts            []int64
}

func newGrid(h *Heat) *grid {
	g := &grid{perRow: (h.Rows + HeatCells - 1) / HeatCells, perColumn: (h.Columns + HeatCells - 1) / HeatCells}
	g.rows, g.columns = (h.Rows+g.perRow-1)/g.perRow, (h.Columns+g.perColumn-1)/g.perColumn
	g.sums, g.counts = make([]float64, g.rows*g.columns), make([]int64, g.rows*g.columns)
	return g
}

func (g *grid) add(row, column int64, v float64) {
	i := row/g.perRow*g.columns + column/g.perColumn
	g.sums[i] += v
	g.counts[i]++
}

func (g *grid) means() [][]float64 {
	out := make([][]float64, g.rows)
	for r := range g.rows {
		out[r] = make([]float64, g.columns)
		for c := range g.columns {
			i := r*g.columns + c
			out[r][c] = g.sums[i] / float64(g.counts[i]) // NaN without values
		}
	}
	return out
}
