package handlers_test

import (
	"net/http"
	"slices"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/platform/release"
	"github.com/flowforge/flowforge/sdk"
)

// matrix has at least one row per route, in the order in which they are sent.
func matrix() []row {
	return slices.Concat(openRows(), taskRows(), listRows(), workflowRows(), executionRows(), waitingRows(), failureRows(), dataRows(), accountRows(), tenancyRows(), quotaMatrix(), secretRows(), secretStoreRows(), connectionRows(), poolRows(), changeRows(), metaflowRows(), metaflowPages(), datastoreRows(), presetRows(), optionRows(), sweepRows(), scheduleRows(), schedulePageRows(), backfillRows(), backfillPageRows(), notificationRows(), inboxRows(), triggerRows(), consumerRows(), reportRows(), sweepPageRows(), modelRows(), datasetRows(), viewRows(), leavingRows())
}

// openRows are public.
func openRows() []row {
	const ok, moved = http.StatusOK, http.StatusSeeOther
	outside := func(r row) row { r.guard = none; return r }
	return []row{
		outside(public("GET /healthz", "/healthz", "", ok)),
		outside(public("GET /readyz", "/readyz", "", ok)),
		outside(public("GET /sdk", "/sdk", "", ok)), outside(public("GET /sdk/", "/sdk/", "", ok)),
		outside(public("GET /sdk/{file}", "/sdk/"+sdk.WheelName(release.Version), "", ok)),
		public("GET /api/v1/openapi.json", "/api/v1/openapi.json", "", ok),
		public("GET /api/v1/openapi.yaml", "/api/v1/openapi.yaml", "", ok),
		public("GET /api/v1/openapi-3.0.json", "/api/v1/openapi-3.0.json", "", ok),
		public("GET /api/v1/openapi-3.0.yaml", "/api/v1/openapi-3.0.yaml", "", ok),
		public("GET /api/v1/schemas/{schema}", "/api/v1/schemas/Problem.json", "", ok),
		outside(public("POST /hooks/{hook}", "/hooks/01900000-0000-7000-8000-00000000dead", "{}", http.StatusNotFound)),
		outside(public("POST /hooks/{hook}/{condition}", "/hooks/01900000-0000-7000-8000-00000000dead/push", "{}", http.StatusNotFound)),
		public("GET /login", "/login", "", ok),
		public("POST /login", "/login", "token=wrong", http.StatusUnauthorized),
		public("POST /preferences/theme", "/preferences/theme", "theme=dark", moved),
		public("POST /preferences/keys", "/preferences/keys", "keys=off", moved),
	}
}

// taskRows are for the token of an attempt.
func taskRows() []row {
	const ok = http.StatusOK
	return []row{
		forTasks("POST /flowforge.v1.TaskService/*", "/flowforge.v1.TaskService/GetCheckpoint", "{}", ok),
		forTasks("POST /api/v1/task/blobs", "/api/v1/task/blobs", "", http.StatusConflict),            // not begun yet
		forTasks("GET /api/v1/task/blobs/{sha}", "/api/v1/task/blobs/{sha}", "", http.StatusNotFound), // no input of its own
		forTasks("HEAD /api/v1/task/blobs/{sha}", "/api/v1/task/blobs/{sha}", "", ok),
		forTasks("PUT /api/v1/task/blobs/{sha}", "/api/v1/task/blobs/{sha}", "", http.StatusConflict), // not begun yet
		forTasks("POST /api/v1/task/blobs/{sha}/upload", "/api/v1/task/blobs/{sha}/upload?size=1", "", http.StatusConflict),
		forTasks("POST /api/v1/task/blobs/{sha}/complete", "/api/v1/task/blobs/{sha}/complete", "", http.StatusConflict),
		forTasks("POST /api/v1/task/blobs/{sha}/adopt", "/api/v1/task/blobs/{sha}/adopt", "", http.StatusConflict),
	}
}

