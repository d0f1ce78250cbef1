package views

import (
	"maps"
	"net/url"
	"strconv"
)

// HomeURL is the home page.
func HomeURL() string { return "/" }

// WorkflowsURL lists workflows.
func WorkflowsURL() string { return "/workflows" }

// WorkflowsByTagURL lists the workflows with tag.
func WorkflowsByTagURL(tag string) string { return "/workflows?tag=" + url.QueryEscape(tag) }

// WorkflowURL is the overview of a workflow.
func WorkflowURL(name string) string { return "/workflows/" + url.PathEscape(name) }

// WorkflowTabURL is a tab of a workflow: executions, versions or source; "" is the overview.
func WorkflowTabURL(name, tab string) string {
	if tab == "" {
		return WorkflowURL(name)
	}
	return WorkflowURL(name) + "?tab=" + url.QueryEscape(tab)
}

// VersionURL is one version of a workflow.
func VersionURL(name, version string) string {
	return WorkflowURL(name) + "/versions/" + url.PathEscape(version)
}

// SourceFileURL shows a file of the code package of a version.
func SourceFileURL(name, version, file string) string {
	return VersionURL(name, version) + "?tab=source&file=" + url.QueryEscape(file)
}

// DefinitionURL shows the definition of a version from Python as YAML.
func DefinitionURL(name, version string) string {
	return VersionURL(name, version) + "?tab=source&definition=1"
}

// PackageURL is the code package of a version from Python.
func PackageURL(name, version string) string { return VersionURL(name, version) + "/package" }

// PackageFileURL is the bytes of a file of a code package.
func PackageFileURL(name, version, file string) string {
	return PackageURL(name, version) + "?file=" + url.QueryEscape(file)
}

// InputOptionsURL lists options of the inputs of a version for its forms.
func InputOptionsURL(workflow, version string) string {
	return withQuery(WorkflowURL(workflow)+"/options", url.Values{"version": {version}})
}

// LaunchURL is the launch form of a workflow.
func LaunchURL(name string) string { return WorkflowURL(name) + "/launch" }

// LaunchQueryURL fills in the launch form.
func LaunchQueryURL(name string, q url.Values) string { return withQuery(LaunchURL(name), q) }

// LaunchVersionURL is the launch form of one version.
func LaunchVersionURL(name, version string) string {
	return LaunchURL(name) + "?version=" + url.QueryEscape(version)
}

// DevelopURL is the launch form of the version that the reader develops.
func DevelopURL(name string) string { return WorkflowURL(name) + "/dev" }

// RelaunchURL is the launch form filled with the inputs of an execution.
func RelaunchURL(workflow, execution string) string {
	return LaunchURL(workflow) + "?from=" + url.QueryEscape(execution)
}

// ExecutionsURL lists executions.
func ExecutionsURL() string { return "/executions" }

// ExecutionsOfURL lists the executions of a workflow.
func ExecutionsOfURL(workflow string) string {
	return ExecutionsURL() + "?workflow=" + url.QueryEscape(workflow)
}

// ExecutionURL is the page of an execution.
func ExecutionURL(id string) string { return "/executions/" + id }

// ExecutionNodeURL is the page of an execution with a node selected in its panel.
func ExecutionNodeURL(id, node string) string {
	return ExecutionURL(id) + "?node=" + url.QueryEscape(node) + "#node"
}

// NodesURL is the node table of an execution, filtered by state; "" shows all.
func NodesURL(id, state string) string {
	u := ExecutionURL(id) + "?view=list"
	if state != "" {
		u += "&state=" + url.QueryEscape(state)
	}
	return u + "#graph"
}

