package registry

import (
	"fmt"
	"math"
	"net/http"
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
	v := views.ModelPolicy{Whose: "Project policy", Approval: p.Approval, Propose: p.Propose, Rules: ruleLines(p.Rules), Error: t.rulesError}
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
		v.Approval, v.Propose, v.Rules = t.approval, t.propose, t.rules
	}
	return v
}

// anyTestSet in a line allows versions that were measured on different test sets.
const anyTestSet = "any test set"

// ruleLines writes rules as the form shows them: "loss lower by 0.01".
func ruleLines(rules []registry.Rule) string {
	var lines []string
	for _, r := range rules {
		line := r.Metric + " " + r.Better
		if r.Margin > 0 {
			line += " by " + strconv.FormatFloat(r.Margin, 'g', -1, 64)
		}
		if !r.SameTestSet {
			line += " " + anyTestSet
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// parseRules is the inverse of ruleLines.
func parseRules(text string) (rules []registry.Rule, problem string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		r := registry.Rule{SameTestSet: true}
		if rest, ok := strings.CutSuffix(line, anyTestSet); ok {
			r.SameTestSet, line = false, strings.TrimSpace(rest)
		}
		words := strings.Fields(line)
		if len(words) == 4 && words[2] == "by" {
			margin, err := strconv.ParseFloat(words[3], 64)
			if err != nil || !(margin >= 0) || math.IsInf(margin, 0) {
				return nil, fmt.Sprintf("Line %d: %s is not a number of 0 or more. Enter a margin such as 0.01.", n, words[3])
			}
			r.Margin, words = margin, words[:2]
		}
		if len(words) != 2 || words[1] != registry.Higher && words[1] != registry.Lower {
			return nil, fmt.Sprintf("Line %d: enter a metric and higher or lower, such as accuracy higher.", n)
		}
		r.Metric, r.Better = words[0], words[1]
		rules = append(rules, r)
	}
	return rules, ""
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
	sent := r.PostForm
	t := typed{policy: true, approval: sent.Has("approval"), propose: sent.Has("propose"), rules: sent.Get("rules")}
	rules, problem := parseRules(t.rules)
	if problem != "" {
		t.rulesError, t.failed = problem, problem
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
