package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func poolEntries() []Entry {
	return []Entry{
		{"pools", "Worker pools", func(f views.Page) templ.Component { return views.PoolsPage(pools(f)) }},
		{"pools-empty", "Worker pools: none yet", func(f views.Page) templ.Component { return views.PoolsPage(poolsEmpty(f)) }},
		{"pool", "Worker pool: busy, with a new token", func(f views.Page) templ.Component { return views.PoolPage(pool(f)) }},
		{"pool-empty", "Worker pool: no worker is connected", func(f views.Page) templ.Component { return views.PoolPage(poolWithoutWorkers(f)) }},
	}
}

func poolsFrame(f views.Page, title string) views.Page {
	return adminFrame(f, title, views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: views.AdminURL()})
}

func poolsEmpty(f views.Page) views.Pools {
	return views.Pools{
		Page: poolsFrame(f, "Worker pools"), Tabs: adminTabs(2),
		Form: views.AdminForm{
			ID: "pool-form", Label: "New pool", Action: views.PoolsURL(), Buttons: []views.AdminButton{{Text: "Create the pool", Primary: true}},
			Fields: []views.AdminField{{ID: "pool-name", Name: "name", Label: "Name", Help: "Operators select the pool by this name, such as gpu-lab."}},
		},
	}
}

func pools(f views.Page) views.Pools {
	m := poolsEmpty(f)
	m.Rows = []views.PoolRow{
		{Name: "cpu-batch", URL: "#", State: "Idle", Mark: "SUCCEEDED", Workers: "11 of 11", Use: fullness("", 0, 176, "cores"), Running: "–", Queued: "–", Wait: "–"},
		{Name: "edge-berlin", URL: "#", Description: "Data must stay on site", State: "No worker", Mark: "FAILED", Workers: "0 of 2", Running: "–", Queued: "2", Wait: "41 min"},
		{Name: "gpu-lab", URL: "#", Description: "A100 machines in the lab", Restricted: true, State: "Backed up", Mark: "READY", Workers: "5 of 6", Use: fullness("", 20, 20, "GPUs"), Running: "9", Queued: "14", Wait: "18 min"},
	}
	return m
}

func pool(f views.Page) views.Pool {
	created := clock().Moment(ago(300 * time.Hour))
	seen := clock().Ago(ago(2 * time.Second))
	task := func(name, requested, reason string) views.PoolTask {
		return views.PoolTask{Name: name, URL: "#", Requested: requested, Reason: reason, Since: clock().Ago(ago(18 * time.Minute))}
	}
	return views.Pool{
		Page: poolsFrame(f, "gpu-lab"), Name: "gpu-lab", Description: "A100 machines in the lab",
		Fresh: &views.NewPoolToken{ID: "kqelbol2jbky", Token: "ffw_kqelbol2jbky_43DQIXMO4VUYORUZTDJQ3M6U62NAEJD2", Command: "FLOWFORGE_WORKER_TOKEN=ffw_kqelbol2jbky_43DQIXMO4VUYORUZTDJQ3M6U62NAEJD2 flowforge worker --server https://flowforge.example.com --pool gpu-lab"}, //nolint:gosec // an example
		Live: views.PoolLive{
			Figures: []views.QuotaFigure{{Name: "Workers connected", Value: "2", Note: "of 3"}, {Name: "Running tasks", Value: "5"}, {Name: "Queued tasks", Value: "2"}, {Name: "Longest wait", Value: "18 min"}},
			Workers: []views.PoolWorker{
				{Name: "gpu-05", Detail: "1.0.0 · zone=a", State: "Working", Mark: "RUNNING", Use: []views.Meter{fullness("", 4, 4, "GPUs"), fullness("", 96, 512, "GiB")}, Tasks: []views.PoolTask{task("digits #a1b2c3, train", "", ""), task("search #0d9e8f, fit (attempt 2)", "", "")}, More: "and 2 more", Heartbeat: seen, DrainURL: "#", Drain: true},
				{Name: "gpu-06", Detail: "1.0.0 · zone=b", State: "Draining", Mark: "PAUSED", Use: []views.Meter{fullness("", 1, 4, "GPUs")}, Tasks: []views.PoolTask{task("digits #77aa01, train", "", "")}, Heartbeat: seen, DrainURL: "#"},
				{Name: "gpu-07", Detail: "0.9.0", State: "Lost", Mark: "FAILED", Heartbeat: clock().Ago(ago(3 * time.Hour))},
			},
			Waiting: []views.PoolTask{
				task("digits #5f5f01, train", "8 cores, 32 GiB, 4 A100 GPUs", "The workers of the pool gpu-lab have no capacity left for this task."),
				task("digits #5f5f02, evaluate", "1 core, 4 GiB", "No connected worker of the pool gpu-lab has the label zone=c."),
			},
			More: "12 more tasks are not listed.",
		},
		Tokens:     []views.PoolToken{{ID: "kqelbol2jbky", By: "Jonas Weber", Created: created, Used: seen, RevokeURL: "#"}, {ID: "aaaa22223333", By: "Jonas Weber", Created: created, RevokeURL: "#"}},
		Restricted: true,
		Access:     []views.PoolAccess{{ID: "1", Name: "acme / research / vision", URL: "#", Kind: "team"}, {ID: "2", Name: "globex", URL: "#", Kind: "tenant"}},
		AccessForm: views.AdminForm{
			ID: "access-form", Label: "Access to the pool", Action: "#", Buttons: []views.AdminButton{{Text: "Allow"}},
			Fields: []views.AdminField{{
				ID: "access-nodes", Name: "nodes", Label: "Tenant, department, team or project", Help: "All projects below it may use the pool.",
				Options: []ui.Option{{Name: "Select…"}, {Value: "3", Name: "acme / research / speech (team)"}},
			}},
		},
		Shares: []views.PoolShare{
			{Name: "acme", URL: "#", Kind: "tenant", Running: "5", GPUs: "5", Queued: "2", GPUHours: "812.4", TaskHours: "1240.0"},
			{Name: "acme / research / vision", URL: "#", Kind: "team", Running: "4 of 10", GPUs: "4 of 4", Queued: "2", GPUHours: "790.1", TaskHours: "1031.5"},
		},
		LimitForm: views.AdminForm{
			ID: "limit-form", Label: "Limit", Action: "#", Buttons: []views.AdminButton{{Text: "Set the limit"}},
			Fields: []views.AdminField{
				{ID: "limit-node", Name: "node", Label: "Limit for", Help: "The limit applies to all projects below it together.", Options: []ui.Option{{Name: "Select…"}, {Value: "3", Name: "acme / research / speech (team)"}}},
				{ID: "limit-tasks", Name: "tasks", Label: "Running tasks", Help: "Leave both fields empty to remove the limit.", Optional: true},
				{ID: "limit-gpus", Name: "gpus", Label: "GPUs in use", Optional: true},
			},
		},
		Facts: []ui.Fact{{Name: "Created", Moment: &created}, {Name: "By", Value: "Jonas Weber"}, {Name: "Lost after", Value: "1 min without a heartbeat"}},
	}
}

func poolWithoutWorkers(f views.Page) views.Pool {
	m := pool(f)
	m.Fresh, m.Tokens, m.Draining, m.Restricted, m.Access, m.Shares = nil, nil, true, false, nil, nil
	m.Live.Workers, m.Live.More = nil, ""
	m.Live.Notice = &views.AdminNotice{Kind: "warn", Strong: "No worker is connected.", Text: "2 tasks wait for this pool and can run nowhere else."}
	return m
}
