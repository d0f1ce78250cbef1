package datasets

import (
	"net/http"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
)

// Limits of the search for what a version was made from.
const (
	stepsUp     = 3
	searchItems = 300
	searchFan   = 50
	countedUses = 1000
)

// neighbours adds the executions that used the version, its sources, and the models made from
// it.
func (s shelf) neighbours(r *http.Request, m *views.Dataset, x *shown) error {
	ctx, e := r.Context(), x.change.Now
	uses, total, err := s.Datasets.Uses(ctx, e)
	if err != nil && !apperr.Is(err, apperr.Forbidden) {
		return err
	}
	for _, u := range uses {
		m.Uses = append(m.Uses, views.DatasetUse{
			Title: u.Workflow, URL: views.ExecutionURL(u.Execution.String()), Short: label.ShortID(u.Execution), State: u.Status, Input: u.Input, Requested: u.Requested,
			By: u.By, At: x.clock.Moment(u.At),
		})
	}
	count := units.Plural(int(total), "execution", "executions")
	if total > countedUses {
		count = "more than " + units.Number(countedUses) + " executions"
	}
	if int(total) > len(m.Uses) {
		m.MoreUses = "The newest of " + count + "."
	}
	kind := lineage.KindDataset
	if x.kind == typeregistry.KindFeatureSet {
		kind = lineage.KindFeatureSet
	}
	l, err := s.Lineage.Trace(ctx, lineage.Request{Of: string(kind) + ":" + e.Ref(), Up: stepsUp, Fan: searchFan, Items: searchItems, Models: true})
	if err != nil {
		return err
	}
	for _, i := range l.Items {
		link := views.LineageLink{Icon: "box", Name: i.Name, URL: label.LineageItemURL(i), Note: label.LineageKind(i.Kind)}
		if i.Version != "" && i.Kind != lineage.KindExecution {
			link.Name += " " + i.Version
		}
		if i.Step < 0 && i.Kind != lineage.KindNode {
			link.Icon = "file"
			m.Sources = append(m.Sources, link)
		}
	}
	for _, i := range l.Models.Models {
		m.Models = append(m.Models, views.LineageLink{Icon: "box", Name: i.Name + " " + i.Version, URL: label.LineageItemURL(i), Note: i.Stage})
	}
	if !l.Models.Complete {
		m.Omitted = "The search for models ended at a limit or at an item that you cannot view, so there may be more."
	}
	if total > 0 {
		m.Used = "used by " + count
	}
	if n := len(m.Models); n > 0 {
		if m.Used == "" {
			m.Used = "used by "
		} else {
			m.Used += ", "
		}
		m.Used += units.Plural(n, "model", "models")
	}
	return nil
}
