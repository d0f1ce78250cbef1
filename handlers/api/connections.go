package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/web/contract"
)

type connectionQuery struct {
	Kind string `query:"kind" doc:"Return only connections of this kind" enum:"postgres,clickhouse,s3,http,grpc,huggingface,slack,teams,email,pagerduty,webhook,custom"`
}

// PutConnectionInput is the request of put-connection.
type PutConnectionInput struct {
	Name        string `path:"name" pattern:"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$" patternDescription:"letters, digits, . _ and -, at most 100"`
	IfNoneMatch string `header:"If-None-Match" doc:"With *, the request fails with 409 if the name already exists"`
	Body        contract.ConnectionInput
}

// maxConnectionBody bounds the request that carries one connection, in bytes.
const maxConnectionBody = 4 * connection.MaxEdit

// connectionAPI serves the connections of a project.
type connectionAPI struct {
	Connections *connection.Service
}

func (h *connectionAPI) mount(api *operations) {
	operation(api, get("list-connections", "/connections", "List the connections of the project, without secret fields", "Connections"), h.apiConnections)
	operation(api, get("get-connection", "/connections/{name}", "Get a connection, without secret fields", "Connections"), h.apiConnection)
	operation(api, huma.Operation{
		OperationID: "put-connection", Method: http.MethodPut, Path: "/connections/{name}", Tags: []string{"Connections"},
		Summary: "Create or change a connection", MaxBodyBytes: maxConnectionBody,
	}, h.apiPutConnection)
	operation(api, huma.Operation{
		OperationID: "delete-connection", Method: http.MethodDelete, Path: "/connections/{name}", Tags: []string{"Connections"},
		Summary: "Delete a connection", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteConnection)
	operation(api, post("test-connection", "/connections/{name}/test", "Test a connection from the server", "Connections"), h.apiTestConnection)
}

func (h *connectionAPI) apiConnections(ctx context.Context, in *connectionQuery) (*body[contract.ConnectionList], error) {
	list, err := h.Connections.List(ctx, in.Kind)
	if err != nil {
		return nil, err
	}
	out := contract.ConnectionList{Connections: make([]contract.ConnectionBody, 0, len(list))}
	for _, c := range list {
		out.Connections = append(out.Connections, toConnectionBody(c))
	}
	return reply(out), nil
}

func (h *connectionAPI) apiConnection(ctx context.Context, in *secretPath) (*body[contract.ConnectionBody], error) {
	c, err := h.Connections.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return reply(toConnectionBody(c)), nil
}

func (h *connectionAPI) apiPutConnection(ctx context.Context, in *PutConnectionInput) (*body[contract.ConnectionBody], error) {
	edit := connection.Edit{
		Name: in.Name, Kind: in.Body.Kind, Description: in.Body.Description, Values: in.Body.Values, Create: in.IfNoneMatch == "*",
	}
	for _, f := range in.Body.Declared {
		edit.Declared = append(edit.Declared, connection.Field(f))
	}
	c, err := h.Connections.Put(ctx, edit)
	if err != nil {
		return nil, err
	}
	return reply(toConnectionBody(c)), nil
}

func (h *connectionAPI) apiDeleteConnection(ctx context.Context, in *secretPath) (*struct{}, error) {
	return nil, h.Connections.Delete(ctx, in.Name)
}

func (h *connectionAPI) apiTestConnection(ctx context.Context, in *secretPath) (*body[contract.ConnectionTest], error) {
	result, err := h.Connections.Test(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	out := contract.ConnectionTest{OK: result.OK, DurationMS: result.Duration.Milliseconds(), Steps: make([]contract.ConnectionStep, 0, len(result.Steps))}
	for _, s := range result.Steps {
		out.Steps = append(out.Steps, contract.ConnectionStep(s))
	}
	return reply(out), nil
}

func toConnectionBody(c connection.Connection) contract.ConnectionBody {
	b := contract.ConnectionBody{
		Name: c.Name, Kind: c.Kind, Description: c.Description, Fields: []contract.ConnectionField{}, Values: c.Settings, SecretFields: append([]string{}, c.Secrets...),
		CreatedAt: c.CreatedAt, CreatedBy: c.CreatedBy, UpdatedAt: c.UpdatedAt, UpdatedBy: c.UpdatedBy, UsedBy: []contract.ConnectionUse{},
	}
	for _, f := range c.Fields() {
		b.Fields = append(b.Fields, contract.ConnectionField(f))
	}
	for _, u := range c.Uses {
		b.UsedBy = append(b.UsedBy, contract.ConnectionUse{Workflow: u.Workflow, ExecutionID: u.ExecutionID.String(), UsedAt: u.At})
	}
	return b
}