// unavailable marks a row that needs ClickHouse, which the matrix does not have.
func unavailable(r row) row { r.ok = http.StatusServiceUnavailable; return r }

// listRows are of the current project and name nothing in it.
func listRows() []row {
	return []row{
		page("/", "/", auth.ExecutionRead), page("/home/stream", "/home/stream", auth.ExecutionRead),
		page("/search", "/search?q=matrix", auth.WorkflowRead), page("/python", "/python", ""), page("/docs", "/docs", ""), page("/docs/{doc}", "/docs/settings", ""), page("/docs/api", "/docs/api", ""), page("/docs/api/{part}", "/docs/api/executions", ""), page("/projects", "/projects", ""),
		page("/workflows", "/workflows", auth.WorkflowRead), page("/templates", "/templates", auth.WorkflowRead),
		page("/approvals", "/approvals", auth.ExecutionRead),
		read("/templates", "/templates", auth.WorkflowRead),
		page("/executions", "/executions", auth.ExecutionRead),
		unavailable(read("/executions/groups", "/executions/groups?group=state", auth.ExecutionRead)),
		unavailable(read("/executions/complete", "/executions/complete?before=sta", auth.ExecutionRead)), page("/executions/complete", "/executions/complete?before=sta", auth.ExecutionRead),
		unavailable(read("/executions/lines", "/executions/lines?where=lr+%3E+1", auth.LogRead)), page("/executions/facets", "/executions/facets?where=lr+%3E+1", auth.ExecutionRead), unavailable(page("/executions/lines", "/executions/lines?where=log+~+CUDA", auth.ExecutionRead)),
		read("/executions/fields", "/executions/fields", auth.ExecutionRead),
		unavailable(read("/executions/export", "/executions/export", auth.ExecutionRead)),
		page("/executions/stream", "/executions/stream?top=00000000-0000-0000-0000-000000000000", auth.ExecutionRead),
		page("/artifacts", "/artifacts", auth.ArtifactRead), page("/types", "/types", auth.TypeRead),
		page("/typeahead", "/typeahead?q=dig&type=Dataset", auth.CatalogueRead),
		page("/typeahead/preview", "/typeahead/preview?ref=digits@1&type=Dataset", auth.CatalogueRead),
		page("/dev/gallery", "/dev/gallery", ""), page("/dev/gallery/{view}", "/dev/gallery/workflows", ""),
		read("/workflows", "/workflows", auth.WorkflowRead), read("/executions", "/executions", auth.ExecutionRead),
		read("/artifacts", "/artifacts", auth.ArtifactRead), read("/types", "/types", auth.TypeRead),
		read("/datasets", "/datasets", auth.CatalogueRead), read("/models", "/models", auth.CatalogueRead),
		read("/feature-store/feature-sets", "/feature-store/feature-sets", auth.CatalogueRead),
		read("/feature-store/features", "/feature-store/features", auth.CatalogueRead),
	}
}

