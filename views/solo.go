package views

// Failure is what an error page shows.
type Failure struct {
	Status    int
	Title     string // "Not found"
	Message   string // a sentence for people
	RequestID string // to find the log line by
}

// heading says what happened in words that fit the status.
func (f Failure) heading() string {
	switch f.Status {
	case 401:
		return "Sign in first"
	case 403:
		return "This is not yours to open"
	case 404:
		return "We cannot find this page"
	case 409:
		return "This clashes with what is there"
	case 422:
		return "A value needs a change"
	case 429:
		return "A limit is reached"
	case 503:
		return "A part of FlowForge is not answering"
	}
	return "Something broke on our side"
}

// advice says what the reader can do or need not fear.
func (f Failure) advice() string {
	switch f.Status {
	case 404:
		return "The address may be mistyped, or what it named was removed."
	case 503:
		return "It is tried again by itself. Executions go on, and what they report is kept."
	case 500:
		return "Executions go on. We have logged it under the number below."
	}
	return ""
}
