package launchfile

import "encoding/json"

// Request returns the body of POST /api/v1/executions.
func (f File) Request() ([]byte, error) { return json.Marshal(f.fields(false)) }
