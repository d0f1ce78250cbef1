package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// segment is a choice of radio buttons that look like buttons.
func segment(page playwright.Page, name, value string) playwright.Locator {
	return page.Locator(`label:has(> [name="schedule.` + name + `"][value="` + value + `"])`)
}

// TestASchedule: from the page of a workflow to a schedule, its list, the calendar and a backfill.
func TestASchedule(t *testing.T) {
	t.Parallel()
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/workflows/digits.train/launch")
	fill(t, input(page, "epochs"), "1")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Schedule", Exact: new(true)}))
	holds(t, page.Locator("h1"), "New schedule")
	hasValue(t, input(page, "epochs"), "1")
	control := func(name string) playwright.Locator { return page.Locator("#schedule-" + name) }
	preview := page.Locator("#schedule-preview")

	click(t, segment(page, "repeats", "weekly"))
	holds(t, preview, "Monday to Friday at 02:00")
	click(t, segment(page, "repeats", "custom"))
	hasValue(t, control("cron"), "0 2 * * MON-FRI")
	fill(t, control("cron"), "30 2 * * SUNL")
	fill(t, control("timezone"), "Berlin")
	click(t, page.GetByText("Days and times without runs"))
	fill(t, control("exclude"), "all night")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Save schedule"}))
	holds(t, page.Locator(".error-summary"), "Unknown time zone")
	holds(t, page.Locator(".error-summary"), "Enter a name")
	holds(t, page.Locator("#schedule-exclude-error"), "is not a window")
	holds(t, page.Locator("#schedule-timezone-error"), "Unknown time zone")
	hasValue(t, control("exclude"), "all night")
	hasValue(t, control("timezone"), "Berlin")
	hasValue(t, control("cron"), "30 2 * * SUNL")
	hasValue(t, input(page, "epochs"), "1")
	audit(t, page)
	fill(t, control("exclude"), "22:00-23:00 MON-FRI")

	name := "story " + time.Now().Format("150405.000")
	fill(t, control("name"), name)
	fill(t, control("timezone"), "Europe/Berlin")
	holds(t, preview, "At 02:30 on the last Sunday of the month")
	holds(t, preview, "UTC")
	click(t, segment(page, "repeats", "daily"))
	holds(t, preview, "Every day at 02:00")
	require.NoError(t, expect().Locator(preview.Locator(".fires > li:has(.at)")).ToHaveCount(10))
	holds(t, page.Locator("#schedule-status"), "Ready to save")
	audit(t, page)
	noSidewaysScroll(t, page)
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Save paused"}))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile("/schedules/[0-9a-f-]+$")))
	holds(t, page.Locator("h1"), name)

	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Edit"}))
	hasValue(t, control("name"), name)
	hasValue(t, control("exclude"), "22:00-23:00 MON, TUE, WED, THU, FRI")
	hasValue(t, input(page, "epochs"), "1")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Save changes"}))
	holds(t, page.Locator("h1"), name)

	visit(t, page, "/schedules?"+url.Values{"q": {name}}.Encode())
	toggle := page.GetByRole("switch", playwright.PageGetByRoleOptions{Name: "Schedule " + name})
	require.NoError(t, expect().Locator(toggle).ToHaveAttribute("aria-checked", "false"))
	click(t, toggle)
	require.NoError(t, expect().Locator(toggle).ToHaveAttribute("aria-checked", "true"))
	audit(t, page)
	require.NoError(t, page.GetByLabel("Select "+name).Check())
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Pause", Exact: new(true)}))
	require.NoError(t, expect().Locator(toggle).ToHaveAttribute("aria-checked", "false"))
	visit(t, page, "/schedules/calendar")
	holds(t, page.Locator("h1"), "Calendar")
	audit(t, page)
	noSidewaysScroll(t, page)

	backfillOf(t, page, name)
}

