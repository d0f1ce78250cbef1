package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// studyDocument fits a model in a moment: its accuracy depends only on the rate.
const studyDocument = `
name: stories.study
version: 1.0.0
description: Fits a model in a moment
inputs:
  - {name: data, type: Dataset, default: study-samples@1}
  - {name: rate, type: "Float(min=0, max=1)", default: 0.1}
  - {name: kind, type: "Enum(tree, net)", default: tree}
outputs:
  - {name: model, type: Model, from: fit.model}
operators:
  - name: fit
    type: python
    inputs:
      - {name: data, type: Dataset, from: inputs.data}
      - {name: rate, type: Float, from: inputs.rate}
      - {name: kind, type: String, from: inputs.kind}
    outputs: [{name: model, type: Model}]
    code:
      script: |
        import json, os
        from flowforge import client
        inputs = json.load(open(os.environ["FLOWFORGE_INPUTS"]))
        client.metric("accuracy", 1 - inputs["rate"], step=0)
        print("fitted a", inputs["kind"], "with rate", inputs["rate"])
        with open(os.path.join(os.environ["FLOWFORGE_OUTPUTS"], "model"), "w") as out:
            json.dump(inputs["rate"], out)
`

const ofStudy = "workflow = stories.study"

// launchStudy launches four executions of studyDocument with tags, and waits until queries find their
// metrics and logs. It returns the IDs in the order of their rates.
func launchStudy(t *testing.T) []string {
	t.Helper()
	s := shared.server
	s.registerDataset(t, "study-samples", "1", "pixel,digit\n0.5,7\n") // a dataset of its own, so that its lineage shows only the study
	s.register(t, studyDocument)
	var ids []string
	for i, kind := range []string{"tree", "net", "tree", "net"} {
		out := s.flowforge(t, "launch", "stories.study", "-i", fmt.Sprintf("rate=0.%d", i+1), "-i", "kind="+kind, "--tag", "study", "--tag", kind, "--note", "rate "+fmt.Sprint(i+1))
		ids = append(ids, out[:36])
	}
	for _, id := range ids {
		require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	}
	eventually(t, "the executions can be searched", func() (string, bool) {
		var found struct {
			Total int `json:"total"`
		}
		status, body := s.call(t, http.MethodGet, "/executions?where="+url.QueryEscape(ofStudy+` and accuracy > 0.5 and tag:study and log ~ "with rate"`), nil)
		if status == http.StatusUnprocessableEntity { // no execution has the metric yet
			return string(body), false
		}
		require.Equal(t, http.StatusOK, status, "%s", body)
		require.NoError(t, json.Unmarshal(body, &found))
		return fmt.Sprint(found.Total), found.Total == len(ids)
	})
	return ids
}

// TestTheExperimentLoop is an afternoon with a few executions: find, group and compare them, keep the
// view, follow a model to its data, and promote it with another person.
func TestTheExperimentLoop(t *testing.T) {
	t.Parallel()
	ids := launchStudy(t)
	for name, story := range map[string]func(*testing.T, []string){
		"saved view": storySavedView, "groups and facets": storyGroupsAndFacets, "log search": storyLogSearch, "grid": storyGrid,
		"lineage": storyLineage, "model": storyModel, "versions of a model": storyVersions,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, ids)
		})
	}
}

func link(page playwright.Page, name string) playwright.Locator {
	return page.GetByRole("link", playwright.PageGetByRoleOptions{Name: name, Exact: new(true)})
}

