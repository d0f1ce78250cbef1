package reports

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/data/report/document"
	"github.com/flowforge/flowforge/engine/comparison/change"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// read reads the report of a path.
func (h *Pages) read(r *http.Request) (report.Report, error) {
	id, err := reportID(r)
	if err != nil {
		return report.Report{}, err
	}
	return h.Reports.Get(r.Context(), id.String())
}

// report shows the latest revision.
func (h *Pages) report(w http.ResponseWriter, r *http.Request) error {
	one, err := h.read(r)
	if err != nil {
		return err
	}
	return h.show(w, r, http.StatusOK, one, "")
}

// show shows a report. failed is the reason why a command was refused, or "".
func (h *Pages) show(w http.ResponseWriter, r *http.Request, status int, one report.Report, failed string) error {
	id := one.ID.String()
	m := views.ReportPage{
		Page: h.Page.Base(r, one.Title, views.SectionReports, reportsCrumb()), ID: id, Heading: one.Title, Failed: failed,
		By: one.UpdatedBy, Written: h.Page.Clock(r).Moment(one.UpdatedAt), Revision: one.Revision,
		Link: request.PublicURL(r, h.PublicURL) + views.ReportURL(id), HistoryURL: views.ReportPartURL(id, "history"), Stream: views.ReportPartURL(id, "stream") + "?revision=" + strconv.Itoa(one.Revision),
	}
	if one.MayEdit {
		m.EditURL = views.ReportPartURL(id, "edit")
	}
	if one.MayDelete {
		m.DeleteURL = views.ReportPartURL(id, "delete")
	}
	var err error
	if m.Content, err = h.content(r, one.Text); err != nil {
		return err
	}
	return web.Render(w, r, status, views.ReportOwnPage(m))
}

// rereads is the number of times that blocks are read again after a change, because the index
// lags behind executions.
const rereads = 4

// stream sends changed blocks, and a notice when another person has saved a revision.
func (h *Pages) stream(w http.ResponseWriter, r *http.Request) error {
	one, err := h.read(r)
	if err != nil {
		return err
	}
	shown, err := strconv.Atoi(r.URL.Query().Get("revision"))
	if err != nil || shown < 1 || shown > one.Revision {
		shown = one.Revision
	}
	revision, err := h.Reports.Revision(r.Context(), one.ID.String(), shown)
	if err != nil {
		return err
	}
	d, err := document.Parse(revision.Text)
	if err != nil {
		return err //nolint:wrapcheck // it names its context
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	hints, left, sent := h.Executions.Watches.WatchAll(r.Context()), rereads, page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		select {
		case _, open := <-hints:
			if left = rereads; !open {
				hints = nil
			}
		default:
		}
		var changed []views.ReportBlock
		if left > 0 {
			left--
			changed = h.changed(r.WithContext(ctx), d, sent)
		}
		latest, err := h.Reports.Get(ctx, one.ID.String())
		if err != nil {
			return err
		}
		news := ""
		if latest.Revision > shown {
			news = fmt.Sprintf("%s saved revision %d.", latest.UpdatedBy, latest.Revision)
		}
		if !sent.Changed("news", news) && len(changed) == 0 {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.ReportUpdate(changed, news))
	})
	return nil
}

// changed are the blocks that differ from those that the stream has sent. Charts read their
// curves themselves, and artifacts never change.
func (h *Pages) changed(r *http.Request, d document.Document, sent page.SentPieces) []views.ReportBlock {
	var list []views.ReportBlock
	for i, b := range d.Blocks() {
		if b.Kind == document.Chart || b.Kind == document.Artifact {
			continue
		}
		if m := h.block(r, i, b); sent.Changed(m.ID, m) {
			list = append(list, m)
		}
	}
	return list
}

// revision shows an earlier revision and its changes.
func (h *Pages) revision(w http.ResponseWriter, r *http.Request) error {
	one, err := h.read(r)
	if err != nil {
		return err
	}
	id, n := one.ID.String(), revisionNumber(r)
	old, err := h.Reports.Revision(r.Context(), id, n)
	if err != nil {
		return err
	}
	m := views.ReportPage{
		Page: h.Page.Base(r, fmt.Sprintf("Revision %d", n), views.SectionReports, reportsCrumb(), views.Crumb{Name: one.Title, URL: views.ReportURL(id)}, views.Crumb{Name: "History", URL: views.ReportPartURL(id, "history")}),
		ID:   id, Heading: old.Title, By: old.Author, Written: h.Page.Clock(r).Moment(old.CreatedAt), Revision: n, HistoryURL: views.ReportPartURL(id, "history"),
		Old: &views.OldReport{Latest: one.Revision, LatestURL: views.ReportURL(id)},
	}
	if one.MayEdit && n != one.Revision {
		m.Old.RestoreURL = views.ReportRevisionURL(id, n) + "/restore"
	}
	if n > 1 {
		before, err := h.Reports.Revision(r.Context(), id, n-1)
		if err != nil {
			return err
		}
		if m.Old.Changes, err = changes(fmt.Sprintf("Changes from revision %d", n-1), before.Text, old.Text); err != nil {
			return err
		}
	}
	if m.Content, err = h.content(r, old.Text); err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.ReportOwnPage(m))
}

