package api

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/request"
)

// describeRoutes adds what huma cannot see: routes that carry bytes and events, and the two
// formats of a log.
func describeRoutes(api huma.API) {
	d := describer{api.OpenAPI()}
	d.OpenAPI.Tags = []*huma.Tag{
		{Name: "Workflows", Description: "Workflow definitions and their immutable versions."},
		{Name: "Views", Description: "Saved execution tables: a query with columns, order and grouping."},
		{Name: "Events", Description: "The feed of events of executions, tasks, artifacts, models, limits and the audit log, and the consumers of the feed."},
		{Name: "Triggers", Description: "Workflows launched by events, such as the end of an execution, a new artifact or model, or a webhook."},
		{Name: "Notifications", Description: "Rules that send messages about executions to channels, and the messages."},
		{Name: "Inbox", Description: "Notifications of the caller, and their notification settings."},
		{Name: "Reports", Description: "Markdown pages with live blocks, and their revisions."},
		{Name: "Lineage", Description: "Upstream and downstream lineage of artifacts, datasets and models."},
		{Name: "Models", Description: "Stages, aliases and promotions of models."},
		{Name: "Presets", Description: "Saved and shared sets of workflow inputs."},
		{Name: "Sweeps", Description: "Workflows launched many times with different inputs."},
		{Name: "Schedules", Description: "Workflows launched on a schedule."},
		{Name: "Templates", Description: "Operators that definitions refer to by name."},
		{Name: "Executions", Description: "Executions of workflow versions, with their nodes and events."},
		{Name: "Queue", Description: "Nodes and executions that wait for capacity, with reasons and estimates."},
		{Name: "Failures", Description: "Nodes that failed permanently, circuit breakers and retry budgets."},
		{Name: "Administration", Description: "Retention and cleanups."},
		{Name: "Logs and metrics", Description: "Logs and metrics of running and ended tasks."},
		{Name: "Artifacts", Description: "Files that tasks produce, and uploaded files."},
		{Name: "Types", Description: "Types of inputs and outputs, and their form fields."},
		{Name: "Catalogue", Description: "Datasets, feature sets and models by name and version."},
		{Name: "Connections", Description: "Connections of tasks to databases, buckets and APIs. Secret fields are never returned."},
		{Name: "Pools", Description: "Pools of machines outside the cluster that pull tasks."},
		{Name: "Secrets", Description: "Secrets of tasks. Values are never returned."},
		{Name: "Secret stores", Description: "External secret managers that secrets can refer to. Credentials are never returned."},
		{Name: "Metaflow", Description: "Metaflow datastore of a project."},
		{Name: "Quotas", Description: "Resource limits and usage."},
		{Name: "Tenancy", Description: "Tenants, departments, teams and projects, with their members."},
		{Name: "Audit", Description: "The audit log."},
		{Name: "Sign-in", Description: "Login links."},
	}
	d.downloads()
	d.logStream()
	d.dagLogs()
	d.upload()
	d.loginLink()
	d.auditExport()
	d.tableExport()
	d.logs()
	d.feed()
	describeRequests(d.OpenAPI)
	for _, path := range []string{"/workflows", "/types"} {
		delete(d.Paths[request.APIPrefix+path].Post.RequestBody.Content, "application/octet-stream")
	}
}

type describer struct{ *huma.OpenAPI }

// binary is the schema of binary content.
func binary() *huma.Schema { return &huma.Schema{Type: huma.TypeString, Format: "binary"} }

func media(mediaType string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{mediaType: {Schema: schema}}
}

// add adds an operation with the errors that it can return. status is the status of success.
func (d describer) add(op huma.Operation, status int, success *huma.Response) {
	op.Path = request.APIPrefix + op.Path
	op.Responses = map[string]*huma.Response{strconv.Itoa(status): success}
	problem := d.Components.Schemas.Schema(reflect.TypeFor[apiError](), true, "Problem")
	for _, code := range errorStatuses(op.Method, op.RequestBody != nil) {
		op.Responses[strconv.Itoa(code)] = &huma.Response{Description: http.StatusText(code), Content: media("application/problem+json", problem)}
	}
	d.AddOperation(&op)
}

// eventSchema describes one event of a stream.
func eventSchema() *huma.Schema {
	text := func(about string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: about} }
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{"data"}, Properties: map[string]*huma.Schema{
			"id": text("Cursor to continue from"), "event": text("end, for the last event of a log"),
			"data": text("JSON: an array of lines of a log, or an event"),
		},
	}
}

func pathParam(name, description string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Description: description, Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"}}
}