// storySavedView goes from the list to the table with the inputs that differ, sorts it, saves it,
// changes it, and deletes it.
func storySavedView(t *testing.T, ids []string) {
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/executions?workflow=stories.study")
	counts(t, page.Locator("#execution-rows tr"), len(ids))
	holds(t, page.Locator("#execution-rows tr").First(), "rate 0.4")
	audit(t, page)
	click(t, link(page, "Table"))
	table := page.Locator("[data-run-table]")
	counts(t, table.Locator("tbody tr"), len(ids))
	visible(t, table.Locator(`th[data-column="inputs.rate"]`))
	visible(t, table.Locator(`th[data-column="tags"]`))
	holds(t, table.Locator("tbody tr").First(), "study")
	fits, err := page.Evaluate(`() => { const wrap = document.querySelector("[data-run-table]").parentElement; return wrap.scrollWidth <= wrap.clientWidth; }`)
	require.NoError(t, err)
	require.Equal(t, true, fits, "six columns fit into 1,280 pixels")
	audit(t, page)

	where := url.Values{"where": {ofStudy}, "columns": {"metrics.accuracy,inputs.rate"}, "sort": {"-inputs.rate"}}
	visit(t, page, "/executions?"+where.Encode())
	first := table.Locator("tbody tr").First()
	holds(t, first, "0.4")
	click(t, page.GetByText("Save view…"))
	form := page.Locator(`form[aria-label="Save view"]`)
	click(t, form.GetByRole("button"))
	visible(t, form.Locator(".error"))
	require.NoError(t, expect().Locator(form.GetByLabel("View name")).ToHaveAttribute("aria-invalid", "true"))
	audit(t, page)
	fill(t, form.GetByLabel("View name"), "Rates of the study")
	click(t, form.GetByRole("button"))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile(`view=[0-9a-f-]{36}`)))
	tab := link(page, "Rates of the study")
	require.NoError(t, expect().Locator(tab).ToHaveAttribute("aria-current", "page"))
	audit(t, page)

	click(t, table.Locator(`th[data-column="inputs.rate"]`).GetByRole("link").First())
	holds(t, page.Locator(".view-changes"), "unsaved changes")
	holds(t, first, "0.1")
	audit(t, page)
	click(t, link(page, "Revert"))
	counts(t, page.Locator(".view-changes"), 0)
	holds(t, first, "0.4")
	click(t, page.GetByText("Edit view…"))
	deletes(t, page, "view")
	visible(t, link(page, "Table"))
	counts(t, tab, 0)
}

// storyGroupsAndFacets groups the table, opens a group, and narrows the query with a facet.
func storyGroupsAndFacets(t *testing.T, _ []string) {
	page := open(t, options{})
	q := url.Values{"where": {ofStudy}, "columns": {"inputs.kind,metrics.accuracy"}}
	visit(t, page, "/executions?"+q.Encode())
	_, err := page.Locator("#grid-group").SelectOption(playwright.SelectOptionValues{Values: &[]string{"inputs.kind"}})
	require.NoError(t, err)
	click(t, button(page, "Group"))
	groups := page.Locator("tbody.group")
	counts(t, groups, 2)
	net := groups.Filter(playwright.LocatorFilterOptions{HasText: "net"})
	holds(t, net, "2 executions")
	holds(t, net, "0.8") // the highest accuracy
	audit(t, page)
	click(t, page.GetByLabel("Show the executions of the group net"))
	counts(t, net.Locator("tr"), 3)
	audit(t, page)
	noSidewaysScroll(t, page)

	phone := open(t, options{width: 390})
	visit(t, phone, "/executions?facets=1&"+q.Encode())
	visible(t, phone.Locator(".histogram").First())
	noSidewaysScroll(t, phone)

	visit(t, page, "/executions?"+q.Encode())
	click(t, page.Locator(".facet-box > summary"))
	value := page.Locator("a.facet-value").Filter(playwright.LocatorFilterOptions{HasText: regexp.MustCompile(`^\s*tree\s*2\s*$`)}).First()
	visible(t, value)
	audit(t, page)
	click(t, value)
	counts(t, page.Locator("[data-run-table] tbody tr"), 2)
	require.NoError(t, expect().Locator(page.Locator("#execution-where")).ToHaveValue(regexp.MustCompile("tree")))
	audit(t, page)
}

