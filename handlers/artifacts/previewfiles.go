package artifacts

import (
	"path"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// filesShown is the number of files on one page of a folder or an archive.
const filesShown = 100

// filesOf lists the files of a folder.
func filesOf(at part, sel artifact.Selection, d *artifact.Directory) *views.FileList {
	rows := make([]views.FileRow, 0, len(d.Entries))
	for _, e := range d.Entries {
		rows = append(rows, views.FileRow{Path: e.Path, URL: at.file(e.Path), Icon: fileIcon(e.Path), Size: units.Bytes(e.Size)})
	}
	return at.gallery(at.list(sel, rows), d)
}

// gallery shows the images of a folder instead of its list, where the address selects that.
func (p part) gallery(l *views.FileList, d *artifact.Directory) *views.FileList {
	var images []views.GalleryImage
	for _, e := range d.Entries {
		if imageName(e.Path) {
			images = append(images, views.GalleryImage{Name: e.Path, URL: p.file(e.Path), Full: views.ArtifactInlineURL(p.id, e.Path), Thumbnail: thumbnail(p.id, e.Path)})
		}
	}
	if len(images) == 0 {
		return l
	}
	if p.query.Get("view") != "gallery" {
		l.ViewURL = p.link("view", "gallery")
		return l
	}
	total := int64(len(images))
	from, _ := strconv.ParseInt(p.query.Get("from"), 10, 64)
	from = min(max(from, 0), total-1)
	to := min(from+filesShown, total)
	l.ViewURL, l.Images, l.Rows = p.link(), images[from:to], nil
	l.Pager = pagerOf("Images", from, to-from, total, filesShown, func(n int64) string {
		return p.link("view", "gallery", "from", strconv.FormatInt(n, 10))
	})
	l.Pager.Text = "Images " + units.Number(from+1) + " to " + units.Number(to) + " of " + units.Number(total)
	return l
}

// imageName reports whether a file is an image that browsers show.
func imageName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// thumbnail is the address of the small picture of an image; WebP images are shown as they are.
func thumbnail(id, name string) string {
	if strings.EqualFold(path.Ext(name), ".webp") {
		return views.ArtifactInlineURL(id, name)
	}
	return views.ArtifactThumbnailURL(id, name)
}

// entriesOf lists the entries of an archive.
func entriesOf(at part, sel artifact.Selection, a *preview.Archive) *views.FileList {
	rows := make([]views.FileRow, 0, len(a.Entries))
	dates, packed := false, a.Format == "zip"
	for _, e := range a.Entries {
		row := views.FileRow{Path: e.Path, Icon: fileIcon(e.Path), Size: units.Bytes(max(e.Size, 0)), Packed: units.Bytes(max(e.Packed, 0)), Ratio: ratioText(e.Size, e.Packed), Link: e.Link}
		switch {
		case e.Folder:
			row.Icon, row.Size, row.Packed, row.Ratio = "fold", "", "", ""
		case e.Link == "" && sel.Path == "":
			row.URL = at.file(e.Path)
		}
		if e.Size < 0 {
			row.Size = "unknown"
		}
		if e.Outside {
			row.Warning = "This path leads out of the folder that the archive is unpacked to. FlowForge unpacks nothing to disk; tar and unzip may."
		}
		if e.Modified != nil {
			row.Modified, row.HasDate, dates = at.clock.Moment(*e.Modified), true, true
		}
		rows = append(rows, row)
	}
	out := at.list(sel, rows)
	out.Dates, out.Packed, out.Problem = dates, packed, a.Problem
	return out
}

// file is the address of a file in the artifact.
func (p part) file(name string) string {
	return part{id: p.id}.link("path", name)
}

// list is one page of files, those whose path contains the text of the search.
func (p part) list(sel artifact.Selection, rows []views.FileRow) *views.FileList {
	out := &views.FileList{Search: p.form(), Text: sel.Find, ClearURL: p.link(), Empty: "There are no files."}
	if needle := strings.ToLower(sel.Find); needle != "" {
		var kept []views.FileRow
		for _, r := range rows {
			if strings.Contains(strings.ToLower(r.Path), needle) {
				kept = append(kept, r)
			}
		}
		rows, out.Empty = kept, "No path contains the text."
	}
	total := int64(len(rows))
	from := min(max(sel.From, 0), total)
	to := min(from+filesShown, total)
	out.Rows = rows[from:to]
	out.Pager = ui.Pager{InOrder: true, Text: units.Plural(total, "file", "files")}
	if to-from < total && to > from {
		out.Pager.Text = "Files " + units.Number(from+1) + " to " + units.Number(to) + " of " + units.Number(total)
	}
	link := func(n int64) string {
		if n <= 0 {
			return p.link("find", sel.Find)
		}
		return p.link("find", sel.Find, "from", strconv.FormatInt(n, 10))
	}
	if from > 0 {
		out.Pager.Newer = link(from - filesShown)
	}
	if to < total {
		out.Pager.Older = link(to)
	}
	return out
}

func fileIcon(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg":
		return "pic"
	case ".csv", ".tsv", ".parquet", ".pq":
		return "table"
	case ".npy", ".npz":
		return "chart"
	case ".pt", ".pth", ".onnx", ".safetensors", ".pkl", ".joblib":
		return "box"
	}
	return "file"
}