func revisionNumber(r *http.Request) int {
	n, err := strconv.Atoi(request.PathValue(r, "revision"))
	if err != nil {
		return 0 // no revision has this number
	}
	return n
}

// changes are the differences between two texts.
func changes(title, before, after string) (views.ReportChanges, error) {
	patch, err := change.Texts(before, after)
	if err != nil {
		return views.ReportChanges{}, err //nolint:wrapcheck // edits of the same library are consistent
	}
	return views.ReportChanges{
		Title: title, Note: units.Plural(patch.Added, "line", "lines") + " added, " + units.Number(int64(patch.Removed)) + " removed", Lines: source.PatchLines("report.md", patch),
	}, nil
}

// history lists revisions.
func (h *Pages) history(w http.ResponseWriter, r *http.Request) error {
	one, err := h.read(r)
	if err != nil {
		return err
	}
	id := one.ID.String()
	before, err := strconv.Atoi(r.URL.Query().Get("before"))
	if err != nil {
		before = 0 // from the latest
	}
	list, err := h.Reports.Revisions(r.Context(), id, before, pageSize)
	if err != nil {
		return err
	}
	m := views.ReportHistory{
		Page: h.Page.Base(r, "History", views.SectionReports, reportsCrumb(), views.Crumb{Name: one.Title, URL: views.ReportURL(id)}), Heading: one.Title, URL: views.ReportURL(id),
	}
	clock := h.Page.Clock(r)
	for _, v := range list {
		row := views.ReportRevisionRow{
			Number: v.Number, URL: views.ReportRevisionURL(id, v.Number), Latest: v.Number == one.Revision, Note: v.Note, By: v.Author,
			Written: clock.Moment(v.CreatedAt), Size: units.Bytes(int64(v.Size)),
		}
		if v.RestoredFrom > 0 {
			row.Note = fmt.Sprintf("Restored from revision %d", v.RestoredFrom)
		}
		if one.MayEdit && !row.Latest {
			row.RestoreURL = row.URL + "/restore"
		}
		m.Rows = append(m.Rows, row)
	}
	m.Pager.Text = units.Plural(one.Revision, "revision", "revisions")
	if n := len(list); n == pageSize && list[n-1].Number > 1 {
		m.Pager.Older = fmt.Sprintf("%s?before=%d", views.ReportPartURL(id, "history"), list[n-1].Number)
	}
	if before > 0 {
		m.Pager.Newer = views.ReportPartURL(id, "history")
	}
	return web.Render(w, r, http.StatusOK, views.ReportHistoryPage(m))
}

// restore saves an earlier revision as the latest one.
func (h *Pages) restore(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form cannot be read. Send it again.")
	}
	one, err := h.read(r)
	if err != nil {
		return err
	}
	based, _ := strconv.Atoi(r.PostForm.Get("revision"))
	if _, err := h.Reports.Restore(r.Context(), one.ID.String(), revisionNumber(r), based); err != nil {
		return h.refused(w, r, one, err)
	}
	http.Redirect(w, r, views.ReportURL(one.ID.String()), http.StatusSeeOther)
	return nil
}

// remove deletes the report.
func (h *Pages) remove(w http.ResponseWriter, r *http.Request) error {
	one, err := h.read(r)
	if err != nil {
		return err
	}
	if err := h.Reports.Delete(r.Context(), one.ID.String()); err != nil {
		return h.refused(w, r, one, err)
	}
	http.Redirect(w, r, views.ReportsURL(nil), http.StatusSeeOther)
	return nil
}

// refused shows on the page of the report why a command was refused.
func (h *Pages) refused(w http.ResponseWriter, r *http.Request, one report.Report, err error) error {
	code := apperr.CodeOf(err)
	if code != apperr.Conflict && code != apperr.Invalid {
		return err
	}
	latest, failed := h.Reports.Get(r.Context(), one.ID.String())
	if failed != nil {
		return failed
	}
	return h.show(w, r, web.Status(code), latest, apperr.MessageOf(err))
}