// storyLogSearch finds a line, above the table, and opens it in its log.
func storyLogSearch(t *testing.T, ids []string) {
	page := open(t, options{})
	visit(t, page, "/executions?where="+url.QueryEscape(ofStudy+` and log ~ "with rate 0.3"`))
	hit := page.Locator(".hit-box")
	counts(t, hit, 1)
	holds(t, hit.Locator(".hit-found mark"), "with rate 0.3")
	counts(t, page.Locator("[data-run-table] tbody tr"), 1)
	above, err := page.Evaluate(`() => document.querySelector(".hits").getBoundingClientRect().bottom <= document.querySelector("[data-run-table]").getBoundingClientRect().top`)
	require.NoError(t, err)
	require.Equal(t, true, above, "the lines that were searched for come before the table")
	audit(t, page)
	noSidewaysScroll(t, page)
	click(t, hit.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "in the log of"}))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile(ids[2])))
	holds(t, page.Locator("main"), "fitted a tree with rate 0.3")
	audit(t, page)
}

// storyGrid walks over the nodes of all executions with the keyboard.
func storyGrid(t *testing.T, ids []string) {
	page := open(t, options{})
	visit(t, page, "/workflows/stories.study/grid")
	counts(t, page.Locator(".rg thead .rg-run"), len(ids))
	cells := page.Locator(`.rg tbody a[data-state="SUCCEEDED"]`)
	counts(t, cells, len(ids))
	audit(t, page)
	require.NoError(t, cells.Last().Focus())
	press(t, page, "ArrowLeft")
	require.NoError(t, expect().Locator(cells.Nth(len(ids)-2)).ToBeFocused())
	press(t, page, "Enter")
	holds(t, page.Locator("main h1"), "fit")
	audit(t, page)
	phone := open(t, options{width: 390, dark: true})
	visit(t, phone, "/workflows/stories.study/grid")
	newest := phone.Locator("#run-" + ids[len(ids)-1])
	require.NoError(t, expect().Locator(newest).ToBeInViewport())
	audit(t, phone)
	noSidewaysScroll(t, phone)
}

// modelOf returns the ID of the model that an execution produced.
func modelOf(t *testing.T, execution string) string {
	t.Helper()
	return artifactOf(t, execution, "Model")
}

// artifactOf returns the ID of the first artifact of a type that an execution produced.
func artifactOf(t *testing.T, execution, kind string) string {
	t.Helper()
	var found struct {
		Artifacts []struct {
			ID   string `json:"artifact_id"`
			Type string `json:"type"`
		} `json:"artifacts"`
	}
	shared.server.api(t, http.MethodGet, "/executions/"+execution+"/artifacts", nil, &found)
	for _, a := range found.Artifacts {
		if a.Type == kind {
			return a.ID
		}
	}
	require.Fail(t, "the execution has no artifact of this type", "%s: %v", kind, found.Artifacts)
	return ""
}

// storyLineage goes from a model to the data that it was made from, and on to all that the data made.
func storyLineage(t *testing.T, ids []string) {
	page := open(t, options{})
	visit(t, page, "/artifacts/"+modelOf(t, ids[1]))
	audit(t, page)
	click(t, link(page, "View lineage"))
	holds(t, page.Locator("h1"), "model")
	list := page.Locator(`section[aria-labelledby="h-list"]`)
	data := list.Locator("tbody tr").Filter(playwright.LocatorFilterOptions{HasText: "study-samples"})
	visible(t, data.First())
	audit(t, page)
	noSidewaysScroll(t, page)
	click(t, page.Locator("svg a").Filter(playwright.LocatorFilterOptions{HasText: "study-samples"}).First())
	holds(t, page.Locator("h1"), "study-samples")
	visible(t, list.Locator("tbody tr").Filter(playwright.LocatorFilterOptions{HasText: "Model"}).First())
	audit(t, page)
}

// colleague is another principal of the project, who uses the API.
func colleague(t *testing.T, name string) *server {
	t.Helper()
	s := shared.server
	var account struct {
		ID string `json:"id"`
	}
	var key struct {
		Key string `json:"key"`
	}
	s.api(t, http.MethodPost, "/projects/"+auth.LocalProject.String()+"/service-accounts", map[string]any{"name": name, "role": "ProjectDev"}, &account)
	s.api(t, http.MethodPost, "/keys", map[string]any{"name": name, "user_id": account.ID, "project_id": auth.LocalProject}, &key)
	return &server{base: s.base, token: key.Key, client: s.client}
}

