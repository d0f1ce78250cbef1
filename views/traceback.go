package views

// nodeTracebackID is the element id of the traceback on a node's page.
const nodeTracebackID = "node-traceback"

// Traceback is the exception that ended an attempt. The zero traceback shows nothing.
type Traceback struct {
	Attempt    string
	Exceptions []TracebackException // the last one raised first
	Omitted    string               // how many exceptions are left out; "" for none
	Text       string               // to copy
}

// Shown reports whether there is a traceback.
func (t Traceback) Shown() bool { return len(t.Exceptions) > 0 }

// TracebackException is one exception of a traceback.
type TracebackException struct {
	Lead          string // "Caused by"; "" for the first
	Type, Message string
	Frames        []TracebackFrame // of the author's code, the innermost first
	Libraries     []TracebackLibrary
	Omitted       string // how many frames are left out; "" for none
}

// TracebackFrame is a frame of the author's code.
type TracebackFrame struct {
	Function string // "" for the top level of a file
	Where    string // flow.py:12
	URL      string // the line in the code package; "" without one
	Open     bool
	Source   Source
	Locals   []string // names
	Omitted  string   // how many names are left out; "" for none
}

// TracebackLibrary is the frames in one library, the innermost first.
type TracebackLibrary struct {
	Text   string // 7 frames in sklearn
	Where  string // of the innermost one
	Frames []LibraryFrame
}

// LibraryFrame is a frame in a library.
type LibraryFrame struct{ Function, Where, Code string }
