package trigger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// fields returns the fields that only some kinds have, and that this kind uses.
func (k Kind) fields() []string {
	switch k {
	case OnExecution:
		return []string{"sources", "states"}
	case OnModel:
		return []string{"sources", "stages"}
	case OnArtifact, OnDataset, OnEvent:
		return []string{"sources"}
	case OnWebhook:
		return []string{"signature", "secret"}
	case OnHTTP:
		return []string{"http"}
	case OnS3:
		return []string{"s3"}
	case OnAll:
		return []string{"all", "within", "by"}
	}
	return nil
}

// refuseForeign refuses the fields with values that another kind uses. An unknown kind is a problem of its own.
func (k Kind) refuseForeign(set map[string]bool, refuse refuser) {
	if !slices.Contains(Kinds(), k) {
		return
	}
	for field, has := range set {
		if !has || slices.Contains(k.fields(), field) {
			continue
		}
		var owners []string
		for _, other := range Kinds() {
			if slices.Contains(other.fields(), field) {
				owners = append(owners, string(other))
			}
		}
		refuse(true, field, "The kind %s has no field %q. Kinds with this field: %s.", k, field, strings.Join(owners, ", "))
	}
}

// foreign returns the fields of a spec and of its conditions that belong to another kind. FlowForge would ignore
// them.
func (sp *Spec) foreign() (fields []apperr.Field) {
	refuse := refuserOf(&fields)
	set := sp.only().set()
	if j := sp.Join; j != nil {
		set["all"], set["within"], set["by"] = len(j.All) > 0, strings.TrimSpace(j.Within) != "", strings.TrimSpace(j.By) != ""
	}
	sp.Kind.refuseForeign(set, refuse)
	if sp.Kind == OnAll && sp.Join != nil {
		for i, c := range sp.Join.All {
			c.Kind.refuseForeign(c.set(), refuse.at(fmt.Sprintf("all.%d", i)))
		}
	}
	slices.SortFunc(fields, func(a, b apperr.Field) int { return strings.Compare(a.Path, b.Path) })
	return fields
}

// set reports which fields that only some kinds have are set.
func (c Condition) set() map[string]bool {
	return map[string]bool{
		"sources": len(unique(c.Sources)) > 0, "states": len(unique(c.States)) > 0, "stages": len(unique(c.Stages)) > 0,
		"signature": c.Signature != "", "secret": strings.TrimSpace(c.Secret) != "", "http": c.HTTP != nil, "s3": c.S3 != nil,
	}
}

// Own returns the condition without the fields of other kinds.
func (c Condition) Own() Condition {
	has := func(field string) bool { return slices.Contains(c.Kind.fields(), field) }
	if !has("sources") {
		c.Sources = nil
	}
	if !has("states") {
		c.States = nil
	}
	if !has("stages") {
		c.Stages = nil
	}
	if !has("signature") {
		c.Signature, c.Secret = "", ""
	}
	if !has("http") {
		c.HTTP = nil
	}
	if !has("s3") {
		c.S3 = nil
	}
	return c
}

// Own returns the spec without the fields of other kinds, such as those that a form does not show.
func (sp Spec) Own() Spec {
	c := sp.only().Own()
	sp.Sources, sp.States, sp.Stages, sp.Signature, sp.Secret, sp.HTTP, sp.S3 = c.Sources, c.States, c.Stages, c.Signature, c.Secret, c.HTTP, c.S3
	if sp.Kind != OnAll {
		sp.Join = nil
	}
	return sp
}
