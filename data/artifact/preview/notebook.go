package preview

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"strings"

	// The formats of images in notebooks; their decoders read the size.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
)

// Bounds of notebooks.
const (
	NotebookBytes = 16 << 20
	NotebookCells = 50 // of one page

	cellText    = 64 << 10 // of the source of a cell
	outputText  = 20 << 10 // of one output
	outputImage = 1 << 20  // of one output, as base64
	pageImages  = 8 << 20  // of the images of one page
	cellOutputs = 50
	imagePixels = 25_000_000
)

// Notebook is a part of a Jupyter notebook.
type Notebook struct {
	Language string `json:"language,omitempty"`
	Kernel   string `json:"kernel,omitempty"`
	Cells    []Cell `json:"cells"`
	From     int64  `json:"from" doc:"Index of the first cell shown"`
	Total    int64  `json:"total_cells"`
}

// Cell is a cell of a notebook.
type Cell struct {
	Index   int64        `json:"index"`
	Kind    string       `json:"kind" enum:"code,markdown,raw"`
	Source  string       `json:"source"`
	HTML    string       `json:"html,omitempty" doc:"Rendered Markdown, without executable content"`
	Count   *int64       `json:"execution_count,omitempty"`
	Outputs []CellOutput `json:"outputs,omitempty"`
	Note    string       `json:"note,omitempty" doc:"Note about content that is not shown"`
}

// CellOutput is one output of a cell.
type CellOutput struct {
	Index     int    `json:"index"`
	Kind      string `json:"kind" enum:"text,error,image,html,table" doc:"Kind of output; html runs only in a sandboxed frame"`
	Text      string `json:"text,omitempty"`
	Stream    string `json:"stream,omitempty" doc:"Stream: stdout or stderr"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty" doc:"Image data, base64-encoded"`
	HTML      string `json:"html,omitempty" doc:"Rendered table, without executable content"`
	Note      string `json:"note,omitempty" doc:"Note about content that is not shown"`
}

