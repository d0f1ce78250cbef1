package views

// Register is the page that registers definitions.
type Register struct {
	Page
	Document string // as submitted
	Problems []RegisterProblem
	Failed   string // heading of the error summary, or ""
}

// RegisterProblem is one error in a document.
type RegisterProblem struct {
	Path    string
	Message string
}

// RegisterURL is the page to paste or upload definitions.
func RegisterURL() string { return "/register" }
