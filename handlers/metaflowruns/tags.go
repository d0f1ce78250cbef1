package metaflowruns

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowforge/flowforge/views"
)

// maxTag is the maximum length of a tag in characters, as in Metaflow's client.
const maxTag = 500

// tags are the tags of the run.
func (x *runView) tags() views.MetaflowTags {
	t := views.MetaflowTags{}
	if x.mayTag {
		t.Action = views.MetaflowTagsURL(x.flow, x.run)
	}
	for _, tag := range x.Run.Tags {
		t.User = append(t.User, views.Tag{Name: tag, URL: tagURL(tag)})
	}
	for _, tag := range x.Run.SystemTags {
		t.System = append(t.System, views.Tag{Name: tag, URL: tagURL(tag)})
	}
	return t
}

// changeTags adds or removes one tag of the run.
func (h *Pages) changeTags(w http.ResponseWriter, r *http.Request) error {
	x, err := h.load(r)
	if err != nil {
		return err
	}
	add, remove := strings.TrimSpace(r.PostFormValue("add")), r.PostFormValue("remove")
	if remove != "" {
		_, err = h.Records.MutateTags(r.Context(), x.flow, x.run, nil, []string{remove})
	} else {
		refused := ""
		switch {
		case add == "":
			refused = "Enter a tag."
		case utf8.RuneCountInString(add) > maxTag:
			refused = "Enter at most 500 characters."
		case slices.Contains(x.Run.SystemTags, add):
			refused = "The run has this system tag. Enter another tag."
		}
		if refused != "" && x.mayTag {
			return h.renderRun(w, r, x, http.StatusUnprocessableEntity, views.MetaflowTags{Typed: add, Error: refused})
		}
		_, err = h.Records.MutateTags(r.Context(), x.flow, x.run, []string{add}, nil)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.MetaflowRunURL(x.flow, x.run)+"#tags", http.StatusSeeOther)
	return nil
}
