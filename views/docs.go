package views

// Docs are the pages of the documentation.
type Docs struct {
	Page
	Sections []DocSection
	Parts    []APIPart
	Current  string // entry of the list: a document's name, "api" or "api/<part>"

	Doc  DocLink // on the page of a document
	HTML string  // its content, rendered from our own Markdown
	Part APIPart // on the page of a part of the API
}

// DocSection is a group of documents.
type DocSection struct {
	Title string
	Docs  []DocLink
}

// DocLink is a document in a list.
type DocLink struct{ Name, Title, Summary, URL string }

// APIPart is a part of the API.
type APIPart struct {
	Name, Slug, Text, URL string
	Operations            []APIOperation
}

// APIOperation is one operation of the API.
type APIOperation struct {
	ID, Method, Path, Summary, Text string

	Parameters []APIField
	Media      string // of the request's body, "" without one
	Body       []APIField
	Answers    []APIAnswer
}

// APIField is a parameter, or a field of a body by its path.
type APIField struct {
	Name, Type, In, Text string
	Values, Default      string // of an enumeration; "" for none
	Required             bool
}

// APIAnswer is an answer of an operation.
type APIAnswer struct {
	Status, Text, Media string
	Fields              []APIField
}

// url is the address of the operation.
func (o APIOperation) url(part APIPart) string { return part.URL + "#" + o.ID }
