package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// columnsOf waits until the address has these columns and the table shows them in this order.
func columnsOf(t *testing.T, page playwright.Page, want ...string) {
	t.Helper()
	escaped := strings.ReplaceAll(regexp.QuoteMeta(url.QueryEscape(strings.Join(want, ","))), "~", "(~|%7E)")
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile("columns="+escaped+"(&|$)")), page.URL())
	heads, err := page.Locator("[data-run-table] th[data-column]").EvaluateAll(`(all) => all.map((th) => th.dataset.entry).join()`)
	require.NoError(t, err)
	require.Equal(t, strings.Join(want, ","), heads)
}

// TestColumnsMoveStayAndTakeAWidth: columns are reordered, pinned and resized with the pointer, with
// the keyboard and without a script. The address and a saved view keep the layout.
func TestColumnsMoveStayAndTakeAWidth(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "columns")
	name := strings.Split(path, "/")[2]
	for i := range 3 {
		shared.server.launch(t, name, map[string]any{"data": "letters@3", "epochs": i + 1})
	}
	list := "/executions?where=" + url.QueryEscape("workflow = "+name) + "&columns="
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, list+"inputs.epochs,user,created,state,duration,version")
	head := func(path string) playwright.Locator { return page.Locator(`th[data-column="` + path + `"]`) }
	visible(t, head("inputs.epochs"))
	audit(t, page)

	require.NoError(t, head("user").Hover())
	click(t, page.GetByLabel("Move user left")) // by a link, in place
	columnsOf(t, page, "user", "inputs.epochs", "created", "state", "duration", "version")
	require.NoError(t, expect().Locator(page.GetByLabel("Move user right")).ToBeFocused())
	press(t, page, "Enter")
	columnsOf(t, page, "inputs.epochs", "user", "created", "state", "duration", "version")

	require.NoError(t, head("state").DragTo(head("inputs.epochs"), playwright.LocatorDragToOptions{TargetPosition: &playwright.Position{X: 4, Y: 8}, SourcePosition: &playwright.Position{X: 10, Y: 3}}))
	columnsOf(t, page, "state", "inputs.epochs", "user", "created", "duration", "version")

	handle := page.GetByRole("separator", playwright.PageGetByRoleOptions{Name: "Width of user"})
	box, err := handle.BoundingBox()
	require.NoError(t, err)
	before, err := head("user").BoundingBox()
	require.NoError(t, err)
	require.NoError(t, page.Mouse().Move(box.X+box.Width/2, box.Y+box.Height/2))
	require.NoError(t, page.Mouse().Down())
	require.NoError(t, page.Mouse().Move(box.X+box.Width/2+400-before.Width, box.Y+box.Height/2))
	require.NoError(t, page.Mouse().Up())
	columnsOf(t, page, "state", "inputs.epochs", "user~400", "created", "duration", "version")
	require.NoError(t, expect().Locator(handle).ToBeFocused())
	press(t, page, "ArrowRight", "ArrowRight")
	columnsOf(t, page, "state", "inputs.epochs", "user~432", "created", "duration", "version")
	width, err := head("user").Evaluate(`(th) => th.offsetWidth`, nil)
	require.NoError(t, err)
	require.GreaterOrEqual(t, number(width), 432.0)

	require.NoError(t, head("user").Hover())
	click(t, head("user").GetByLabel("Pin user"))
	columnsOf(t, page, "user~pin~432", "state", "inputs.epochs", "created", "duration", "version")
	require.NoError(t, page.SetViewportSize(1000, 800))
	stays, err := page.Evaluate(`async () => {
		const wrap = document.querySelector(".table-wrap");
		wrap.scrollLeft = wrap.scrollWidth;
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const lead = document.querySelector("thead .pin-lead").getBoundingClientRect(), pin = document.querySelector("thead .pin").getBoundingClientRect();
		return wrap.scrollLeft > 0 && Math.abs(pin.left - lead.right) < 2 && Math.abs(lead.left - wrap.getBoundingClientRect().left) < 2;
	}`)
	require.NoError(t, err)
	require.Equal(t, true, stays, "the pinned column stays beside the first one")
	audit(t, page)
	noSidewaysScroll(t, page)
	require.NoError(t, page.SetViewportSize(1280, 900))

	click(t, page.Locator("#column-choice > summary")) // the chooser, in place
	click(t, page.Locator("#column-choice").GetByLabel("Move created up"))
	columnsOf(t, page, "user~pin~432", "state", "created", "inputs.epochs", "duration", "version")
	visible(t, page.Locator("#column-choice").GetByLabel("Move created up"))
	fill(t, page.Locator(`[name="width:state"]`), "20")
	click(t, button(page, "Show these columns"))
	holds(t, page.Locator("#run-page"), "Enter pin, or a width from 64 to 960.")

	plain := open(t, options{noScript: true, width: 390})
	visit(t, plain, list+"user,state")
	click(t, plain.Locator("#column-choice > summary"))
	click(t, plain.Locator("#column-choice").GetByLabel("Move user down"))
	click(t, plain.Locator("#column-choice > summary"))
	click(t, plain.Locator("#column-choice").GetByLabel("Pin user"))
	click(t, plain.Locator("#column-choice > summary"))
	fill(t, plain.Locator(`[name="width:state"]`), "150")
	click(t, button(plain, "Show these columns"))
	columnsOf(t, plain, "user~pin", "state~150")
}

