package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

const (
	tenants   = 5
	teams     = 40
	workflows = 200
)

// flow is a workflow with its project.
type flow struct {
	id, version     uuid.UUID
	tenant, project uuid.UUID
	name            string
}

type builtin struct{}

func (builtin) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

// teams adds the tenants, the teams with a project each, and their workflows. The first team is
// that of the local administrator.
func (b *bench) teams(ctx context.Context) ([]flow, error) {
	places := []flow{{tenant: auth.LocalTenant, project: auth.LocalProject}}
	list := []uuid.UUID{auth.LocalTenant}
	for i := 1; i < tenants; i++ {
		id := uuid.New()
		_, err := b.pool.Exec(ctx, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name)
			SELECT $1, 'tenant', id, kind, $1, path || $1::uuid, $2 FROM tenancy_nodes WHERE kind = 'installation'`, id, fmt.Sprintf("tenant-%d", i))
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	for i := 1; i < teams; i++ {
		parent := list[i%tenants]
		for _, kind := range []string{"team", "project"} {
			id, name, namespace := uuid.New(), fmt.Sprintf("%s-%d", kind, i), any(nil)
			if kind == "project" {
				namespace = name
			}
			_, err := b.pool.Exec(ctx, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
				SELECT $1, $2, id, kind, tenant_id, path || $1::uuid, $4, $5 FROM tenancy_nodes WHERE id = $3`, id, kind, parent, name, namespace)
			if err != nil {
				return nil, err
			}
			parent = id
		}
		places = append(places, flow{tenant: list[i%tenants], project: parent})
	}
	return b.workflows(ctx, places)
}

func (b *bench) workflows(ctx context.Context, places []flow) ([]flow, error) {
	service := workflow.NewService(b.pool, builtin{}, nil, time.Now)
	flows := make([]flow, 0, workflows)
	for i := range workflows {
		f := places[i%len(places)]
		subject := auth.Local()
		subject.TenantID, subject.ProjectID = f.tenant, f.project
		f.name = fmt.Sprintf("train-%d", i/len(places))
		v, _, err := service.Register(auth.WithSubject(ctx, subject), []byte(definition(f.name)))
		if err != nil {
			return nil, err
		}
		f.id, f.version = v.WorkflowID, v.ID
		flows = append(flows, f)
	}
	return flows, nil
}

// definition is a workflow of three nodes with all inputs.
func definition(name string) string {
	var declared strings.Builder
	for _, in := range inputs() {
		kind := "Float"
		if in.values != nil {
			kind = "String"
		}
		fmt.Fprintf(&declared, "  - {name: %s, type: %s}\n", in.name, kind)
	}
	return "name: " + name + "\nversion: 1.0.0\ninputs:\n" + declared.String() + `operators:
  - {name: prepare, type: command, code: {command: ["true"]}}
  - {name: train, type: command, code: {command: ["true"]}, depends_on: [prepare]}
  - {name: evaluate, type: command, code: {command: ["true"]}, depends_on: [train]}
`
}
