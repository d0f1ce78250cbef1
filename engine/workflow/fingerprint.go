package workflow

import (
	"crypto/sha256"
	"encoding/json"
)

// Fingerprint identifies the work of an operator: its code, image, request, parameters,
// environment and pod. It does not include the operator's name and position, nor when,
// how often and with which values and resources it runs.
func (o *Operator) Fingerprint() [sha256.Size]byte {
	all := o.wire()
	data, err := json.Marshal(operatorJSON{
		Type: all.Type, Parameters: all.Parameters, Code: all.Code, HTTP: all.HTTP, SQL: all.SQL, GRPC: all.GRPC, Sensor: all.Sensor, Environment: all.Environment, Pod: all.Pod,
	})
	if err != nil { // values parsed from JSON or YAML can always be encoded
		return sha256.Sum256([]byte(o.Name))
	}
	return sha256.Sum256(data)
}
