package registry

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// policy shows the requirements for promotions of the model, with the form for users who may
// change them.
func (x *shown) policy(t typed) views.ModelPolicy {
	v := policyView(x.model.Policy, t)
	if x.model.MayRule {
		v.URL = views.ModelFormURL(x.model.Name, "policy")
	}
	return v
}

// policyView is a policy in words, and as its form shows it.
func policyView(p registry.Policy, t typed) views.ModelPolicy {
	v := views.ModelPolicy{Whose: "Project policy", Approval: p.Approval, Propose: p.Propose, Rules: ruleRows(p.Rules), Error: t.rulesError}
	if p.OfModel {
		v.Whose = "Model policy"
	}
	v.Lines = append(v.Lines, "Users with write access can move versions.")
	if p.Approval {
		v.Lines[0] = "Another person must approve."
	}
	for _, r := range p.Rules {
		v.Lines = append(v.Lines, r.Text())
	}
	if p.Propose && len(p.Rules) > 0 {
		v.Lines = append(v.Lines, "New versions that pass all rules are proposed.")
	}
	if t.policy {
		v.Approval, v.Propose, v.Rules, v.Open = t.approval, t.propose, t.rules, true
	}
	if len(v.Rules) == 0 || t.more {
		v.Rules = append(v.Rules, views.ModelRule{Added: t.more})
	}
	return v
}

// ruleRows are rules as the form shows them.
func ruleRows(rules []registry.Rule) []views.ModelRule {
	rows := make([]views.ModelRule, len(rules))
	for i, r := range rules {
		rows[i] = views.ModelRule{Metric: r.Metric, Lower: r.Better == registry.Lower, AnyTestSet: !r.SameTestSet}
		if r.Margin > 0 {
			rows[i].Margin = strconv.FormatFloat(r.Margin, 'g', -1, 64)
		}
	}
	return rows
}

// sentPolicy reads the form of a policy. A rule without a metric is left out.
func sentPolicy(sent url.Values) (t typed, rules []registry.Rule) {
	t = typed{policy: true, more: sent.Has("add"), approval: sent.Has("approval"), propose: sent.Has("propose")}
	value := func(name string, i int) string {
		if i < len(sent[name]) {
			return strings.TrimSpace(sent[name][i])
		}
		return ""
	}
	for i := range sent["metric"] {
		row := views.ModelRule{
			Metric: value("metric", i), Margin: value("margin", i), Lower: value("better", i) == registry.Lower, AnyTestSet: value("tests", i) == views.AnyTestSet,
		}
		if row.Metric == "" {
			continue
		}
		r := registry.Rule{Metric: row.Metric, Better: registry.Higher, SameTestSet: !row.AnyTestSet}
		if row.Lower {
			r.Better = registry.Lower
		}
		if row.Margin != "" {
			var err error
			if r.Margin, err = strconv.ParseFloat(row.Margin, 64); err != nil || !(r.Margin >= 0) || math.IsInf(r.Margin, 0) {
				row.Invalid = true
				t.rulesError = fmt.Sprintf("%q is not a number of 0 or more. Enter a margin such as 0.01.", row.Margin)
			}
		}
		t.rules, rules = append(t.rules, row), append(rules, r)
	}
	if t.more {
		t.rulesError = ""
	}
	return t, rules
}

// projectPolicy shows the requirements for promotions of models without a policy of their own.
func (h *Pages) projectPolicy(w http.ResponseWriter, r *http.Request) error {
	return h.renderPolicy(w, r, http.StatusOK, typed{})
}

func (h *Pages) renderPolicy(w http.ResponseWriter, r *http.Request, status int, t typed) error {
	p, may, err := h.Registry.ProjectPolicy(r.Context())
	if err != nil {
		return err
	}
	m := views.ProjectPolicy{
		Page: h.Page.Base(r, "Promotion rules", views.SectionModels, views.Crumb{Name: "Models", URL: views.ModelsURL()}), Policy: policyView(p, t), Failed: t.failed,
		Done: doneWords(r.URL.Query().Get("done")),
	}
	if p.By != "" {
		at := h.Page.Clock(r).Moment(p.At)
		m.By, m.At = p.By, &at
	}
	if may {
		m.Policy.URL = views.ModelPolicyURL()
	}
	return web.Render(w, r, status, views.ProjectPolicyPage(m))
}

func (h *Pages) saveProjectPolicy(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	t, rules := sentPolicy(r.PostForm)
	if t.more {
		return h.renderPolicy(w, r, http.StatusOK, t)
	}
	if t.rulesError != "" {
		t.failed = t.rulesError
		return h.renderPolicy(w, r, http.StatusUnprocessableEntity, t)
	}
	err := h.Registry.SetPolicy(r.Context(), "", registry.Policy{Approval: t.approval, Propose: t.propose, Rules: rules})
	if apperr.Is(err, apperr.Invalid) {
		t.failed = apperr.MessageOf(err)
		for _, f := range apperr.FieldsOf(err) {
			t.failed, t.rulesError = f.Message, f.Message
		}
		return h.renderPolicy(w, r, http.StatusUnprocessableEntity, t)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.ModelPolicyURL()+"?done=policy", http.StatusSeeOther)
	return nil
}