// GroupURL is the node table of the nodes in one group of the graph: the levels from to
// to, and names that begin with stem.
func GroupURL(id string, from, to int, stem string) string {
	q := url.Values{"view": {"list"}, "from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}}
	if stem != "" {
		q.Set("stem", stem)
	}
	return ExecutionURL(id) + "?" + q.Encode() + "#graph"
}

// StreamURL is the stream of an execution page. The query selects what the page shows, so
// that the stream renders the same, and the position in the log.
func StreamURL(id string, q url.Values) string { return withQuery(ExecutionURL(id)+"/stream", q) }

// CancelURL is the confirmation page of a cancellation; a POST cancels the execution.
func CancelURL(id string) string { return ExecutionURL(id) + "/cancel" }

// LabelsURL is the form of the name, the tags and the note of an execution.
func LabelsURL(id string) string { return ExecutionURL(id) + "/labels" }

// NodeURL is the page of a node.
func NodeURL(id, node string) string { return ExecutionURL(id) + "/nodes/" + url.PathEscape(node) }

// ChildrenURL is the page of an expanded node with its children filtered by state and
// text; "" is any.
func ChildrenURL(id, node, state, text string) string {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	if text != "" {
		q.Set("q", text)
	}
	return withQuery(NodeURL(id, node), q) + "#children"
}

// AllNodesURL is the node table of an execution, including fan-out items and graph nodes.
func AllNodesURL(id, state string) string {
	return ExecutionURL(id) + "?" + url.Values{"view": {"list"}, "all": {"1"}, "state": {state}}.Encode() + "#graph"
}

// EventsURL is all events of an execution.
func EventsURL(id string) string { return ExecutionURL(id) + "/events" }

// MetricCSVURL is the values of a metric as CSV; node "" includes all nodes.
func MetricCSVURL(id, node, name string) string {
	q := url.Values{"name": {name}}
	if node != "" {
		q.Set("node", node)
	}
	return withQuery(ExecutionURL(id)+"/metrics.csv", q)
}

// LogsURL is the log page of an execution with the filters of q.
func LogsURL(id string, q url.Values) string { return withQuery(ExecutionURL(id)+"/logs", q) }

// LogStreamURL is the live tail behind LogsURL.
func LogStreamURL(id string, q url.Values) string {
	return withQuery(ExecutionURL(id)+"/logs/stream", q)
}

// LogDownloadURL is the whole log as text.
func LogDownloadURL(id string, q url.Values) string {
	return withQuery(ExecutionURL(id)+"/logs.txt", q)
}

// NodeLogsURL is the log page of one node, and of one attempt unless that is 0.
func NodeLogsURL(id, node string, attempt int) string {
	q := url.Values{"node": {node}}
	if attempt > 0 {
		q.Set("attempt", strconv.Itoa(attempt))
	}
	return LogsURL(id, q)
}

// ArtifactsURL lists artifacts.
func ArtifactsURL() string { return "/artifacts" }

// ArtifactsOfURL lists the artifacts of an execution.
func ArtifactsOfURL(execution string) string {
	return ArtifactsURL() + "?execution=" + url.QueryEscape(execution)
}

// ArtifactURL is the page of an artifact.
func ArtifactURL(id string) string { return "/artifacts/" + url.PathEscape(id) }

// ArtifactDownloadURL is the bytes of an artifact.
func ArtifactDownloadURL(id string) string { return ArtifactURL(id) + "/download" }

// ArtifactFrameURL is an HTML report for a sandboxed frame.
func ArtifactFrameURL(id string) string { return ArtifactURL(id) + "/frame" }

// LineageURL is the lineage of an item, such as "artifact:<id>".
func LineageURL(of string, q url.Values) string {
	all := url.Values{"of": {of}}
	maps.Copy(all, q)
	return withQuery("/lineage", all)
}

// DatasetsURL lists datasets, or feature sets for the kind FeatureSet.
func DatasetsURL(kind string) string {
	if kind == "FeatureSet" {
		return "/feature-sets"
	}
	return "/datasets"
}

// DatasetURL is the page of a dataset or feature set, with one of its versions; "" shows the newest one.
func DatasetURL(kind, name, version string) string {
	return withQuery(DatasetsURL(kind)+"/"+url.PathEscape(name), versionQuery(version))
}

// DatasetFormURL is the address of a form of a dataset or feature set.
func DatasetFormURL(kind, name, form string) string {
	return DatasetsURL(kind) + "/" + url.PathEscape(name) + "/" + form
}

// ModelsURL lists the models of the project.
func ModelsURL() string { return "/models" }

// ModelURL is the page of a model, with one of its versions; "" shows the newest one.
func ModelURL(name, version string) string {
	return withQuery("/models/"+url.PathEscape(name), versionQuery(version))
}

func versionQuery(version string) url.Values {
	if version == "" {
		return nil
	}
	return url.Values{"version": {version}}
}

// TypesURL lists the types.
func TypesURL() string { return "/types" }

// TypeURL is the page of a type.
func TypeURL(name string) string { return "/types/" + url.PathEscape(name) }

// SearchURL finds workflows, executions and artifacts.
func SearchURL() string { return "/search" }

// ThemeURL switches between light and dark by POST.
func ThemeURL() string { return "/preferences/theme" }

// KeysURL turns the single-key shortcuts on or off by POST.
func KeysURL() string { return "/preferences/keys" }

// DocsURL lists the documents of the product.
func DocsURL() string { return "/docs" }

// APIDocsURL is the reference of the JSON API.
func APIDocsURL() string { return DocsURL() + "/api" }

// APIPartURL is the reference of one part of the API.
func APIPartURL(slug string) string { return APIDocsURL() + "/" + url.PathEscape(slug) }

// DocURL is one document of the product.
func DocURL(name string) string { return DocsURL() + "/" + url.PathEscape(name) }

// LoginURL is the sign-in page.
func LoginURL() string { return "/login" }

// LogoutURL signs the user out by POST.
func LogoutURL() string { return "/logout" }

// GalleryURL shows every component in every state.
func GalleryURL() string { return "/dev/gallery" }

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// ArchiveURL archives a workflow by POST, or restores an archived one.
func ArchiveURL(name string) string { return WorkflowURL(name) + "/archive" }

// HomeStreamURL is the stream of the home page.
func HomeStreamURL() string { return "/home/stream" }