// backfillOf launches the schedule with a name for yesterday.
func backfillOf(t *testing.T, page playwright.Page, name string) {
	t.Helper()
	visit(t, page, "/schedules?"+url.Values{"q": {name}}.Encode())
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: name}))
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Backfill"}))
	yesterday := time.Now().AddDate(0, 0, -2).Format(time.DateOnly)
	fill(t, page.Locator("#backfill-from"), yesterday)
	fill(t, page.Locator("#backfill-until"), "2020-01-01")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Check what would run"}))
	holds(t, page.Locator(".error-summary"), "The end must be after the start")
	hasValue(t, page.Locator("#backfill-from"), yesterday)
	fill(t, page.Locator("#backfill-until"), yesterday)
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Check what would run"}))
	holds(t, page.Locator("#dry-run"), "Would run")
	audit(t, page)
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Start 1 execution"}))
	holds(t, page.Locator("h1"), "Backfill of "+name)
	require.NoError(t, expect().Locator(page.Locator(".page-title .status")).ToContainText("Finished", playwright.LocatorAssertionsToContainTextOptions{Timeout: new(120_000.0)}))
	audit(t, page)
	noSidewaysScroll(t, page)
	click(t, page.Locator(`.slot[data-state="SUCCEEDED"] a`))
	require.NoError(t, expect().Page(page).ToHaveURL(regexp.MustCompile("/executions/[0-9a-f-]+$")))
}

// TestABackfillIsPausedAndCancelled: a dry run, its start, its progress, a pause and the end of a backfill
// whose executions wait.
func TestABackfillIsPausedAndCancelled(t *testing.T) {
	t.Parallel()
	name := "waits" + strconv.FormatInt(time.Now().UnixNano(), 36)
	code, body := shared.server.call(t, http.MethodPost, "/workflows", rawJSON(fmt.Sprintf(`{"name": %q, "version": "1.0.0", "operators": [{"name": "check", "type": "approval"}],
		"schedules": [{"name": "daily", "cron": "0 2 * * *", "paused": true}]}`, name)))
	require.Less(t, code, 300, string(body))
	page := open(t, options{})
	visit(t, page, "/schedules?"+url.Values{"q": {name}}.Encode())
	holds(t, page.Locator(".schedule-table"), "from the definition")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: name + "/daily"}))
	holds(t, page.Locator(".notice", playwright.PageLocatorOptions{HasText: "declares this schedule"}), "The definition of "+name+" declares this schedule.")
	require.NoError(t, expect().Locator(page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Edit", Exact: new(true)})).ToHaveCount(0))
	audit(t, page)
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Backfill", Exact: new(true)}))
	fill(t, page.Locator("#backfill-from"), "2026-01-01")
	fill(t, page.Locator("#backfill-until"), "2026-01-05")
	fill(t, page.Locator("#backfill-parallelism"), "2")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Check what would run"}))
	holds(t, page.Locator("#dry-run"), "January 2026")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Start 5 executions"}))
	counts := page.Locator(".slot-counts")
	holds(t, counts, "2 running")
	holds(t, counts, "3 pending")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Pause"}))
	status := page.Locator(".page-title .status")
	holds(t, status, "Paused")
	audit(t, page)
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Resume"}))
	holds(t, status, "Running")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Cancel…"}))
	dialog := page.GetByRole("dialog")
	holds(t, dialog, "Cancel the backfill?")
	audit(t, page)
	require.NoError(t, dialog.GetByLabel("Cancel them").Check())
	click(t, dialog.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Cancel backfill"}))
	holds(t, status, "Cancelled")
	holds(t, counts, "5 cancelled")
	visit(t, page, "/backfills")
	holds(t, page.Locator("table"), name+"/daily")
	audit(t, page)
}

// TestAScheduleWithoutScripts: the form works at the width of a phone, and a refused value stays.
func TestAScheduleWithoutScripts(t *testing.T) {
	t.Parallel()
	page := open(t, options{noScript: true, width: 390, tolerates: []string{"422"}})
	visit(t, page, "/schedules/new")
	click(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "digits.train"}))
	click(t, segment(page, "kind", "every"))
	fill(t, page.Locator("#schedule-every"), "soon")
	click(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Save paused"}))
	holds(t, page.Locator(".error-summary"), "Enter an interval such as 6h or 90m.")
	hasValue(t, page.Locator("#schedule-every"), "soon")
	noSidewaysScroll(t, page)
	visit(t, page, "/schedules/calendar")
	noSidewaysScroll(t, page)
	visit(t, page, "/backfills")
	noSidewaysScroll(t, page)
}
