package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

const nodeEnvironmentID = "node-environment"

// PythonEnvironment is the environment in which a node runs its packages.
type PythonEnvironment struct {
	Requirements []string // as the operator declares them; none: the node has no environment
	State        string   // "", building, ready or failed
	Note         string   // about State
	Facts        []ui.Fact
	Packages     []string // installed, as name==version
	Output       string   // of a failed build
	UsesURL      string   // executions that use the environment
}

// OperatorPackages are the packages of operators of a version that have the same ones.
type OperatorPackages struct {
	Operators    []string
	Requirements []string
}

// EnvironmentUsesURL lists the executions whose log names an environment.
func EnvironmentUsesURL(id string) string {
	return withQuery(ExecutionsURL(), url.Values{"where": {`log ~ "` + id + `"`}})
}