func workflowRows() []row {
	return []row{
		page("/register", "/register", auth.WorkflowWrite),
		page("/workflows/{name}", "/workflows/{flow}", auth.WorkflowRead).object(),
		page("/workflows/{name}/grid", "/workflows/{flow}/grid", auth.ExecutionRead).object(),
		page("/workflows/{name}/grid/stream", "/workflows/{flow}/grid/stream?top=00000000-0000-0000-0000-000000000000", auth.ExecutionRead).object(),
		read("/workflows/{workflow_id}/grid", "/workflows/{flow}/grid", auth.ExecutionRead).object(),
		page("/workflows/{name}", "/workflows/{flow id}", auth.WorkflowRead).object(),
		page("/workflows/{name}/versions/{version}", "/workflows/{flow}/versions/1.0.0", auth.WorkflowRead).object(),
		page("/workflows/{name}/versions/{version}/package", "/workflows/{python}/versions/1.0.0/package", auth.WorkflowRead).object(),
		page("/workflows/{name}/diff", "/workflows/{python}/diff", auth.WorkflowRead).object(),
		read("/workflows/{workflow_id}/diff", "/workflows/{flow}/diff?from=1.0.0", auth.WorkflowRead).object(),
		page("/workflows/{name}/launch", "/workflows/{flow}/launch", auth.WorkflowRead).object(),
		page("/workflows/{name}/dev", "/workflows/{flow}/dev", auth.WorkflowRead).object().answers(http.StatusNotFound), // the caller develops no version
		page("/workflows/{name}/dev/stream", "/workflows/{flow}/dev/stream", auth.WorkflowRead).object().answers(http.StatusNotFound),
		read("/workflows/{workflow_id}/development", "/workflows/{flow}/development", auth.WorkflowRead).object().answers(http.StatusNotFound),
		page("/launch/{id}", "/launch/{flow id}", auth.WorkflowRead).object().answers(http.StatusSeeOther),
		read("/workflows/{workflow_id}", "/workflows/{flow}", auth.WorkflowRead).object(),
		read("/workflows/{workflow_id}", "/workflows/{flow id}", auth.WorkflowRead).object(),
		read("/workflows/{workflow_id}", "/workflows/{execution}", auth.ExecutionRead).object(),
		read("/workflows/{workflow_id}/tasks", "/workflows/{execution}/tasks", auth.ExecutionRead).object(),
		read("/workflows/{workflow_id}/logs", "/workflows/{execution}/logs", auth.LogRead).object(),
		read("/workflows/{workflow_id}/versions/{version}", "/workflows/{flow}/versions/latest", auth.WorkflowRead).object(),
		read("/workflows/{workflow_id}/versions/{version}/ui-schema", "/workflows/{flow id}/versions/1.0.0/ui-schema", auth.WorkflowRead).object(),
	}
}

func executionRows() []row {
	const compared = "?executions={execution},{second}"
	return []row{
		page("/compare", "/compare"+compared, auth.ExecutionRead).object(),
		page("/compare/choices", "/compare/choices"+compared, auth.ExecutionRead),
		page("/compare/stream", "/compare/stream"+compared, auth.ExecutionRead).object(),
		page("/compare/curves", "/compare/curves"+compared+"&metric=loss", auth.LogRead).object(),
		page("/compare/curves.csv", "/compare/curves.csv"+compared+"&metric=loss", auth.LogRead).object(),
		page("/compare/plots.json", "/compare/plots.json"+compared, auth.ExecutionRead).object(),
		page("/compare/table.csv", "/compare/table.csv"+compared, auth.ExecutionRead).object(),
		read("/compare", "/compare"+compared, auth.ExecutionRead).object(),
		read("/compare/metrics", "/compare/metrics"+compared+"&name=loss", auth.LogRead).object(),
		page("/executions/{id}", "/executions/{execution}", auth.ExecutionRead).object(),
		page("/executions/{id}/stream", "/executions/{execution}/stream", auth.ExecutionRead).object(),
		page("/executions/{id}/resume", "/executions/{execution}/resume", auth.ExecutionLaunch).object(),
		page("/executions/{id}/cancel", "/executions/{execution}/cancel", auth.ExecutionRead).object(),
		page("/executions/{id}/labels", "/executions/{execution}/labels", auth.ExecutionLaunch).object(),
		page("/executions/{id}/commands/{command}", "/executions/{execution}/commands/skip?node=wait", auth.ExecutionRead).object(),
		page("/executions/{id}/nodes/{node}", "/executions/{execution}/nodes/wait", auth.ExecutionRead).object(),
		page("/executions/{id}/metrics.csv", "/executions/{execution}/metrics.csv?name=loss", auth.LogRead).object(),
		page("/executions/{id}/events", "/executions/{execution}/events", auth.ExecutionRead).object(),
		page("/executions/{id}/logs", "/executions/{execution}/logs", auth.LogRead).object(),
		page("/executions/{id}/logs/stream", "/executions/{execution}/logs/stream", auth.LogRead).object(),
		page("/executions/{id}/logs.txt", "/executions/{execution}/logs.txt", auth.LogRead).object(),
		read("/executions/{execution_id}", "/executions/{execution}", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/nodes", "/executions/{execution}/nodes", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/artifacts", "/executions/{execution}/artifacts", auth.ArtifactRead).object(),
		read("/executions/{execution_id}/events", "/executions/{execution}/events", auth.ExecutionRead).object(),
		read("/executions/{execution_id}/metrics", "/executions/{execution}/metrics", auth.LogRead).object(),
		read("/executions/{execution_id}/logs", "/executions/{execution}/logs", auth.LogRead).object(),
		read("/executions/{execution_id}/logs/stream", "/executions/{execution}/logs/stream", auth.LogRead).object(),
	}
}

