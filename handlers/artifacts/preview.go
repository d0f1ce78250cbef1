package artifacts

import (
	"context"
	"fmt"
	"net/url"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// previewOf is the part that query selects, or the beginning, of an artifact for its page. A preview that cannot be read
// does not prevent the rest of the page.
func (h *Pages) previewOf(ctx context.Context, a artifact.Artifact, query url.Values) views.Preview {
	if _, ok := artifact.TableFormat(a); ok {
		return h.tableOf(ctx, a, query)
	}
	p, err := h.Artifacts.Preview(ctx, a)
	if err != nil {
		return h.noPreview(a, err)
	}
	id := a.ID.String()
	v := views.Preview{Kind: string(p.Kind), Text: p.Text, HTML: p.HTML}
	if p.Truncated {
		v.Truncated = "beginning only; download the artifact for the rest"
	}
	switch p.Kind {
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
