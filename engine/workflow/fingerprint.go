package workflow

import (
	"crypto/sha256"
	"encoding/json"
)

// Fingerprint stands for what an operator runs: its code, image, request, parameters,
// environment and pod. Neither its name and place are part of it, nor when, how often
// and with which values and resources it runs.
func (o *Operator) Fingerprint() [sha256.Size]byte {
	all := o.wire()
	data, err := json.Marshal(operatorJSON{
		Type: all.Type, Parameters: all.Parameters, Code: all.Code, HTTP: all.HTTP, Environment: all.Environment, Pod: all.Pod,
	})
	if err != nil { // what was parsed from JSON or YAML can be written
		return sha256.Sum256([]byte(o.Name))
	}
	return sha256.Sum256(data)
}