// dataRows are about artifacts, types and entries of the catalogue.
func dataRows() []row {
	return []row{
		page("/artifacts/{id}", "/artifacts/{artifact}", auth.ArtifactRead).object(),
		page("/artifacts/compare", "/artifacts/compare?ids={artifact}", auth.ArtifactRead).object().answers(http.StatusUnprocessableEntity), // one artifact
		page("/lineage", "/lineage?of=artifact:{artifact}", auth.ArtifactRead).object(),
		read("/lineage", "/lineage?of=artifact:{artifact}", auth.ArtifactRead).object(),
		page("/artifacts/{id}/download", "/artifacts/{artifact}/download", auth.ArtifactRead).object(),
		page("/artifacts/{id}/download", "/artifacts/{artifact}/download", auth.ArtifactRead).object().head(),
		page("/artifacts/{id}/thumbnail", "/artifacts/{artifact}/thumbnail", auth.ArtifactRead).object().answers(http.StatusUnprocessableEntity), // no image
		page("/artifacts/{id}/frame", "/artifacts/{artifact}/frame", auth.ArtifactRead).object(),
		read("/artifacts/{artifact_id}", "/artifacts/{artifact}", auth.ArtifactRead).object(),
		read("/artifacts/{id}/download", "/artifacts/{artifact}/download", auth.ArtifactRead).object(),
		read("/artifacts/{id}/download", "/artifacts/{artifact}/download", auth.ArtifactRead).object().head(),
		read("/artifacts/{artifact_id}/table", "/artifacts/{table}/table", auth.ArtifactRead).object(),
		read("/artifacts/{artifact_id}/preview", "/artifacts/{artifact}/preview", auth.ArtifactRead).object(),
		read("/artifacts/by-hash/{sha256}", "/artifacts/by-hash/{sha}", auth.ArtifactRead).object(),
		page("/types/{name}", "/types/{type}", auth.TypeRead).object(),
		page("/types/{name}/renderer", "/types/{type}/renderer", auth.TypeRead).object(),
		write("POST", "/types/{type_name}/check", "/types/{type}/check", `{"value": "x"}`, auth.TypeRead, http.StatusOK).object(),
		read("/types/{type_name}", "/types/{type}", auth.TypeRead).object(),
		read("/types/{type_name}/ui-schema", "/types/{type}/ui-schema", auth.TypeRead).object(),
		read("/datasets/{ref}", "/datasets/{dataset}", auth.CatalogueRead).object(),
		read("/models/{ref}", "/models/{model}", auth.CatalogueRead).object(),
		read("/datasets/{ref}/download", "/datasets/{dataset}/download", auth.CatalogueRead).object(),
		read("/datasets/{ref}/download", "/datasets/{dataset}/download", auth.CatalogueRead).object().head(),
		read("/models/{ref}/download", "/models/{model}/download", auth.CatalogueRead).object(),
		read("/models/{ref}/download", "/models/{model}/download", auth.CatalogueRead).object().head(),
		read("/feature-store/feature-sets/{ref}/download", "/feature-store/feature-sets/{features}/download", auth.CatalogueRead).object(),
		read("/feature-store/feature-sets/{ref}/download", "/feature-store/feature-sets/{features}/download", auth.CatalogueRead).object().head(),
		read("/feature-store/feature-sets/{ref}", "/feature-store/feature-sets/{features}", auth.CatalogueRead).object(),
	}
}

