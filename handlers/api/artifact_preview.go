package api

import (
	"context"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/handlers/request"
)

type previewBody struct {
	Kind      string              `json:"kind" doc:"Kind of preview, which determines the fields that are set. Use read-table for table rows, and download-artifact for images, audio, video, PDF files and reports." enum:"text,json,json_lines,table,array,model,notebook,archive,image,audio,video,pdf,markdown,metrics,confusion_matrix,report,directory,binary"`
	File      string              `json:"file" doc:"Name of the previewed file"`
	MediaType string              `json:"media_type"`
	Size      int64               `json:"size_bytes"`
	Complete  bool                `json:"complete" doc:"True if the response contains the whole file"`
	NextPage  string              `json:"next_page,omitempty" doc:"Cursor for the next page of text or JSON Lines"`
	Text      string              `json:"text,omitempty"`
	FirstLine int64               `json:"first_line,omitempty" doc:"Number of the first line in the text, counted from 1"`
	HTML      string              `json:"html,omitempty" doc:"Rendered Markdown, without executable content"`
	Image     *previewImage       `json:"image,omitempty"`
	Metrics   []previewMetric     `json:"metrics,omitempty"`
	Confusion *previewConfusion   `json:"confusion_matrix,omitempty"`
	JSON      *preview.Tree       `json:"json,omitempty"`
	JSONLines []preview.Document  `json:"json_lines,omitempty"`
	Array     *preview.Array      `json:"array,omitempty"`
	Archive   *preview.Archive    `json:"archive,omitempty"`
	Model     *preview.Model      `json:"model,omitempty"`
	Notebook  *preview.Notebook   `json:"notebook,omitempty"`
	Files     []previewFolderFile `json:"files,omitempty" doc:"Files in a folder"`
}

type previewImage struct {
	Width  int `json:"width" doc:"Width in pixels; 0 if unknown"`
	Height int `json:"height" doc:"Height in pixels; 0 if unknown"`
}

type previewMetric struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type previewConfusion struct {
	Labels []string  `json:"labels"`
	Matrix [][]int64 `json:"matrix" doc:"Counts; rows are actual classes, columns are predicted classes"`
}

type previewFolderFile struct {
	Path string `json:"path"`
	Size int64  `json:"size_bytes"`
}

func (h *artifactAPI) apiPreview(ctx context.Context, in *struct {
	ID     string  `path:"artifact_id" doc:"Artifact ID"`
	Path   string  `query:"path" doc:"Path of a file in a folder or archive" maxLength:"1000"`
	At     string  `query:"at" doc:"JSON: path to a value, such as $.layers[3].name" maxLength:"4000"`
	From   int64   `query:"from" doc:"JSON: first element of the value; notebooks: first cell" minimum:"0" default:"0"`
	Find   string  `query:"find" doc:"JSON and JSON Lines: text to find in names and values" maxLength:"200"`
	Page   string  `query:"page" doc:"Text and JSON Lines: next_page from the previous response" maxLength:"50"`
	Array  string  `query:"array" doc:"NPZ files: name of the array" maxLength:"1000"`
	Index  []int64 `query:"index" doc:"Arrays: index on each axis; the slice's own axes are ignored" maxItems:"64"`
	Row    int64   `query:"row" doc:"Arrays: first row of values" minimum:"0" default:"0"`
	Column int64   `query:"column" doc:"Arrays: first column of values" minimum:"0" default:"0"`
}) (*body[previewBody], error) {
	id, err := request.ParseID(in.ID, "artifact")
	if err != nil {
		return nil, err
	}
	a, err := h.Artifacts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	sel := artifact.Selection{Path: in.Path, At: in.At, From: in.From, Find: in.Find, Array: preview.ArrayQuery{Member: in.Array, Index: in.Index, Row: in.Row, Column: in.Column}}
	if sel.Page, err = preview.ParsePosition(in.Page); err != nil {
		return nil, err
	}
	p, err := h.Artifacts.Preview(ctx, a, sel)
	if err != nil {
		return nil, err
	}
	return reply(toPreviewBody(p)), nil
}

func toPreviewBody(p artifact.Preview) previewBody {
	out := previewBody{
		Kind: string(p.Kind), File: p.File.Filename, MediaType: p.File.MediaType, Size: p.File.Size, Complete: !p.Truncated,
		HTML: p.HTML, JSON: p.Tree, Archive: p.Archive, Array: p.Array, Model: p.Model, Notebook: p.Notebook,
	}
	if p.Kind == artifact.PreviewText {
		out.Text = p.Text
	}
	if p.Page != nil {
		out.FirstLine, out.NextPage = p.Page.First, pageText(p.Page.Next)
	}
	if p.Documents != nil {
		out.JSONLines, out.NextPage = p.Documents.Rows, pageText(p.Documents.Next)
	}
	if p.Image != nil {
		out.Image = &previewImage{p.Image.Width, p.Image.Height}
	}
	for _, m := range p.Metrics {
		out.Metrics = append(out.Metrics, previewMetric(m))
	}
	if p.Confusion != nil {
		out.Confusion = &previewConfusion{p.Confusion.Labels, p.Confusion.Matrix}
	}
	if p.Directory != nil {
		for _, e := range p.Directory.Entries {
			out.Files = append(out.Files, previewFolderFile{e.Path, e.Size})
		}
	}
	if p.Array != nil {
		for _, row := range p.Array.Values {
			for i, v := range row {
				row[i] = jsonValue(v)
			}
		}
	}
	return out
}

func pageText(p *preview.Position) string {
	if p == nil {
		return ""
	}
	return p.String()
}
