package handlers_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views"
)

func TestTheTableOfExecutions(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two := b.launchTyped(t, 1), b.launchTyped(t, 2)
	page := func(query string, status int) string {
		t.Helper()
		res := b.member.get(t, "/executions?"+query)
		require.Equal(t, status, res.status, res.body)
		return res.body
	}
	found := page("where="+url.QueryEscape("epochs >= 2")+"&columns=inputs.epochs,tags&sort=-inputs.epochs", http.StatusOK)
	require.Contains(t, found, "1 execution<")
	require.Contains(t, found, "/executions/"+two)
	require.NotContains(t, found, "/executions/"+one)
	require.Contains(t, found, "epochs reads as inputs.epochs")
	require.Contains(t, found, `aria-sort="descending"`)
	require.Contains(t, found, "columns=tags%2Cinputs.epochs", "a column can be moved")
	require.Contains(t, found, "/api/v1/executions/export?")
	require.Contains(t, found, `hx-get="/executions/facets?`, "facets are read when they are opened")
	facets := b.member.get(t, "/executions/facets?where="+url.QueryEscape("epochs >= 2")+"&columns=inputs.epochs,name").body
	require.Contains(t, facets, url.QueryEscape("epochs >= 2 and state:pending"), "facets add conditions")
	require.Contains(t, facets, `aria-label="Distribution of inputs.epochs: 1 execution from 2 to 2`)
	require.Contains(t, page("facets=1&columns=inputs.epochs", http.StatusOK), `name="range" value="inputs.epochs"`, "open facets stay open")
	ranged := b.member.get(t, "/executions?columns=inputs.epochs&range=inputs.epochs&from=1&to=1.5&where=name%3Ax").header.Get("Location")
	require.Equal(t, "/executions?columns=inputs.epochs&where="+url.QueryEscape("name:x and inputs.epochs >= 1 and inputs.epochs <= 1.5"), ranged)
	require.Contains(t, found, `hx-sse:connect="/executions/stream?`)

	wrong := page("where="+url.QueryEscape("epoch >= 2"), http.StatusUnprocessableEntity)
	require.Contains(t, wrong, "<mark>epoch</mark>")
	require.Contains(t, wrong, "Did you mean epochs?")
	require.Contains(t, page("sort=-epochs&columns=inputs.epochs", http.StatusOK), `aria-sort="descending"`, "a short name marks its column")
	require.Contains(t, page("where=name:none", http.StatusOK), "No execution matches")
	require.Contains(t, page("state=PENDING&where=epochs%3D1", http.StatusOK), "/executions/"+one, "filters and queries combine")
	refused := page("where=epochs%3D1&state=waiting", http.StatusUnprocessableEntity)
	require.Contains(t, refused, "cannot select executions that wait")
	require.NotContains(t, refused, "/executions/"+one, "a command would run for executions of other states")
	require.NotContains(t, page("where=epochs%3D1&state=approval", http.StatusOK), "/executions/"+one)
	launched, err := b.executions.Get(b.ctx, uuid.MustParse(one))
	require.NoError(t, err)
	require.Contains(t, page("user="+launched.SubmittedBy.ID.String()+"&where=epochs%3D1", http.StatusOK), "/executions/"+one, "the ID of a person")
	require.Contains(t, page("", http.StatusOK), `name="where"`, "the list has the query bar")

	res := b.member.get(t, "/executions?column=name&column=inputs.epochs&where=epochs%3D1")
	require.Equal(t, "/executions?columns=name%2Cinputs.epochs&where=epochs%3D1", res.header.Get("Location"), "the form of columns ends at the table")
	require.Contains(t, page("columns=name%2Cinputs.epochs", http.StatusOK), `value="inputs.epochs" checked`)
	res = b.member.get(t, "/executions?column=name~pin&column=inputs.epochs~90&width:name=120&width:inputs.epochs=&width:gone=5")
	require.Equal(t, "/executions?columns=name~pin~120%2Cinputs.epochs", res.header.Get("Location"), "the form of columns sets widths")
	laid := page("columns=inputs.epochs~240,name~pin", http.StatusOK)
	require.Contains(t, laid, `<col width="240">`)
	require.Contains(t, laid, `href="/executions?columns=name%2Cinputs.epochs~240"`, "a pinned column comes first and can be released")
	require.Contains(t, page("columns=name~wide", http.StatusUnprocessableEntity), "is not the layout of a column")
	require.Contains(t, page("columns=name~pin,user~pin,state~pin,tags~pin,created~pin", http.StatusUnprocessableEntity), "at most 4 pinned columns")
	require.Contains(t, page("where="+url.QueryEscape("user = "+launched.SubmittedBy.Name), http.StatusOK), "/executions/"+one)

	preview := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", url.Values{"action": {"tag"}, "tag": {"baseline"}, "id": {one, two}, "back": {"/executions?where=tag%3Abaseline"}}.Encode())
	require.Equal(t, http.StatusOK, preview.status)
	require.Contains(t, preview.body, "Nothing has changed yet")
	require.Contains(t, page("where=tag:baseline", http.StatusOK), "No execution matches")
	ran := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", url.Values{"action": {"tag"}, "tag": {"baseline"}, "id": {one, two}, "step": {"apply"}, "key": {uuid.NewString()}, "back": {"//elsewhere"}}.Encode())
	require.Equal(t, http.StatusSeeOther, ran.status)
	done := b.member.get(t, ran.header.Get("Location"))
	require.Contains(t, done.body, "Tagged 2 of 2 executions")
	require.NotContains(t, done.body, "elsewhere")
	require.Equal(t, 2, strings.Count(page("where=tag:baseline", http.StatusOK), `name="id"`))
	both := url.Values{"action": {"tag"}, "tag": {"best, candidate"}, "id": {one}}
	require.Contains(t, b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", both.Encode()).body, "Adds the tags “best” and “candidate”.")
	both.Set("step", "apply")
	both.Set("key", uuid.NewString())
	require.Equal(t, http.StatusSeeOther, b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", both.Encode()).status)
	require.Contains(t, page("where=tag:candidate", http.StatusOK), "/executions/"+one)
	down := setup(t)
	require.Equal(t, http.StatusServiceUnavailable, down.member.get(t, "/executions?where=lr%3D1").status, "the page says that ClickHouse does not respond")
	require.Equal(t, http.StatusOK, down.member.get(t, "/executions").status)
	empty := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", url.Values{"action": {"tag"}, "id": {one}}.Encode())
	require.Equal(t, http.StatusUnprocessableEntity, empty.status)

	compared := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", url.Values{"action": {"compare"}, "id": {one, two}}.Encode())
	require.Equal(t, http.StatusSeeOther, compared.status)
	require.Equal(t, views.CompareURL(one, two), compared.header.Get("Location"))
	many := slices.Repeat([]string{one}, 51)
	tooMany := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", url.Values{"action": {"compare"}, "id": many}.Encode())
	require.Equal(t, http.StatusUnprocessableEntity, tooMany.status)
	require.Contains(t, tooMany.body, "Select at most 50 executions to compare. 51 are selected.")
}

// TestExecutionsOfAPerson: a name means users and not the name that an execution shows, and the ID
// of a user works everywhere.
func TestExecutionsOfAPerson(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one := b.launchTyped(t, 1)
	launched, err := b.executions.Get(b.ctx, uuid.MustParse(one))
	require.NoError(t, err)
	person := launched.SubmittedBy.ID.String()
	_, err = b.pool.Exec(b.ctx, "UPDATE users SET name = 'Mia Quist' WHERE id = $1", person)
	require.NoError(t, err)
	for query, found := range map[string]bool{
		"user=Mia+Quist": true, "user=Mia+Quist&where=epochs%3D1": true, "user=" + person + "&where=epochs%3D1": true,
		"where=" + url.QueryEscape("user = "+person): true, "where=" + url.QueryEscape("user != "+person): false,
		"where=" + url.QueryEscape("user = "+uuid.NewString()): false, "user=mia": false, "user=mia&where=epochs%3D1": false,
	} {
		list := b.member.get(t, "/executions?"+query)
		require.Equal(t, http.StatusOK, list.status, query)
		require.Equal(t, found, strings.Contains(list.body, `href="/executions/`+one), query)
		api := b.member.get(t, "/api/v1/executions?"+query).object(t, http.StatusOK)
		require.Equal(t, found, len(idsOf(api)) == 1, query)
	}
}

// TestBulkResumeRunsOnce: a second press of the button of a preview, and a reload of its results,
// show the executions of the first, and launch nothing.
func TestBulkResumeRunsOnce(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	id := b.launchTyped(t, 1)
	require.NoError(t, b.executions.Commands.Cancel(b.ctx, uuid.MustParse(id), ""))
	b.start(t)
	b.until(t, uuid.MustParse(id), func(e query.Execution) bool { return e.Status.Ended() })
	send := func(form url.Values) string {
		res := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", form.Encode())
		if to := res.header.Get("Location"); to != "" {
			require.Equal(t, http.StatusSeeOther, res.status)
			res = b.member.get(t, to)
		}
		require.Equal(t, http.StatusOK, res.status, res.body)
		return res.body
	}
	form := url.Values{"action": {"resume"}, "id": {id}, "step": {"apply"}}
	preview := send(form)
	require.Contains(t, preview, "Nothing has changed yet", "a form without the key of a preview")
	form.Set("key", regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(preview)[1])
	created := regexp.MustCompile(`href="(/executions/[0-9a-f-]+)">Open the new`)
	first, second := created.FindStringSubmatch(send(form)), created.FindStringSubmatch(send(form))
	require.NotEmpty(t, first)
	require.Equal(t, first, second)
	all, err := b.executions.List(b.ctx, query.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, all.Executions, 2)
}

// TestBulkResultsCanBeReloaded: the results of a command are a page of their own, so that a reload
// does not send the command again, and shows the same results.
func TestBulkResultsCanBeReloaded(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	running, over := b.launchTyped(t, 1), b.launchTyped(t, 2)
	require.NoError(t, b.executions.Commands.Cancel(b.ctx, uuid.MustParse(over), ""))
	held := b.launchTyped(t, 3)
	require.NoError(t, b.executions.Commands.Pause(b.ctx, uuid.MustParse(held), ""))
	b.start(t)
	b.until(t, uuid.MustParse(over), ended)
	b.until(t, uuid.MustParse(running), ended)
	form := url.Values{"action": {"cancel"}, "id": {held, running, uuid.NewString()}, "step": {"apply"}, "key": {uuid.NewString()}, "back": {"/executions?state=RUNNING"}}
	res := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", form.Encode())
	require.Equal(t, http.StatusSeeOther, res.status, res.body)
	b.until(t, uuid.MustParse(held), ended)
	for range 2 {
		got := b.member.get(t, res.header.Get("Location"))
		got.says(t, http.StatusOK, "Cancelled 1 of 3 executions", "Its running nodes are stopped", "It has ended.", "There is no such execution.", "/executions?state=RUNNING")
	}
	got := b.member.get(t, "/executions/bulk?action=cancel&id="+running)
	got.says(t, http.StatusOK, "Cancelled 0 of 1 execution")
	require.Equal(t, http.StatusUnprocessableEntity, b.member.get(t, "/executions/bulk?action=cancel").status)
}

// TestBulkDelete: a preview names what cannot be deleted; the results say what was.
func TestBulkDelete(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	over := b.launchTyped(t, 1)
	require.NoError(t, b.executions.Commands.Cancel(b.ctx, uuid.MustParse(over), ""))
	held := b.launchTyped(t, 2)
	require.NoError(t, b.executions.Commands.Pause(b.ctx, uuid.MustParse(held), ""))
	b.start(t)
	b.until(t, uuid.MustParse(over), ended)
	form := url.Values{"action": {"delete"}, "id": {held, over}, "back": {"/executions"}}
	b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", form.Encode()).says(t, http.StatusOK,
		"Delete 2 executions", "It has not ended. Cancel it first.", "Delete 1 execution", "artifacts that nothing else uses")
	form.Set("step", "apply")
	form.Set("key", uuid.NewString())
	res := b.member.send(t, "POST", "/executions/bulk", "application/x-www-form-urlencoded", form.Encode())
	require.Equal(t, http.StatusSeeOther, res.status, res.body)
	b.member.get(t, res.header.Get("Location")).says(t, http.StatusOK, "Deleted 1 of 2 executions", "It has not ended. Cancel it first.")
}

// TestTheQueryBarCompletes: names with their types, values of the project, and the place where the
// piece begins in the units of scripts.
func TestTheQueryBarCompletes(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	b.launchTyped(t, 1)
	b.launchTyped(t, 2)
	suggest := func(before string) string {
		res := b.member.get(t, "/executions/complete?before="+url.QueryEscape(before))
		require.Equal(t, http.StatusOK, res.status, res.body)
		return res.body
	}
	found := suggest("name = \"🐘\" and epo")
	require.Contains(t, found, `data-text="epochs " data-from="16"`)
	require.Contains(t, found, `<mark class="hit">epo</mark>chs`)
	require.Contains(t, found, "Input · 1 to 2")
	require.Contains(t, found, "2 executions")
	require.Contains(t, suggest("workflow:typ"), `data-text="typed.train "`)
	require.Contains(t, b.member.get(t, "/executions").body, `data-complete="/executions/complete"`)
	mistaken := b.member.get(t, "/executions?where="+url.QueryEscape("name = \"🐘\" and epoch > 1"))
	require.Contains(t, mistaken.body, `data-mistake="16 21"`, "scripts select the mistake")

	api := b.member.get(t, "/api/v1/executions/complete?before="+url.QueryEscape("name = \"🐘\" and epo")).object(t, http.StatusOK)
	require.Equal(t, "15", fmt.Sprint(api["from"]))
	require.Equal(t, "map[description:1 to 2 executions:2 kind:name label:epochs path:inputs.epochs text:epochs  type:number]", fmt.Sprint(api["suggestions"].([]any)[0]))
	down := setup(t)
	require.Contains(t, down.member.get(t, "/executions/complete?before=epo").body, "ClickHouse is not responding")
}

// TestSavedViews: a table is saved, opened by its link, changed, reverted and deleted; the default
// of the project opens first.
func TestSavedViews(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two := b.launchTyped(t, 1), b.launchTyped(t, 2)
	send := func(c *caller, path string, form url.Values) reply {
		return c.send(t, "POST", path, "application/x-www-form-urlencoded", form.Encode())
	}
	saved := send(b.member, "/executions/views", url.Values{"name": {"Long runs"}, "sharing": {"project"}, "back": {"/executions?where=epochs+%3E%3D+2&sort=-inputs.epochs&columns=inputs.epochs"}})
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	link := saved.header.Get("Location")
	opened := b.member.get(t, link).body
	require.Contains(t, opened, two)
	require.NotContains(t, opened, one)
	require.Contains(t, opened, `value="epochs &gt;= 2"`)
	require.NotContains(t, opened, "This view has unsaved changes")
	changed := b.member.get(t, link+"&edit=1&where=epochs+%3E%3D+1").body
	require.Contains(t, changed, one)
	require.Contains(t, changed, "This view has unsaved changes")
	require.Contains(t, b.member.get(t, link+"&edit=1").body, one, "an address without conditions has none")

	again := send(b.member, "/executions/views", url.Values{"name": {"long RUNS"}, "sharing": {"project"}, "back": {"/executions?where=epochs+%3E%3D+2"}})
	require.Equal(t, http.StatusUnprocessableEntity, again.status)
	require.Contains(t, again.body, "This name is already in use")
	require.Contains(t, again.body, `value="long RUNS"`)

	id := strings.TrimPrefix(link, "/executions?view=")
	based := regexp.MustCompile(`name="based" value="([^"]+)"`).FindStringSubmatch(changed)[1]
	update := url.Values{"table": {"1"}, "based": {based}, "back": {"/executions?view=" + id + "&edit=1&where=epochs+%3E%3D+1"}}
	require.Equal(t, http.StatusSeeOther, send(b.member, "/executions/views/"+id, update).status)
	require.Contains(t, b.member.get(t, link).body, one)
	stale := send(b.member, "/executions/views/"+id, update)
	require.Equal(t, http.StatusConflict, stale.status, "based on an older state")
	require.Contains(t, stale.body, `value="Long runs"`, "the form keeps the name")
	require.Contains(t, stale.body, `<option value="project" selected>`)

	require.Equal(t, http.StatusSeeOther, send(b.admin, "/executions/views/"+id+"/default", url.Values{"on": {"1"}}).status)
	require.Equal(t, link, b.member.get(t, "/executions").header.Get("Location"))
	require.Equal(t, http.StatusOK, b.member.get(t, "/executions?view=all").status)
	api := b.member.get(t, "/api/v1/executions?view=long+runs&where=epochs%3D2").object(t, http.StatusOK)
	require.Equal(t, []string{two}, idsOf(api), "conditions are added to those of the view")
	require.Equal(t, http.StatusSeeOther, send(b.member, "/executions/views/"+id+"/delete", nil).status)
	require.Equal(t, http.StatusNotFound, b.member.get(t, link).status)
	require.Equal(t, http.StatusOK, b.member.get(t, "/executions").status)
}

// TestAViewOfAnotherProject: everything on the page of a view belongs to the project of the view, also
// its suggestions, exports and commands.
func TestAViewOfAnotherProject(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	pat, here, there := inTwoProjects(t, b)
	send := func(path string, form url.Values) reply {
		return pat.send(t, "POST", path, "application/x-www-form-urlencoded", form.Encode())
	}
	send("/preferences/project", url.Values{"project": {there["{project}"]}})
	link := send("/executions/views", url.Values{"name": {"Theirs"}, "sharing": {"project"}, "back": {"/executions?where=priority+%3E%3D+0"}}).header.Get("Location")
	send("/preferences/project", url.Values{"project": {here["{project}"]}})
	page := pat.get(t, link).body
	require.Contains(t, page, there["{execution}"])
	view := strings.TrimPrefix(link, "/executions?")
	require.Contains(t, page, `data-complete="/executions/complete?`+view+`"`)
	suggestions := func(query string) string { return pat.get(t, "/executions/complete?"+query+"before=workflow%3A").body }
	require.Contains(t, suggestions(view+"&"), there["{flow}"])
	require.NotContains(t, suggestions(""), there["{flow}"])

	export := html.UnescapeString(regexp.MustCompile(`href="(/api/v1/executions/export[^"]*format=csv[^"]*)"`).FindStringSubmatch(page)[1])
	require.Contains(t, export, "project="+there["{project}"])
	require.Equal(t, http.StatusOK, pat.get(t, export).status)
	require.NotContains(t, pat.get(t, "/executions?where=priority+%3E%3D+0").body, "project="+here["{project}"])

	form := url.Values{"action": {"tag"}, "tag": {"theirs"}, "id": {there["{execution}"]}, "back": {link}}
	send("/executions/bulk", form).says(t, http.StatusOK, "Tag 1 execution")
	form.Set("step", "apply")
	form.Set("key", uuid.NewString())
	ran := send("/executions/bulk", form)
	require.Equal(t, http.StatusSeeOther, ran.status, ran.body)
	pat.get(t, ran.header.Get("Location")).says(t, http.StatusOK, "Tagged 1 of 1 execution")
	form.Set("back", "/executions")
	form.Del("step")
	send("/executions/bulk", form).says(t, http.StatusOK, "There is no such execution.")
}

// TestGroupsOfTheTable: groups have aggregates, open with their executions, and lead to the table of
// these alone.
func TestGroupsOfTheTable(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two, three := b.launchTyped(t, 1), b.launchTyped(t, 2), b.launchTyped(t, 2)
	page := func(query string, status int) string {
		res := b.member.get(t, "/executions?"+query)
		require.Equal(t, status, res.status, res.body)
		return res.body
	}
	closed := page("group=epochs&columns=inputs.epochs,priority", http.StatusOK)
	require.Contains(t, closed, "3 executions")
	require.Regexp(t, `(?s)class="group-row".*>2<.*2 executions.*class="group-row".*>1<.*1 execution`, closed)
	require.NotContains(t, closed, "/executions/"+two)
	require.Contains(t, closed, "open=n2#group-1")
	require.Contains(t, closed, "where=inputs.epochs+%3D+2")
	open := page("group=epochs&columns=inputs.epochs&open=n2", http.StatusOK)
	require.Contains(t, open, "/executions/"+two)
	require.Contains(t, open, "/executions/"+three)
	require.NotContains(t, open, "/executions/"+one)
	require.Contains(t, page("group=created", http.StatusUnprocessableEntity), "cannot be grouped by created")
	require.Contains(t, page("group=state&where=name%3Anone", http.StatusOK), "No execution matches")

	api := b.member.get(t, "/api/v1/executions/groups?group=epochs&columns=priority&where=epochs+%3E+1").object(t, http.StatusOK)
	require.Equal(t, "inputs.epochs", api["group"])
	require.Len(t, api["groups"], 1)
	group := api["groups"].([]any)[0].(map[string]any)
	require.Equal(t, "2 2 inputs.epochs = 2", fmt.Sprint(group["value"], " ", group["executions"], " ", group["where"]))
	require.Equal(t, "2", fmt.Sprint(group["columns"].(map[string]any)["priority"].(map[string]any)["count"]))
	b.member.get(t, "/api/v1/executions/groups?group=nothing").problem(t, http.StatusUnprocessableEntity)
	b.member.get(t, "/api/v1/executions/groups").problem(t, http.StatusUnprocessableEntity)
}

// TestTheGridOfAWorkflow: nodes over executions with states, links, and names for the stream; pages
// of executions; the same by the API.
func TestTheGridOfAWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, typedDocument)
	one, two := b.launchTyped(t, 1), b.launchTyped(t, 2)
	_, err := b.pool.Exec(b.ctx, `UPDATE nodes SET state = 'SUCCEEDED', attempt = 1, started_at = now() - interval '150 seconds', finished_at = now() WHERE execution_id = $1`, one)
	require.NoError(t, err)
	page := b.member.get(t, "/workflows/typed.train/grid")
	require.Equal(t, http.StatusOK, page.status, page.body)
	require.Regexp(t, `(?s)href="/executions/`+one+`".*href="/executions/`+two+`"`, page.body, "the newest is at the right")
	require.Regexp(t, `(?s)id="n-`+one+`-[0-9a-z]+" data-state="SUCCEEDED" href="/executions/`+one+`/nodes/[^"]+".*2m30`, page.body)
	require.Contains(t, page.body, `data-state="PENDING"`)
	require.Contains(t, page.body, `hx-sse:connect="/workflows/typed.train/grid/stream?top=`+two)
	require.Contains(t, b.member.get(t, "/workflows/typed.train").body, `href="/workflows/typed.train/grid"`)
	require.Contains(t, b.member.get(t, "/workflows/typed.train/grid?state=FAILED").body, "No executions")
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/workflows/absent/grid").status)
	require.Equal(t, http.StatusUnprocessableEntity, b.member.get(t, "/workflows/typed.train/grid?first=-1").status)

	grid := b.member.get(t, "/api/v1/workflows/typed.train/grid?limit=1").object(t, http.StatusOK)
	require.Equal(t, two, grid["executions"].([]any)[0].(map[string]any)["execution_id"])
	rest := b.member.get(t, "/api/v1/workflows/typed.train/grid?limit=1&page="+grid["next_page"].(string)).object(t, http.StatusOK)
	node := rest["nodes"].([]any)[0].(map[string]any)
	require.Equal(t, "150", fmt.Sprint(node["median_seconds"]))
	require.Equal(t, "map[seconds:150 state:SUCCEEDED]", fmt.Sprint(node["executions"].([]any)[0]))
	require.Empty(t, b.member.get(t, "/api/v1/workflows/typed.train/grid?first=1").object(t, http.StatusOK)["nodes"])
}
