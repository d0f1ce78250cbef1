package views

// Register is the page that takes definitions.
type Register struct {
	Page
	Document string // as it was sent
	Problems []RegisterProblem
	Failed   string // what is wrong as a whole, "" when nothing is
}

// RegisterProblem is one thing that is wrong with a document.
type RegisterProblem struct {
	Path    string
	Message string
}

// RegisterURL is where definitions are pasted or uploaded.
func RegisterURL() string { return "/register" }
