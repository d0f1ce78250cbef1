package api

import "github.com/go-chi/chi/v5"

// resource is a part of the API with the services that it needs.
type resource interface {
	mount(api *operations)
}

// router is a resource with additional routes for streams and files, which huma cannot serve.
type router interface {
	routes(r chi.Router)
}

// resources returns all parts of the API.
func (c *Config) resources() []resource {
	runs := &dagAPI{
		Workflows: c.Workflows, Executions: c.Executions, Policies: c.Policies, Telemetry: c.Telemetry,
		Quotas: c.Quotas, Scope: c.Scope, Content: c.Content,
	}
	presets := &presetAPI{Workflows: c.Workflows, Executions: c.Executions, Presets: c.Presets}
	saved := &viewAPI{Views: c.Views}
	rows := &tableAPI{Log: c.Log, Table: c.Table, Scope: c.Scope, PublicURL: c.PublicURL, views: saved}
	return []resource{
		&workflowAPI{Now: c.Now, Workflows: c.Workflows, Packages: c.Packages, dag: runs},
		runs,
		&executionAPI{
			Log: c.Log, Now: c.Now, Workflows: c.Workflows, Executions: c.Executions, Presets: c.Presets, presets: presets, table: rows, Schedules: c.Schedules, Triggers: c.Triggers, Sweeps: c.Sweeps,
		},
		rows, saved,
		&commandAPI{c.Executions},
		&templateAPI{c.Workflows},
		&queueAPI{c.Executions.Reader},
		&protectionAPI{c.Executions},
		&semaphoreAPI{c.Executions.Semaphores},
		&retentionAPI{c.Executions.Reader, c.Retention},
		&attemptAPI{c.Executions},
		&logAPI{Log: c.Log, Site: c.Site, Executions: c.Executions.Reader, Telemetry: c.Telemetry, Scope: c.Scope, Content: c.Content},
		&compareAPI{c.Comparison},
		&artifactAPI{Executions: c.Executions.Reader, Artifacts: c.Artifacts, Scope: c.Scope, Content: c.Content},
		&typeAPI{c.Now, c.Catalogue, c.Executions.Launches},
		&accountAPI{Identity: c.Identity, Links: c.Links, Scope: c.Scope, PublicURL: c.PublicURL},
		&catalogueAPI{Catalogue: c.Catalogue, Registry: c.Registry, Artifacts: c.Artifacts, Scope: c.Scope, Content: c.Content},
		&datasetAPI{c.Datasets},
		&quotaAPI{c.Quotas},
		&secretAPI{c.Secrets}, &secretStoreAPI{c.SecretStores},
		&connectionAPI{c.Connections}, &poolAPI{c.Pools},
		&metaflowAPI{c.Datastores},
		presets,
		&optionAPI{c.Workflows, c.Options},
		&sweepAPI{c.Sweeps},
		&scheduleAPI{c.Schedules},
		&calendarAPI{c.Schedules},
		&jobAPI{c.Schedules},
		&backfillAPI{c.Backfills},
		&notificationAPI{c.Notifications},
		&inboxAPI{c.Inbox},
		&triggerAPI{c.Triggers, c.PublicURL},
		&consumerAPI{c.Consumers},
		&feedAPI{c.Log, c.Feed, c.Scope},
		&reportAPI{c.Reports},
		&lineageAPI{c.Lineage},
		&modelAPI{c.Registry, c.Models},
		&tenancyAPI{c.Tenancy},
		&userAPI{Tenancy: c.Tenancy, Audit: c.Audit, Scope: c.Scope, Content: c.Content},
	}
}