// storyModel registers a model, requires approval, and promotes it: a person cannot approve their own
// request, and approves that of a colleague.
func storyModel(t *testing.T, ids []string) {
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/artifacts/"+modelOf(t, ids[0]))
	fill(t, page.Locator("#register-name"), "study-net")
	fill(t, page.Locator("#register-version"), "one two")
	click(t, button(page, "Register"))
	visible(t, page.Locator(".error-summary"))
	hasValue(t, page.Locator("#register-version"), "one two")
	audit(t, page)
	fill(t, page.Locator("#register-version"), "1.0.0")
	click(t, button(page, "Register"))
	holds(t, page.Locator("h1"), "study-net")
	audit(t, page)
	click(t, page.GetByText("Change for this model"))
	require.NoError(t, page.GetByLabel("Require another person's approval").Check())
	click(t, button(page, "Save"))
	holds(t, page.Locator(`section[aria-labelledby="h-policy"]`), "approv")

	move := func(reason string) {
		_, err := page.Locator("#move-stage").SelectOption(playwright.SelectOptionValues{Values: &[]string{"production"}})
		require.NoError(t, err)
		fill(t, page.Locator("#move-reason"), reason)
		click(t, button(page, "Move"))
	}
	move("") // production needs a reason
	visible(t, page.Locator(".error-summary"))
	move("the best rate")
	request := page.GetByRole("region", playwright.PageGetByRoleOptions{Name: "Request:"})
	holds(t, request, "another person must decide")
	counts(t, button(page, "Approve"), 0)
	audit(t, page)
	click(t, button(page, "Withdraw"))
	counts(t, request, 0)

	colleague(t, "study-bot").api(t, http.MethodPost, "/model-registry/study-net/versions/1.0.0/stage", map[string]any{"stage": "production", "reason": "better on every writer"}, nil)
	visit(t, page, "/approvals")
	holds(t, page.Locator("main"), "Move study-net@1.0.0 to production?")
	audit(t, page)
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Review study-net@1.0.0"}))
	holds(t, request, "better on every writer")
	audit(t, page)
	fill(t, page.GetByLabel("Your reason"), "checked the errors")
	click(t, button(page, "Approve"))
	counts(t, request, 0)
	holds(t, page.Locator(".stages"), "Production")
	holds(t, page.Locator(`section[aria-labelledby="h-history"]`), "checked the errors")
	audit(t, page)
	noSidewaysScroll(t, page)
	visit(t, page, "/models?q=study-net")
	holds(t, page.Locator("main tbody tr"), "1.0.0")
	audit(t, page)
}

// storyVersions compares versions of a model that has none in production: the newest with the one before,
// and any two.
func storyVersions(t *testing.T, ids []string) {
	for i, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		shared.server.api(t, http.MethodPost, "/models", map[string]any{
			"name": "study-versions", "version": version, "artifact": modelOf(t, ids[i]), "metrics": map[string]any{"accuracy": 0.9 + 0.01*float64(i)}, "test_set": "study-samples@1",
		}, nil)
	}
	page := open(t, options{})
	visit(t, page, "/models/study-versions")
	comparison := page.Locator("#comparison")
	holds(t, comparison.Locator("h2"), "2.0.0 against 1.1.0")
	holds(t, comparison.Locator("tbody").First(), "better")
	holds(t, comparison, "rate")
	holds(t, comparison, "1 source is the same.")
	audit(t, page)
	_, err := page.Locator("#model-version").SelectOption(playwright.SelectOptionValues{Values: &[]string{"1.0.0"}})
	require.NoError(t, err)
	_, err = page.Locator("#model-against").SelectOption(playwright.SelectOptionValues{Values: &[]string{"2.0.0"}})
	require.NoError(t, err)
	click(t, comparison.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Compare"}))
	holds(t, comparison.Locator("h2"), "1.0.0 against 2.0.0")
	holds(t, comparison.Locator("tbody").First(), "worse")
	for _, o := range []options{{width: 390}, {dark: true}} {
		other := open(t, o)
		visit(t, other, page.URL())
		visible(t, other.Locator("#comparison"))
		audit(t, other)
		noSidewaysScroll(t, other)
	}
}
