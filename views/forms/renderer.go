package forms

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// renderer is the page of the type that enters the value; nil without one.
func (c Control) renderer() *ui.Renderer {
	page := c.Type.Page
	if page == nil || !page.Inputs {
		return nil
	}
	return &ui.Renderer{
		URL: RendererURL(page.Type, page.File), Type: page.Type, Kind: string(c.Type.Kind), Input: true, Title: c.Label + ", " + page.Type,
	}
}

// RendererURL is the page that shows values of a type. The hash of the page makes it new when another
// type takes the name.
func RendererURL(name, file string) string {
	return "/types/" + url.PathEscape(name) + "/renderer?" + url.Values{"v": {file}}.Encode()
}
