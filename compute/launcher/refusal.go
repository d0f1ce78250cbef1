package launcher

import "errors"

// ErrAway is what Start and Stop wrap when the cluster does not answer: nothing is
// wrong with the attempts, and the call is repeated until it does.
var ErrAway = errors.New("the cluster does not answer")

// StartError is what Start returns when it did not start all attempts. Those in
// Refused, by task id, never will be: each has its end. When Err is nil all others
// were started; else some may not have been, and all but the refused are given to
// Start again.
type StartError struct {
	Refused map[string]End
	Waiting map[string]Waiting // why the cluster does not admit attempts yet, of those not started
	Err     error
}

// Error says what went wrong with the others, or how many were refused.
func (e *StartError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "some attempts were refused"
}

// Unwrap is for errors.Is and errors.As.
func (e *StartError) Unwrap() error { return e.Err }
