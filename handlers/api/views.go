package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web/contract"
)

// ViewPath names a saved view of the project.
type ViewPath struct {
	View string `path:"view" doc:"View ID or name" maxLength:"100"`
}

// viewAPI serves saved views of executions.
type viewAPI struct {
	Views *view.Service
}

func (h *viewAPI) mount(api *operations) {
	operation(api, get("list-views", "/views", "List the saved execution views that you can use", "Views"), h.apiViews)
	save := post("save-view", "/views", "Save an execution table as a view", "Views")
	save.DefaultStatus = http.StatusCreated
	operation(api, save, h.apiSaveView)
	operation(api, get("get-view", "/views/{view}", "Get a saved view", "Views"), h.apiView)
	change := post("change-view", "/views/{view}", "Change a saved view", "Views")
	change.Method = http.MethodPatch
	operation(api, change, h.apiChangeView)
	operation(api, huma.Operation{
		OperationID: "delete-view", Method: http.MethodDelete, Path: "/views/{view}", Tags: []string{"Views"},
		Summary: "Delete a saved view", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteView)
	begin := post("set-default-view", "/views/{view}/default", "Make a view the project's default", "Views")
	begin.Method = http.MethodPut
	operation(api, begin, func(ctx context.Context, in *ViewPath) (*body[contract.ViewBody], error) {
		return h.apiDefaultView(ctx, in, true)
	})
	end := post("unset-default-view", "/views/{view}/default", "Remove a view as the project's default", "Views")
	end.Method = http.MethodDelete
	operation(api, end, func(ctx context.Context, in *ViewPath) (*body[contract.ViewBody], error) {
		return h.apiDefaultView(ctx, in, false)
	})
}

func (h *viewAPI) apiViews(ctx context.Context, _ *struct{}) (*body[contract.ViewList], error) {
	list, err := h.Views.List(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.ViewList{Views: make([]contract.ViewBody, 0, len(list))}
	for _, v := range list {
		out.Views = append(out.Views, toViewBody(v))
	}
	return reply(out), nil
}

func (h *viewAPI) apiView(ctx context.Context, in *ViewPath) (*body[contract.ViewBody], error) {
	v, err := h.Views.Get(ctx, in.View)
	if err != nil {
		return nil, err
	}
	return reply(toViewBody(v)), nil
}

func (h *viewAPI) apiSaveView(ctx context.Context, in *struct{ Body contract.ViewInput }) (*body[contract.ViewBody], error) {
	b := in.Body
	sharing := view.Sharing(b.Sharing)
	v, err := h.Views.Save(ctx, view.Edit{Name: &b.Name, Sharing: &sharing, Table: &view.Table{Where: b.Where, Sort: b.Sort, Columns: b.Columns, Group: b.Group}})
	if err != nil {
		return nil, err
	}
	return reply(toViewBody(v)), nil
}

func (h *viewAPI) apiChangeView(ctx context.Context, in *struct {
	ViewPath
	Body contract.ViewChange
}) (*body[contract.ViewBody], error) {
	b := in.Body
	edit := view.Edit{Name: b.Name, Based: b.UpdatedAt}
	if b.Sharing != nil {
		sharing := view.Sharing(*b.Sharing)
		edit.Sharing = &sharing
	}
	if b.Where != nil || b.Sort != nil || b.Columns != nil || b.Group != nil {
		v, err := h.Views.Get(ctx, in.View)
		if err != nil {
			return nil, err
		}
		t := v.Table
		for from, to := range map[*string]*string{b.Where: &t.Where, b.Sort: &t.Sort, b.Group: &t.Group} {
			if from != nil {
				*to = *from
			}
		}
		if b.Columns != nil {
			t.Columns = *b.Columns
		}
		edit.Table = &t
		if edit.Based == nil { // the other fields of the table are those of this state
			edit.Based = &v.UpdatedAt
		}
	}
	v, err := h.Views.Change(ctx, in.View, edit)
	if err != nil {
		return nil, err
	}
	return reply(toViewBody(v)), nil
}

func (h *viewAPI) apiDeleteView(ctx context.Context, in *ViewPath) (*struct{}, error) {
	return nil, h.Views.Delete(ctx, in.View)
}

func (h *viewAPI) apiDefaultView(ctx context.Context, in *ViewPath, on bool) (*body[contract.ViewBody], error) {
	v, err := h.Views.SetDefault(ctx, in.View, on)
	if err != nil {
		return nil, err
	}
	return reply(toViewBody(v)), nil
}

func toViewBody(v view.View) contract.ViewBody {
	return contract.ViewBody{
		ID: v.ID, Name: v.Name, Sharing: string(v.Sharing), Default: v.Default,
		Where: v.Table.Where, Sort: v.Table.Sort, Columns: append([]string{}, v.Table.Columns...), Group: v.Table.Group,
		CreatedBy: v.OwnerName, CreatedAt: v.CreatedAt, UpdatedBy: v.UpdatedBy, UpdatedAt: v.UpdatedAt, URL: views.ExecutionViewURL(v.ID.String()),
	}
}

// inView adds the conditions of the view that a request names to those of the request. The order
// and the columns of the request come before those of the view.
func (h *viewAPI) inView(ctx context.Context, q TableQuery) (TableQuery, error) {
	if q.View == "" {
		return q, nil
	}
	v, err := h.Views.Get(ctx, q.View)
	if err != nil {
		return q, err
	}
	switch {
	case q.Where == "":
		q.Where = v.Table.Where
	case v.Table.Where != "":
		q.Where = "(" + v.Table.Where + ") and (" + q.Where + ")"
	}
	if q.Sort == "" {
		q.Sort = v.Table.Sort
	}
	if q.Columns == "" {
		q.Columns = strings.Join(v.Table.Columns, ",")
	}
	return q, nil
}
