package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/web/contract"
)

// secretPath names one secret.
type secretPath struct {
	Name string `path:"name" maxLength:"100"`
}

// secretAPI serves the secrets of a project without their values.
type secretAPI struct {
	Secrets *secret.Service
}

func (h *secretAPI) mount(api *operations) {
	operation(api, get("list-secrets", "/secrets", "List the secrets of the project, without their values", "Secrets"), h.apiSecrets)
	operation(api, get("get-secret", "/secrets/{name}", "Get a secret, without its value", "Secrets"), h.apiSecret)
	put := huma.Operation{
		OperationID: "put-secret", Method: http.MethodPut, Path: "/secrets/{name}", Tags: []string{"Secrets"},
		Summary: "Create or replace a secret", MaxBodyBytes: maxSecretBody,
	}
	operation(api, put, h.apiPutSecret)
	remove := huma.Operation{
		OperationID: "delete-secret", Method: http.MethodDelete, Path: "/secrets/{name}", Tags: []string{"Secrets"},
		Summary: "Delete a secret", DefaultStatus: http.StatusNoContent,
	}
	operation(api, remove, h.apiDeleteSecret)
}

func (h *secretAPI) apiSecrets(ctx context.Context, _ *struct{}) (*body[contract.SecretList], error) {
	list, err := h.Secrets.List(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.SecretList{Secrets: make([]contract.SecretBody, 0, len(list))}
	for _, s := range list {
		out.Secrets = append(out.Secrets, toSecretBody(s))
	}
	return reply(out), nil
}

func (h *secretAPI) apiSecret(ctx context.Context, in *secretPath) (*body[contract.SecretBody], error) {
	s, err := h.Secrets.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return reply(toSecretBody(s)), nil
}

// PutSecretInput is the request of put-secret.
type PutSecretInput struct {
	Name string `path:"name" pattern:"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$" patternDescription:"letters, digits, . _ and -, at most 100"`
	Body contract.SecretInput
}

func (h *secretAPI) apiPutSecret(ctx context.Context, in *PutSecretInput) (*body[contract.SecretBody], error) {
	edit := secret.Edit{Name: in.Name, Value: in.Body.Value, Description: in.Body.Description}
	if in.Body.Reference != nil {
		reference := secret.Reference(*in.Body.Reference)
		edit.Reference = &reference
	}
	s, err := h.Secrets.Put(ctx, edit)
	if err != nil {
		return nil, err
	}
	return reply(toSecretBody(s)), nil
}

func (h *secretAPI) apiDeleteSecret(ctx context.Context, in *secretPath) (*struct{}, error) {
	if err := h.Secrets.Delete(ctx, in.Name); err != nil {
		return nil, err
	}
	return nil, nil
}

func toSecretBody(s secret.Secret) contract.SecretBody {
	b := contract.SecretBody{Name: s.Name, Description: s.Description, Source: s.Source, UsedBy: []contract.SecretUse{}}
	if s.Reference != nil {
		reference := contract.SecretReference(*s.Reference)
		b.Reference = &reference
	}
	if s.Editable() {
		b.CreatedAt, b.CreatedBy, b.UpdatedAt, b.UpdatedBy = &s.CreatedAt, s.CreatedBy, &s.UpdatedAt, s.UpdatedBy
	}
	for _, u := range s.Uses {
		use := contract.SecretUse{Workflow: u.Workflow, UsedAt: u.At}
		if u.ExecutionID != uuid.Nil {
			use.ExecutionID = u.ExecutionID.String()
		}
		b.UsedBy = append(b.UsedBy, use)
	}
	return b
}

// maxSecretBody bounds the request that carries one secret, in bytes.
const maxSecretBody = 4 * secret.MaxValue
