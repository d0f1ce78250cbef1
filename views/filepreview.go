package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// PreviewForm is a form that changes what a preview shows; it keeps the rest of the address.
type PreviewForm struct {
	URL    string
	Hidden [][2]string
}

// JSONTree is a part of a JSON document.
type JSONTree struct {
	Steps   []Crumb // from the document to the selected value; the last has no URL
	Root    *JSONNode
	Search  JSONSearch
	Problem string // why it is not the whole document
	Missing string // why there is no value at the path
	Pager   ui.Pager
}

// JSONSearch is the search of a JSON document.
type JSONSearch struct {
	PreviewForm

	Text     string
	Hits     []JSONHit
	Found    string // "12 results"
	ClearURL string
}

// JSONHit is a result of a search.
type JSONHit struct{ Path, URL, Value string }

// JSONNode is a value. A container without Children has a URL that shows them.
type JSONNode struct {
	Key, Path string
	Kind      string // object, array, string, number, boolean, null
	Value     string // of texts with quotation marks
	Summary   string // "{3}", "[1,024]"
	Open      bool
	Children  []*JSONNode
	MoreURL   string
	More      string // "Show all 1,024"
}

// JSONLines is a page of a JSON Lines file.
type JSONLines struct {
	Rows   []JSONLine
	Search JSONSearch
	Empty  string
	Pager  ui.Pager
}

// JSONLine is one line.
type JSONLine struct {
	Number  string
	Digest  string // the beginning of the value, on one line
	Root    *JSONNode
	Problem string
}

// ArrayView is a slice of an array.
type ArrayView struct {
	Members []ArrayChoice // of an NPZ file
	Facts   []ui.Fact
	Note    string // why no values are shown

	Form    PreviewForm
	Axes    []ArrayAxis // that have a chosen index
	Slice   string      // "array[0, :, :]"
	Heat    *chart.Heat
	Stats   []ui.Fact
	Columns []string // numbers of the columns shown
	Rows    []ArrayRow
	Numbers bool
	Across  ui.Pager // to earlier and later columns
	Down    ui.Pager // to earlier and later rows
}

// ArrayChoice is an array of an NPZ file.
type ArrayChoice struct {
	Name, DType, Shape, URL string
	Current                 bool
}

// ArrayAxis is an axis with a chosen index.
type ArrayAxis struct {
	Name, Label, Value string
	Last               string // the largest index
	BackURL, NextURL   string
}

// ArrayRow is a row of numbers.
type ArrayRow struct {
	Name   string
	Values []string
}

// FileList lists the files of a folder or an archive.
type FileList struct {
	ViewURL  string         // of the gallery or the list
	Images   []GalleryImage // shown instead of rows
	Search   PreviewForm
	Text     string // of the search
	Rows     []FileRow
	Packed   bool // the sizes in the archive are known
	Dates    bool
	Empty    string
	Problem  string
	Pager    ui.Pager
	ClearURL string
}

// GalleryImage is an image with its small picture.
type GalleryImage struct{ Name, URL, Thumbnail, Full string }

// FileRow is one file.
type FileRow struct {
	Path, URL, Icon     string
	Size, Packed, Ratio string
	Modified            ui.Moment
	HasDate             bool
	Warning             string // what is wrong with its path
	Link                string // target of a link
}

// PreviewURL is the page of an artifact that shows a part of it.
func PreviewURL(id string, part url.Values) string {
	if len(part) == 0 {
		return ArtifactURL(id)
	}
	return ArtifactURL(id) + "?" + part.Encode()
}

// ArtifactInlineURL is the bytes of an artifact, or of a file in it, for an image or a player.
func ArtifactInlineURL(id, path string) string {
	query := url.Values{"inline": {"1"}}
	if path != "" {
		query.Set("path", path)
	}
	return ArtifactDownloadURL(id) + "?" + query.Encode()
}

// ArtifactThumbnailURL is a small picture of an image.
func ArtifactThumbnailURL(id, path string) string {
	if path == "" {
		return ArtifactURL(id) + "/thumbnail"
	}
	return ArtifactURL(id) + "/thumbnail?" + url.Values{"path": {path}}.Encode()
}

// ArtifactFileURL downloads a file of an artifact.
func ArtifactFileURL(id, path string) string {
	if path == "" {
		return ArtifactDownloadURL(id)
	}
	return ArtifactDownloadURL(id) + "?" + url.Values{"path": {path}}.Encode()
}