// notebookFile is the form of a notebook since version 4.
type notebookFile struct {
	Version  int `json:"nbformat"`
	Metadata struct {
		Kernel struct {
			Name     string `json:"display_name"`
			Language string `json:"language"`
		} `json:"kernelspec"`
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Cells []json.RawMessage `json:"cells"`
}

type notebookCell struct {
	Kind    string            `json:"cell_type"`
	Source  lines             `json:"source"`
	Count   *int64            `json:"execution_count"`
	Outputs []json.RawMessage `json:"outputs"`
}

type notebookOutput struct {
	Kind      string                     `json:"output_type"`
	Name      string                     `json:"name"`
	Text      lines                      `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Error     string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback traceback                  `json:"traceback"`
}

// lines are a text, or a list of its parts. Anything else is no text.
type lines string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lines) UnmarshalJSON(raw []byte) error {
	var parts []string
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*l = lines(text)
	} else if json.Unmarshal(raw, &parts) == nil {
		*l = lines(strings.Join(parts, ""))
	}
	return nil
}

// traceback is the lines of a traceback.
type traceback string

// UnmarshalJSON implements json.Unmarshaler.
func (t *traceback) UnmarshalJSON(raw []byte) error {
	var parts []string
	if json.Unmarshal(raw, &parts) == nil {
		*t = traceback(strings.Join(parts, "\n"))
	}
	return nil
}

func openNotebook(f File) (notebookFile, error) {
	var n notebookFile
	if f.Size > NotebookBytes {
		return n, bad("The notebook is larger than 16 MiB. Clear its outputs, or download it.")
	}
	text := make([]byte, f.Size)
	if err := f.read(text, 0, "the end of the notebook"); err != nil {
		return n, err
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &n); err != nil {
		return n, bad("The notebook is not valid JSON: %s.", err)
	}
	if n.Version < 4 {
		return n, bad("The notebook has format %d. Open and save it in Jupyter to convert it to format 4.", n.Version)
	}
	return n, nil
}

// ReadNotebook reads cells of a notebook.
func ReadNotebook(f File, from int64) (out Notebook, err error) {
	defer recovered(&err, "notebook")
	n, err := openNotebook(f)
	if err != nil {
		return out, err
	}
	out = Notebook{Cells: []Cell{}, Total: int64(len(n.Cells)), Kernel: shortText(n.Metadata.Kernel.Name), Language: shortText(n.Metadata.Language.Name)}
	if out.Language == "" {
		out.Language = shortText(n.Metadata.Kernel.Language)
	}
	out.From = min(max(from, 0), out.Total)
	images := pageImages
	for i := out.From; i < min(out.From+NotebookCells, out.Total); i++ {
		out.Cells = append(out.Cells, cellOf(n.Cells[i], i, &images))
	}
	return out, nil
}

func cellOf(raw json.RawMessage, index int64, images *int) Cell {
	var c notebookCell
	if json.Unmarshal(raw, &c) != nil {
		return Cell{Index: index, Kind: "raw", Note: "This cell is damaged."}
	}
	out := Cell{Index: index, Kind: c.Kind, Count: c.Count}
	if c.Kind != "code" && c.Kind != "markdown" {
		out.Kind = "raw"
	}
	var cut bool
	if out.Source, cut = cutBytes(string(c.Source), cellText); cut {
		out.Note = "The cell is longer than 64 KiB. Only its beginning is shown."
	}
	for i, raw := range c.Outputs {
		if i == cellOutputs {
			out.Note = "The cell has more than 50 outputs. Only the first 50 are shown."
			break
		}
		out.Outputs = append(out.Outputs, outputOf(raw, i, images))
	}
	return out
}

func outputOf(raw json.RawMessage, index int, images *int) CellOutput {
	var o notebookOutput
	out := CellOutput{Index: index, Kind: "text"}
	if json.Unmarshal(raw, &o) != nil {
		out.Note = "This output is damaged."
		return out
	}
	text := string(o.Text)
	switch {
	case o.Kind == "stream":
		out.Stream = shortText(o.Name)
	case o.Kind == "error":
		out.Kind, text = "error", string(o.Traceback)
		if text == "" {
			text = o.Error + ": " + o.Value
		}
	default:
		for _, media := range []string{"image/png", "image/jpeg", "image/gif"} {
			if data, ok := o.Data[media]; ok {
				return imageOutput(out, media, data, images)
			}
		}
		if html := o.html(); html != "" {
			out.Kind, out.HTML = "html", html
			return out
		}
		text = string(textOf(o.Data["text/plain"]))
	}
	var cut bool
	if out.Text, cut = cutBytes(withoutEscapes(text), outputText); cut {
		out.Note = "The output is longer than 20 KiB. Only its beginning is shown."
	}
	return out
}

// html is the HTML or the drawing of an output.
func (o notebookOutput) html() string {
	if html := textOf(o.Data["text/html"]); html != "" {
		return string(html)
	}
	return string(textOf(o.Data["image/svg+xml"]))
}

func textOf(raw json.RawMessage) lines {
	var l lines
	if len(raw) > 0 {
		_ = l.UnmarshalJSON(raw) // never fails
	}
	return l
}

func imageOutput(out CellOutput, media string, raw json.RawMessage, images *int) CellOutput {
	data := strings.Join(strings.Fields(string(textOf(raw))), "")
	out.Kind, out.MediaType = "image", media
	if len(data) > outputImage || len(data) > *images {
		out.Note = "The image is too large to be shown here. Download the notebook to see it."
		return out
	}
	content, err := base64.StdEncoding.DecodeString(data)
	if err == nil {
		var config image.Config
		if config, _, err = image.DecodeConfig(bytes.NewReader(content)); err == nil && config.Width*config.Height > imagePixels {
			out.Note = "The image has more than 25 megapixels."
			return out
		}
	}
	if err != nil {
		out.Note = "The image is damaged."
		return out
	}
	*images -= len(data)
	out.Data = data
	return out
}

// withoutEscapes removes the escape sequences with which a terminal colours texts.
func withoutEscapes(text string) string {
	if !strings.Contains(text, "\x1b") {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != 0x1b {
			out.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '[' {
			for i += 2; i < len(text) && (text[i] < '@' || text[i] > '~'); {
				i++
			}
		}
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}

// NotebookHTML is the HTML of one output, which is not trusted.
func NotebookHTML(f File, cell int64, output int) (html string, err error) {
	defer recovered(&err, "notebook")
	n, err := openNotebook(f)
	if err != nil {
		return "", err
	}
	var c notebookCell
	var o notebookOutput
	if cell < 0 || cell >= int64(len(n.Cells)) || json.Unmarshal(n.Cells[cell], &c) != nil || output < 0 || output >= len(c.Outputs) || json.Unmarshal(c.Outputs[output], &o) != nil || o.html() == "" {
		return "", bad("Cell %d of the notebook has no HTML output %d.", cell, output)
	}
	return o.html(), nil
}
