package views

import (
	"strings"

	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// Artifacts is the list of artifacts.
type Artifacts struct {
	Page
	Query    string
	Where    string // a condition, as typed
	Problem  string // what is wrong with it, or ""
	Kinds    []ui.Option
	Flows    []ui.Option
	Chips    []Chip
	Hidden   [][2]string
	Rows     []ArtifactRow
	Gallery  bool // Images are shown instead of rows
	Images   []GalleryImage
	ViewURL  string // of the gallery, or of the list
	Pager    ui.Pager
	ClearURL string
}

// Artifact is the page of one artifact.
type Artifact struct {
	Page
	Row         ArtifactRow
	Description string
	Facts       []ui.Fact
	Metadata    []ui.Fact
	Python      string // the code that reads it
	Preview     Preview
	Siblings    []ArtifactRow // other artifacts of the same node
	Lineage     []LineageStep
	Register    RegisterArtifact
}

// LineageStep is one step of the lineage from the workflow to the artifact.
type LineageStep struct{ What, Name, URL, Note string }

// Preview shows the content by its kind. It never embeds task output as trusted markup:
// text is escaped, images use the download address, reports run in a sandboxed frame, and
// the artifact service sanitises Markdown.
type Preview struct {
	Kind      string // of artifact.PreviewKind
	Text      string
	Table     *DataTable
	Image     string // address of an image, audio, video or PDF
	Alt       string
	HTML      string       // sanitised Markdown
	Renderer  *ui.Renderer // the page of the type, or nil
	Frame     string       // address of the sandboxed report
	Matrix    chart.Matrix
	Facts     []ui.Fact // metrics
	Truncated string    // "the first 200 of 1,797 rows"
	Problem   string    // why there is no preview

	Where       []Crumb // from the artifact to the file in it that is shown
	DownloadURL string  // of that file
	Pager       ui.Pager
	Source      *Source // a text with line numbers
	Tree        *JSONTree
	Lines       *JSONLines
	Array       *ArrayView
	Model       *ModelView
	Notebook    *NotebookView
	List        *FileList // of a folder or an archive
}

// RegisterArtifact is the form that registers an artifact in the catalogue.
type RegisterArtifact struct {
	URL    string // "" unless the reader may register it
	Title  string
	Failed string // why the form was refused, or ""
	Fields []RegisterField
}

// RegisterField is a field of the form, with what was typed.
type RegisterField struct {
	Name, Label, Help, Value, Error string
	Required                        bool
	Offers                          []ui.Option // values that the browser suggests
}

// Describes are the elements that describe the field.
func (f RegisterField) Describes() string {
	var ids []string
	if f.Help != "" {
		ids = append(ids, "register-"+f.Name+"-help")
	}
	if f.Error != "" {
		ids = append(ids, "register-"+f.Name+"-error")
	}
	return strings.Join(ids, " ")
}
