package artifacts

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// previewOf is the beginning of an artifact for its page. A preview that cannot be read
// does not prevent the rest of the page.
func (h *Pages) previewOf(ctx context.Context, a artifact.Artifact) views.Preview {
	p, err := h.Artifacts.Preview(ctx, a)
	if err != nil {
		if apperr.CodeOf(err) == apperr.Internal {
			h.Log.Error("an artifact cannot be previewed", "artifact", a.ID, "error", err)
		}
		return views.Preview{Problem: apperr.MessageOf(err)}
	}
	id := a.ID.String()
	v := views.Preview{Kind: string(p.Kind), Text: p.Text, HTML: p.HTML}
	if p.Truncated {
		v.Truncated = "beginning only; download the artifact for the rest"
	}
	switch p.Kind {
	case artifact.PreviewTable:
		v.Table = previewTable(p.Table)
		v.Truncated = units.Plural(len(v.Table.Rows), "row", "rows")
		if p.Truncated {
			v.Truncated = "the first " + v.Truncated
		}
	case artifact.PreviewImage:
		v.Image, v.Alt = views.ArtifactDownloadURL(id)+"?inline=1", a.Name+", produced by "+a.Node
		if p.Image != nil && p.Image.Width > 0 {
			v.Truncated = fmt.Sprintf("%d × %d pixels", p.Image.Width, p.Image.Height)
		}
	case artifact.PreviewReport:
		v.Frame = views.ArtifactFrameURL(id)
	case artifact.PreviewConfusion:
		v.Matrix = confusionMatrix(p.Confusion)
	case artifact.PreviewMetrics:
		for _, m := range p.Metrics {
			v.Facts = append(v.Facts, ui.Fact{Name: m.Name, Value: m.Value})
		}
	case artifact.PreviewDirectory:
		if p.Directory != nil {
			for _, f := range p.Directory.Entries {
				v.Files = append(v.Files, ui.Fact{Name: f.Path, Value: units.Bytes(f.Size)})
			}
		}
	case artifact.PreviewText, artifact.PreviewJSON, artifact.PreviewMarkdown, artifact.PreviewBinary:
	}
	return v
}

func previewTable(t *artifact.Table) views.PreviewTable {
	var out views.PreviewTable
	if t == nil {
		return out
	}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, views.PreviewColumn{Name: c.Name, Number: c.Numeric})
	}
	out.Rows = t.Rows
	return out
}

func confusionMatrix(c *artifact.Confusion) chart.Matrix {
	if c == nil {
		return chart.Matrix{}
	}
	counts := make([][]float64, len(c.Matrix))
	for i, row := range c.Matrix {
		for _, n := range row {
			counts[i] = append(counts[i], float64(n))
		}
	}
	return chart.NewMatrix(c.Labels, counts)
}
