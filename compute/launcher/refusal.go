package launcher

import "errors"

// ErrUnreachable is wrapped by Start and Stop when the cluster does not respond: nothing is wrong
// with the attempts, and the call is repeated.
var ErrUnreachable = errors.New("the cluster is not responding")

// StartError is the error of Start when it did not start all attempts. Those in Refused,
// by task id, will never start: each has its end. If Err is nil, all others were started;
// otherwise some may not have been, and all except the refused ones must be started
// again.
type StartError struct {
	Refused map[string]End
	Waiting map[string]Waiting // why the cluster does not admit attempts yet, of those not started
	Err     error
}

// Error returns the error of the others, or that some were refused.
func (e *StartError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "some attempts were rejected"
}

// Unwrap is for errors.Is and errors.As.
func (e *StartError) Unwrap() error { return e.Err }