// changeRows change something; they come last.
func changeRows() []row {
	const ok, created, moved = http.StatusOK, http.StatusCreated, http.StatusSeeOther
	return []row{
		form("/preferences/project", "/preferences/project", "project={project}", "", moved).object(),
		form("/uploads", "/uploads?type=File&name=inputs.x", "", "", http.StatusUnprocessableEntity), // no file
		write("POST", "/blobs", "/blobs?filename=a.txt", "some bytes", auth.ArtifactWrite, created),
		write("POST", "/workflows", "/workflows", `{"name": "by.anyone", "version": "1.0.0", "operators": [{"name": "wait", "type": "noop"}]}`, auth.WorkflowWrite, created),
		write("POST", "/templates", "/templates", `{"name": "wait", "version": "1.0.0", "type": "noop"}`, auth.WorkflowWrite, created),
		write("POST", "/templates", "/templates?scope=tenant", `{"name": "wait", "version": "2.0.0", "type": "noop"}`, auth.TypeWrite, created).at(tenant),
		page("/templates/{name}", "/templates/wait", auth.WorkflowRead),
		read("/templates/{template}", "/templates/wait", auth.WorkflowRead),
		write("POST", "/types", "/types", `{"type_name": "Grade", "extends": "Integer(min=1, max=6)"}`, auth.TypeWrite, created).at(tenant),
		write("POST", "/datasets", "/datasets", `{"name": "rows", "version": "1"}`, auth.CatalogueWrite, created),
		write("POST", "/models", "/models", `{"name": "net", "version": "2"}`, auth.CatalogueWrite, created),
		write("POST", "/feature-store/feature-sets", "/feature-store/feature-sets",
			`{"name": "more", "version": "1", "entity_key": "id", "features": [{"name": "age", "dtype": "Integer"}]}`, auth.CatalogueWrite, created),
		write("POST", "/login-links", "/login-links", "", auth.Administer, ok).at(installation),
		form("/register", "/register", "document=%7B%22name%22%3A%22registered%22%2C%22version%22%3A%221.0.0%22%2C%22operators%22%3A%5B%7B%22name%22%3A%22a%22%2C%22type%22%3A%22noop%22%7D%5D%7D", auth.WorkflowWrite, moved),
		write("PUT", "/workflows/{workflow_id}/development", "/workflows/{flow}/development", `{"version": "1.0.0"}`, auth.WorkflowWrite, ok).object(),
		form("/workflows/{name}/launch", "/workflows/{flow}/launch", "version=1.0.0", auth.ExecutionLaunch, moved).object(),
		form("/workflows/{name}/launch", "/workflows/{flow id}/launch", "version=1.0.0", auth.ExecutionLaunch, moved).object(),
		write("POST", "/executions", "/executions", `{"workflow": "{flow}"}`, auth.ExecutionLaunch, created).object(),
		write("POST", "/executions", "/executions", `{"workflow_id": "{flow id}"}`, auth.ExecutionLaunch, created).object(),
		// A running execution cannot be resumed, which users with the permission see.
		write("POST", "/executions/{execution_id}/resume", "/executions/{execution}/resume", `{}`, auth.ExecutionLaunch, http.StatusConflict).object(),
		form("/executions/{id}/resume", "/executions/{execution}/resume", "version=1.0.0", auth.ExecutionLaunch, http.StatusConflict).object(),
		// Developers pause and cancel what they launched, administrators everything.
		write("POST", "/executions/{execution_id}/pause", "/executions/{execution}/pause", "{}", auth.ExecutionCancelAny, ok).object(),
		write("POST", "/executions/{execution_id}/unpause", "/executions/{execution}/unpause", "", auth.ExecutionCancelAny, ok).object(),
		write("POST", "/executions/{execution_id}/keep", "/executions/{execution}/keep", "", auth.ExecutionLaunch, ok).object(),
		write("POST", "/executions/{execution_id}/labels", "/executions/{execution}/labels", `{"add": ["x"]}`, auth.ExecutionLaunch, ok).object(),
		write("POST", "/executions/bulk", "/executions/bulk", `{"action": "tag", "add": ["x"], "execution_ids": ["{execution}"]}`, auth.ExecutionRead, ok),
		write("DELETE", "/executions/{execution_id}/keep", "/executions/{execution}/keep", "", auth.ExecutionLaunch, http.StatusNoContent).object(),
		page("/executions/bulk", "/executions/bulk?action=tag&tag=x&id=00000000-0000-0000-0000-000000000000", auth.ExecutionRead),
		form("/executions/bulk", "/executions/bulk", "action=tag&tag=x&id=00000000-0000-0000-0000-000000000000", auth.ExecutionRead, ok),
		form("/executions/{id}/keep", "/executions/{own}/keep", "", auth.ExecutionLaunch, moved).object(),
		form("/executions/{id}/labels", "/executions/{execution}/labels", "tags=x", auth.ExecutionLaunch, moved).object(),
		form("/executions/{id}/release", "/executions/{own}/release", "", auth.ExecutionLaunch, moved).object(),
		read("/retention/sweeps", "/retention/sweeps", auth.Administer).at(installation),
		page("/admin/storage", "/admin/storage", auth.Administer).at(installation),
		write("POST", "/retention/sweeps", "/retention/sweeps", `{"dry_run": true}`, auth.Administer, ok).at(installation),
		form("/admin/storage", "/admin/storage", "dry_run=1", auth.Administer, moved).at(installation),
		form("/executions/{id}/pause", "/executions/{own}/pause", "", auth.ExecutionCancel, moved).object(),
		form("/executions/{id}/unpause", "/executions/{own}/unpause", "", auth.ExecutionCancel, moved).object(),
		write("POST", "/executions/{execution_id}/commands", "/executions/{execution}/commands", `{"node": "wait", "command": "skip"}`, auth.ExecutionCancelAny, ok).object(),
		form("/executions/{id}/commands/{command}", "/executions/{own}/commands/skip?node=wait", "$command=SKIP", auth.ExecutionCancel, moved).object(),
		write("DELETE", "/workflows/{workflow_id}", "/workflows/{execution}", "", auth.ExecutionCancelAny, http.StatusOK).object(),
		write("POST", "/executions/{execution_id}/cancel", "/executions/{execution}/cancel", "{}", auth.ExecutionCancelAny, ok).object(),
		write("POST", "/executions/{execution_id}/cancel", "/executions/{own}/cancel", "", auth.ExecutionCancel, ok).object(),
		form("/executions/{id}/cancel", "/executions/{second}/cancel", "reason=enough", auth.ExecutionCancelAny, moved).object(),
		form("/executions/{id}/cancel", "/executions/{second own}/cancel", "", auth.ExecutionCancel, moved).object(),
		write("POST", "/workflows/{workflow_id}/archive", "/workflows/{shelf}/archive", "", auth.WorkflowArchive, ok).object(),
		write("POST", "/workflows/{workflow_id}/unarchive", "/workflows/{shelf}/unarchive", "", auth.WorkflowArchive, ok).object(),
		form("/workflows/{name}/archive", "/workflows/{shelf}/archive", "", auth.WorkflowArchive, moved).object(),
	}
}