func param(in, name, description string) *huma.Param {
	return &huma.Param{Name: name, In: in, Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
}

func (d describer) downloads() {
	artifact := get("download-artifact", "/artifacts/{id}/download", "Download an artifact, or a range of its bytes", "Artifacts")
	d.download(artifact, pathParam("id", "ID of the artifact"))
	for _, s := range shelves() {
		ref := param("path", "ref", "name@version, or name for the newest version")
		ref.Required, ref.Schema.MaxLength = true, new(320)
		d.download(get("download-"+s.id, s.path+"/{ref}/download", "Download the file of a "+s.noun+", or a range of its bytes", "Catalogue"), ref)
	}
}

func (d describer) download(op huma.Operation, object *huma.Param) {
	op.Parameters = []*huma.Param{
		object, param("query", "path", "Path of a file within a folder artifact"),
		param("header", "Range", "Byte range, such as bytes=0-1023"), param("header", "If-None-Match", "ETag of the client's copy"),
	}
	bytes := &huma.Response{
		Description: "The content; its SHA-256 is the ETag", Content: media("*/*", binary()),
		Headers: map[string]*huma.Param{
			"ETag":                {Description: "The SHA-256 of the bytes", Schema: &huma.Schema{Type: huma.TypeString}},
			"Content-Disposition": {Description: "The file name", Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}
	d.add(op, http.StatusOK, bytes)
	responses := d.Paths[request.APIPrefix+op.Path].Get.Responses
	responses["206"] = &huma.Response{Description: "A range of the content", Content: media("*/*", binary())}
	responses["304"] = &huma.Response{Description: "The content matches If-None-Match"}
	responses["416"] = &huma.Response{Description: "The range is not satisfiable"}
}

func (d describer) logStream() {
	op := get("follow-logs", "/executions/{execution_id}/logs/stream", "Follow the log of an execution", "Logs and metrics")
	op.Description = "Server-sent events. Each event contains a JSON array of lines, as in a log page, and the ID to continue from. " +
		"The stream starts with past lines and continues with new ones. The event \"end\" follows the last line when the execution has ended."
	op.Parameters = []*huma.Param{
		pathParam("execution_id", "ID of the execution"),
		param("query", "node", "Only lines of these nodes, separated by commas"), param("query", "level", "Levels, separated by commas"),
		param("query", "q", "Text in the message"), param("header", "Last-Event-ID", "ID of the last event that was received"),
		param("query", "last-event-id", "Alternative to the Last-Event-ID header"),
	}
	events := &huma.Response{Description: "The lines", Content: media("text/event-stream", eventSchema())}
	d.add(op, http.StatusOK, events)
}

func (d describer) dagLogs() {
	op := get("list-task-logs", "/workflows/{workflow_id}/logs", "Read or follow the log of an execution, with its ID as workflow_id", "Workflows")
	op.Description = "A JSON array of lines; the header X-Next-Page contains the next value of page. With follow=true, server-sent events that each contain such an array."
	op.Parameters = []*huma.Param{
		pathParam("workflow_id", "ID of the execution"), param("query", "follow", "Follow the log until the execution ends"),
		param("query", "task", "Comma-separated task IDs; only their lines are returned"), param("query", "level", "Levels, separated by commas"),
		param("query", "page", "Cursor from X-Next-Page"), param("header", "Last-Event-ID", "ID of the last event that was received"),
	}
	lines := &huma.Response{Description: "The lines", Content: map[string]*huma.MediaType{
		"application/json":  {Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject}}},
		"text/event-stream": {Schema: eventSchema()},
	}}
	d.add(op, http.StatusOK, lines)
}

// feed adds the stream of events, and the error for a cursor that is older than the stored
// events.
func (d describer) feed() {
	op := d.Paths[request.APIPrefix+"/events"].Get
	op.Parameters = append(op.Parameters, param("header", "Last-Event-ID", "In a stream: cursor of the last event received"))
	op.Responses["200"].Content["text/event-stream"] = &huma.MediaType{Schema: eventSchema()}
	problem := d.Components.Schemas.Schema(reflect.TypeFor[apiError](), true, "Problem")
	op.Responses["410"] = &huma.Response{Description: "The events after the cursor are no longer kept", Content: media("application/problem+json", problem)}
}

func (d describer) upload() {
	op := post("upload-blob", "/blobs", "Upload a file for an input, a catalogue entry or a code package", "Artifacts")
	op.Parameters = []*huma.Param{param("query", "filename", "Its name")}
	op.RequestBody = &huma.RequestBody{Description: "File content; an empty body is an empty file", Content: media("application/octet-stream", binary())}
	ref := d.Components.Schemas.Schema(reflect.TypeFor[content.FileRef](), true, "FileRef")
	stored := &huma.Response{Description: "Value of an input for the file", Content: media("application/json", ref)}
	d.add(op, http.StatusCreated, stored)
}

func (d describer) loginLink() {
	op := post("issue-login-link", "/login-links", "Issue a one-time link that signs a browser in as administrator", "Sign-in")
	link := &huma.Schema{Type: huma.TypeObject, Required: []string{"url"}, Properties: map[string]*huma.Schema{"url": {Type: huma.TypeString, Format: "uri"}}}
	d.add(op, http.StatusOK, &huma.Response{Description: "The link", Content: media("application/json", link)})
}

func (d describer) auditExport() {
	op := get("export-audit", "/audit/export", "Export the audit log as JSON lines or CSV", "Audit")
	format := param("query", "format", "jsonl or csv; defaults to jsonl")
	format.Schema.Enum = []any{"jsonl", "csv"}
	op.Parameters = []*huma.Param{format}
	for _, p := range d.Paths[request.APIPrefix+"/audit"].Get.Parameters {
		if p.Name != "page" && p.Name != "limit" {
			filter := *p
			filter.Schema = &huma.Schema{Type: p.Schema.Type, Format: p.Schema.Format} // of any length
			op.Parameters = append(op.Parameters, &filter)
		}
	}
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	file := &huma.Response{Description: "The entries, newest first", Content: map[string]*huma.MediaType{"application/jsonl": text, "text/csv": text}}
	d.add(op, http.StatusOK, file)
}

// logs describes both formats of the response.
func (d describer) logs() {
	page := d.Components.Schemas.Schema(reflect.TypeFor[logPage](), true, "LogPage")
	d.Paths[request.APIPrefix+"/executions/{execution_id}/logs"].Get.Responses["200"] = &huma.Response{
		Description: "A page of lines, or all lines with format=text",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: page}, "text/plain": {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}
}
