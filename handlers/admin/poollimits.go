package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// fillPoolShares adds who uses the pool with their limits, and the form that changes a limit.
func (h poolPages) fillPoolShares(r *http.Request, m *views.Pool, open openForm) error {
	shares, err := h.Pools.Shares(r.Context(), m.Name)
	if err != nil {
		return err
	}
	branches, err := h.Tenancy.Tree(r.Context(), auth.Installation, false)
	if err != nil {
		return err
	}
	for _, s := range shares {
		row := views.PoolShare{
			Name: strings.Join(s.Node.Path, " / "), URL: views.AdminNodeURL(s.Node.ID.String()), Kind: s.Node.Kind,
			Running: ofLimit(s.Running, s.Limit.Tasks), GPUs: ofLimit(s.GPUs, s.Limit.GPUs), Queued: units.Number(int64(s.Queued)),
			GPUHours: fmt.Sprintf("%.1f", s.GPUHours), TaskHours: fmt.Sprintf("%.1f", s.TaskHours),
		}
		if s.Node.Archived {
			row.Kind += ", archived"
		}
		m.Shares = append(m.Shares, row)
	}
	m.LimitForm = views.AdminForm{
		ID: "limit-form", Label: "Limit", Action: views.PoolURL(m.Name) + "/limits", Buttons: []views.AdminButton{{Text: "Set the limit"}},
		Fields: []views.AdminField{
			open.field("limit", views.AdminField{Name: "node", Label: "Limit for", Help: "The limit applies to all projects below it together.", Options: nodeOptions(branches, nil)}, ""),
			open.field("limit", views.AdminField{Name: "tasks", Label: "Running tasks", Help: "Leave both fields empty to remove the limit.", Optional: true}, ""),
			open.field("limit", views.AdminField{Name: "gpus", Label: "GPUs in use", Optional: true}, ""),
		},
	}
	return nil
}

// ofLimit is an amount in use, with its limit.
func ofLimit(used int, limit *int) string {
	if limit == nil {
		return units.Number(int64(used))
	}
	return units.Number(int64(used)) + " of " + units.Number(int64(*limit))
}

// setPoolLimit sets or removes the limit of a node in a pool.
func (h poolPages) setPoolLimit(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "pool")
	form, err := sent(r, "limit", "")
	if err != nil {
		return err
	}
	form.err = h.changeLimit(r.Context(), name, form.values)
	if form.err == nil {
		return seeOther(w, r, views.PoolURL(name)+"?did=limit")
	}
	if !shownInForm(form.err) {
		return form.err
	}
	return h.showPool(w, r, name, poolPage{form: form})
}

func (h poolPages) changeLimit(ctx context.Context, name string, values url.Values) error {
	var fields []apperr.Field
	node, err := uuid.Parse(values.Get("node"))
	if err != nil {
		fields = append(fields, apperr.Field{Path: "node", Message: "Select a tenant, department, team or project."})
	}
	amount := func(field string) *int {
		text := strings.TrimSpace(values.Get(field))
		if text == "" {
			return nil
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			fields = append(fields, apperr.Field{Path: field, Message: "Enter a whole number, or leave the field empty for no limit."})
		}
		return &n
	}
	limit := pool.Limit{Tasks: amount("tasks"), GPUs: amount("gpus")}
	if err := apperr.InvalidFields("The limit was not changed.", fields); err != nil {
		return err
	}
	return h.Pools.SetLimit(ctx, name, node, limit)
}
