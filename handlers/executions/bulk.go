package executions

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// bulkVerbs are the words of an action: the verb of its button and the heading of its result.
func bulkVerbs(action string) (verb, done string) {
	switch action {
	case table.ActionCancel:
		return "Cancel", "Cancelled"
	case table.ActionResume:
		return "Resume", "Resumed"
	case table.ActionDelete:
		return "Delete", "Deleted"
	case table.ActionTag:
		return "Tag", "Tagged"
	}
	return "", ""
}

// actionCompare opens the comparison of the selected executions. It changes nothing, so it has no preview.
const actionCompare = "compare"

func compareSelected(w http.ResponseWriter, r *http.Request) error {
	ids, err := bulkIDs(r.PostForm["id"])
	if err != nil {
		return err
	}
	if len(ids) > comparison.Most {
		return apperr.New(apperr.Invalid, "Select at most %d executions to compare. %d are selected.", comparison.Most, len(ids))
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	http.Redirect(w, r, views.CompareURL(texts...), http.StatusSeeOther)
	return nil
}

// bulk previews a command for many executions. With step=apply it runs the command and redirects
// to the results, so that a reload runs nothing again. The key of the preview prevents a second
// press of its button from resuming anything twice. Without a key, the command is only
// previewed.
func (h *lists) bulk(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.New(apperr.Invalid, "The form could not be read.")
	}
	f := r.PostForm
	action, tag := f.Get("action"), strings.TrimSpace(f.Get("tag"))
	if action == actionCompare {
		return compareSelected(w, r)
	}
	verb, _ := bulkVerbs(action)
	if verb == "" {
		return apperr.New(apperr.Invalid, "%s is not a command.", strconv.Quote(action))
	}
	r = h.inProjectOf(r, queryOf(f.Get("back")).Get("view")) // the executions of a view are in its project
	ids, err := bulkIDs(f["id"])
	if err != nil {
		return err
	}
	key, keyed := bulkKey(f.Get("key"))
	run := keyed && f.Get("step") == "apply"
	m := views.BulkPage{
		Key:  key,
		Page: h.Page.Base(r, verb+" executions", views.SectionExecutions), Action: action, Verb: verb, Tag: tag,
		Danger: action == table.ActionCancel || action == table.ActionDelete, Back: backTo(f.Get("back")),
	}
	command := table.Bulk{Action: action, IDs: ids, Key: key, DryRun: !run}
	command.Change = index.Change{Add: label.SplitTags(tag)}
	outcomes, err := h.Table.Apply(r.Context(), command)
	if apperr.Is(err, apperr.Invalid) {
		m.Heading, m.Lead, m.Failed = verb+" executions", "Nothing was changed.", apperr.MessageOf(err)
		return web.Render(w, r, http.StatusUnprocessableEntity, views.BulkView(m))
	}
	if err != nil {
		return err
	}
	if run {
		to := bulkResultsURL(action, tag, m.Back, outcomes)
		if len(to) > maxResultsURL {
			return web.Render(w, r, http.StatusOK, views.BulkView(bulkResult(m, outcomes)))
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	}
	m.Rows, m.Able = bulkRows(outcomes)
	of := units.Plural(len(outcomes), "execution", "executions")
	m.Heading, m.Lead = verb+" "+of, "Nothing has changed yet. The command applies to "+units.Number(int64(m.Able))+" of "+of+"."
	if action == table.ActionTag {
		m.Lead += " " + table.TagsText(command.Change)
	}
	return web.Render(w, r, http.StatusOK, views.BulkView(m))
}

// maxResultsURL is the longest address to which the browser is redirected, because proxies
// accept 4 KB of headers in a response. A command for more executions responds with its results.
const maxResultsURL = 3000

// bulkResultsURL is the page with the results of a command. The address names the executions,
// and the page reads the outcome of each.
func bulkResultsURL(action, tag, back string, outcomes []table.Outcome) string {
	q := url.Values{"action": {action}, "back": {back}}
	if tag != "" {
		q.Set("tag", tag)
	}
	var ids, created []byte
	for _, o := range outcomes {
		ids = append(ids, o.ID[:]...)
		if o.Created != uuid.Nil {
			created = append(created, o.Created[:]...)
		}
	}
	q.Set("id", base64.RawURLEncoding.EncodeToString(ids))
	if len(created) > 0 {
		q.Set("created", base64.RawURLEncoding.EncodeToString(created))
	}
	return views.BulkURL() + "?" + q.Encode()
}

// bulkResults shows the outcome of the executions of a command.
func (h *lists) bulkResults(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	action, tag := q.Get("action"), q.Get("tag")
	verb, _ := bulkVerbs(action)
	r = h.inProjectOf(r, queryOf(q.Get("back")).Get("view"))
	ids, err := bulkIDs(q["id"])
	if err != nil {
		return err
	}
	created, err := bulkIDs(q["created"])
	if err != nil {
		return err
	}
	if verb == "" {
		return apperr.New(apperr.Invalid, "%s is not a command.", strconv.Quote(action))
	}
	outcomes, err := h.Table.Results(r.Context(), table.Ran{Action: action, Tags: label.SplitTags(tag), IDs: ids, Created: created})
	if err != nil {
		return err
	}
	m := views.BulkPage{
		Page: h.Page.Base(r, verb+" executions", views.SectionExecutions), Action: action, Verb: verb, Tag: tag, Back: backTo(q.Get("back")),
	}
	return web.Render(w, r, http.StatusOK, views.BulkView(bulkResult(m, outcomes)))
}

// bulkResult is m with the outcome of the executions of its command.
func bulkResult(m views.BulkPage, outcomes []table.Outcome) views.BulkPage {
	_, done := bulkVerbs(m.Action)
	m.Done, m.Lead = true, "Each execution has its own result."
	m.Rows, m.Able = bulkRows(outcomes)
	m.Heading = done + " " + units.Number(int64(m.Able)) + " of " + units.Plural(len(outcomes), "execution", "executions")
	return m
}

// bulkKey is the key of a preview, or a new one for it.
func bulkKey(text string) (key string, keyed bool) {
	if id, err := uuid.Parse(text); err == nil {
		return id.String(), true
	}
	return uuid.NewString(), false
}

func bulkRows(outcomes []table.Outcome) (rows []views.BulkRow, able int) {
	for _, o := range outcomes {
		row := views.BulkRow{ID: o.ID.String(), Short: label.ShortID(o.ID), Title: titleOf(o.Execution), Message: o.Message, Able: o.Done}
		if row.Title != "" {
			row.URL, row.State = views.ExecutionURL(row.ID), string(o.Execution.Status)
		}
		if o.Created != uuid.Nil {
			row.NewURL = views.ExecutionURL(o.Created.String())
		}
		if o.Done {
			able++
		}
		rows = append(rows, row)
	}
	return rows, able
}

// backTo is a list of executions on this site, whatever address the form contains.
func backTo(path string) string {
	if path == views.ExecutionsURL() || strings.HasPrefix(path, views.ExecutionsURL()+"?") {
		return path
	}
	return views.ExecutionsURL()
}

// bulkIDs reads the executions of a form or an address: IDs, or a value with the bytes of many.
func bulkIDs(values []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, 0, len(values))
	for _, v := range values {
		if id, err := uuid.Parse(v); err == nil {
			ids = append(ids, id)
			continue
		}
		packed, err := base64.RawURLEncoding.DecodeString(v)
		if err != nil || len(packed) == 0 || len(packed)%len(uuid.UUID{}) != 0 {
			return nil, apperr.New(apperr.Invalid, "%s is not the ID of an execution.", strconv.Quote(v))
		}
		for part := range slices.Chunk(packed, len(uuid.UUID{})) {
			ids = append(ids, uuid.UUID(part))
		}
	}
	return ids, nil
}

// titleOf is the name of an execution in a command, "" when it does not exist.
func titleOf(e query.Execution) string {
	if e.ID == uuid.Nil {
		return ""
	}
	return cmp.Or(label.ExecutionTitle(e), e.WorkflowName)
}
