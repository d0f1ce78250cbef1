package ui

import "encoding/json"

// Renderer is a value that the page of its type shows in a sandboxed frame.
type Renderer struct {
	URL       string // of the page
	Type      string // the custom type
	Kind      string // the built-in kind that it extends
	Value     string // JSON; "" takes the text of the control
	Input     bool   // the page enters the value
	Title     string
	Artifacts []RendererArtifact
}

// RendererArtifact is an artifact whose bytes the page may read.
type RendererArtifact struct {
	ID        string `json:"id"`
	URL       string `json:"url"`
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
}

// artifacts are the artifacts as JSON.
func (r Renderer) artifacts() string {
	if len(r.Artifacts) == 0 {
		return "[]"
	}
	text, err := json.Marshal(r.Artifacts)
	if err != nil {
		return "[]"
	}
	return string(text)
}