// TestALateAnswerReplacesNoLaterLayout: a second column moves before the answer to the first arrives.
func TestALateAnswerReplacesNoLaterLayout(t *testing.T) {
	t.Parallel()
	path := formWorkflow(t, "late.columns")
	name := strings.Split(path, "/")[2]
	shared.server.launch(t, name, map[string]any{"data": "letters@3", "epochs": 1})
	page := open(t, options{})
	visit(t, page, "/executions?where="+url.QueryEscape("workflow = "+name)+"&columns=user,state,created")
	visible(t, page.Locator(`th[data-column="user"]`))

	var once sync.Once
	held := make(chan playwright.Route, 1)
	answers := regexp.MustCompile(`/executions\?.*columns=`)
	require.NoError(t, page.Route(answers, func(r playwright.Route) {
		isFirst := false
		once.Do(func() { isFirst = true })
		if isFirst {
			held <- r
			return
		}
		_ = r.Continue()
	}))
	require.NoError(t, page.Locator(`th[data-column="user"]`).Hover())
	click(t, page.GetByLabel("Move user right"))
	first := <-held
	require.NoError(t, page.Locator(`th[data-column="created"]`).Hover())
	click(t, page.GetByLabel("Move created left"))
	columnsOf(t, page, "user", "created", "state")
	_, err := page.ExpectResponse(answers, func() error { return first.Continue() })
	require.NoError(t, err)
	_, err = page.Evaluate(`() => new Promise((done) => setTimeout(done, 300))`) // the page reads it
	require.NoError(t, err)
	columnsOf(t, page, "user", "created", "state")
}

// TestRowsAreSelected: all rows, the rows between two clicks, and a row with the keyboard.
func TestRowsAreSelected(t *testing.T) {
	t.Parallel()
	name := strings.Split(formWorkflow(t, "selection"), "/")[2]
	for i := range 4 {
		shared.server.launch(t, name, map[string]any{"data": "letters@3", "epochs": i + 1})
	}
	page := open(t, options{})
	visit(t, page, "/executions?where="+url.QueryEscape("workflow = "+name)+"&columns=inputs.epochs")
	boxes, selected := page.Locator(`[data-run-table] tbody input[name="id"]`), page.Locator(`[data-run-table] tbody input[name="id"]:checked`)
	counts(t, boxes, 4)
	all := page.GetByLabel("Select all rows")
	require.NoError(t, all.Check())
	counts(t, selected, 4)
	holds(t, page.Locator("[data-selected]"), "4 selected")
	audit(t, page)
	require.NoError(t, boxes.Nth(1).Uncheck())
	some, err := all.Evaluate(`(box) => box.indeterminate && !box.checked`, nil)
	require.NoError(t, err)
	require.Equal(t, true, some)
	require.NoError(t, all.Check())
	require.NoError(t, all.Uncheck())
	counts(t, selected, 0)

	click(t, boxes.Nth(0))
	require.NoError(t, boxes.Nth(2).Click(playwright.LocatorClickOptions{Modifiers: []playwright.KeyboardModifier{*playwright.KeyboardModifierShift}}))
	counts(t, selected, 3)
	require.NoError(t, page.Locator("[data-run-table] .cover").First().Focus())
	press(t, page, "x")
	counts(t, selected, 2)
	press(t, page, "j", "j", "j", "x")
	counts(t, selected, 3)
	require.NoError(t, expect().Locator(boxes.Nth(3)).ToBeChecked())
}
