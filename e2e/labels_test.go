package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// editing opens the editor of a label in an element.
func editing(t *testing.T, page playwright.Page, in playwright.Locator, label string) playwright.Locator {
	t.Helper()
	click(t, in.Locator(`[data-label="`+label+`"]`))
	editor := page.Locator(".label-editor")
	visible(t, editor)
	return editor
}

// TestLabelsOfAnExecution: the name, the tags and the note of an execution are edited where its page shows
// them, or in a form without scripts.
func TestLabelsOfAnExecution(t *testing.T) {
	t.Parallel()
	s := shared.server
	path := formWorkflow(t, "labels")
	id := s.launch(t, strings.Split(path, "/")[2], map[string]any{"data": "letters@3"})
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/executions/"+id)
	head, editor := page.Locator("#execution-head"), page.Locator(".label-editor")
	editing(t, page, head, "name")
	require.NoError(t, expect().Locator(editor.Locator(`[name="name"]`)).ToBeFocused())
	audit(t, page)
	require.NoError(t, page.Keyboard().Type("first of the day"))
	press(t, page, "Enter")
	holds(t, page.Locator("h1"), "first of the day")
	counts(t, editor, 0)
	require.NoError(t, expect().Locator(head.Locator(`[data-label="name"]`)).ToBeFocused())
	require.NoError(t, expect().Page(page).ToHaveTitle(regexp.MustCompile("first of the day")))

	editing(t, page, head, "tags")
	fill(t, editor.Locator(`[name="tags"]`), "baseline, "+strings.Repeat("x", 65))
	press(t, page, "Enter")
	holds(t, editor, "A tag can have at most 64 characters.")
	audit(t, page)
	fill(t, editor.Locator(`[name="tags"]`), "baseline, candidate")
	click(t, editor.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Save"}))
	holds(t, page.Locator(".tag-list"), "candidate")

	editing(t, page, head, "note")
	require.NoError(t, page.Keyboard().Type("The default values"))
	press(t, page, "Enter")
	require.NoError(t, page.Keyboard().Type("of the form"))
	press(t, page, "Control+Enter")
	holds(t, page.Locator(".execution-note"), "The default values\nof the form")
	editing(t, page, head, "note")
	fill(t, editor.Locator("textarea"), "dropped")
	press(t, page, "Escape")
	counts(t, editor, 0)
	holds(t, page.Locator(".execution-note"), "The default values")

	plain := open(t, options{noScript: true, width: 390})
	visit(t, plain, "/executions/"+id)
	click(t, plain.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Edit the tags of"}))
	fill(t, plain.Locator("#label-tags"), "candidate")
	click(t, plain.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Save"}))
	require.NoError(t, expect().Locator(plain.Locator(".tag-list")).Not().ToContainText("baseline"))
	noSidewaysScroll(t, plain)
}

// TestRenameInTheList: the list of executions offers to rename its rows, with the pointer, with the keyboard
// and on a phone.
func TestRenameInTheList(t *testing.T) {
	t.Parallel()
	name := strings.Split(formWorkflow(t, "renamed"), "/")[2]
	for i := range 2 {
		shared.server.launch(t, name, map[string]any{"data": "letters@3", "epochs": i + 1})
	}
	page := open(t, options{})
	visit(t, page, "/executions?workflow="+name)
	rows, editor := page.Locator("#execution-rows tr"), page.Locator(".label-editor")
	counts(t, rows, 2)
	before, err := rows.First().BoundingBox()
	require.NoError(t, err)
	require.NoError(t, rows.First().Locator(".cover").Focus())
	press(t, page, "r")
	visible(t, editor)
	audit(t, page)
	require.NoError(t, page.Keyboard().Type("two epochs"))
	press(t, page, "Enter")
	holds(t, rows.First().Locator(".cover"), "two epochs")
	require.NoError(t, expect().Locator(rows.First().Locator(`[data-label="name"]`)).ToBeFocused())
	after, err := rows.First().BoundingBox()
	require.NoError(t, err)
	require.InDelta(t, before.Height, after.Height, 1, "the row does not grow")

	require.NoError(t, rows.Nth(1).Hover())
	editing(t, page, rows.Nth(1), "name")
	require.NoError(t, page.Keyboard().Type("one epoch"))
	press(t, page, "Enter")
	holds(t, rows.Nth(1).Locator(".cover"), "one epoch")

	phone := open(t, options{width: 390, dark: true})
	visit(t, phone, page.URL())
	editing(t, phone, phone.Locator("#execution-rows tr").First(), "name")
	audit(t, phone)
	noSidewaysScroll(t, phone)
}

// TestLabelsInTheRunTable: names, tags and notes are edited in the cells of the table: with the keyboard,
// with the pointer, and by a click elsewhere. The selection stays.
func TestLabelsInTheRunTable(t *testing.T) {
	t.Parallel()
	name := strings.Split(formWorkflow(t, "cells"), "/")[2]
	for i := range 3 {
		shared.server.launch(t, name, map[string]any{"data": "letters@3", "epochs": i + 1})
	}
	page := open(t, options{tolerates: []string{"422"}})
	visit(t, page, "/executions?where="+url.QueryEscape("workflow = "+name)+"&columns=inputs.epochs,tags,note&sort=inputs.epochs")
	rows, editor := page.Locator("[data-run-table] tbody tr"), page.Locator(".label-editor")
	counts(t, rows, 3)
	first := rows.First()
	require.NoError(t, first.Locator(`input[name="id"]`).Check())

	require.NoError(t, first.Locator(".cover").Focus())
	press(t, page, "r")
	visible(t, editor)
	audit(t, page)
	require.NoError(t, page.Keyboard().Type("shortest"))
	press(t, page, "Enter")
	holds(t, first.Locator(".cover"), "shortest")
	require.NoError(t, expect().Locator(first.Locator(`[data-label="name"]`)).ToBeFocused())
	require.NoError(t, expect().Locator(first.Locator(`input[name="id"]`)).ToBeChecked())

	require.NoError(t, first.Hover())
	editing(t, page, first, "note")
	require.NoError(t, page.Keyboard().Type("Too few epochs"))
	click(t, page.Locator("h1")) // saves the note
	counts(t, editor, 0)
	holds(t, first, "Too few epochs")
	require.NoError(t, rows.Nth(1).Hover())
	editing(t, page, rows.Nth(1), "tags")
	fill(t, editor.Locator("input[name=tags]"), "baseline")
	press(t, page, "Enter")
	holds(t, rows.Nth(1), "baseline")

	visit(t, page, "/executions?where="+url.QueryEscape("workflow = "+name+` and note ~ "too few"`)+"&columns=name,note&sort=name")
	counts(t, rows, 1)
	holds(t, rows.First(), "shortest")
	audit(t, page)

	phone := open(t, options{width: 390, dark: true})
	visit(t, phone, page.URL())
	group, err := phone.Locator(".grid-bar").GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Group"}).BoundingBox()
	require.NoError(t, err)
	columns, err := phone.Locator(".grid-bar summary").BoundingBox()
	require.NoError(t, err)
	require.InDelta(t, group.Y, columns.Y, 2, "the commands of the table share a line")
	editing(t, phone, phone.Locator("[data-run-table] tbody tr").First(), "note")
	inside, err := phone.Locator(".label-editor").Evaluate(`(box) => { const at = box.getBoundingClientRect(); return at.left >= 0 && at.right <= innerWidth; }`, nil)
	require.NoError(t, err)
	require.Equal(t, true, inside)
	audit(t, phone)
	noSidewaysScroll(t, phone)
}
