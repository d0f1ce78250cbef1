package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/web/contract"
)

// secretStoreAPI serves the secret stores of the installation to administrators, and their names to
// projects.
type secretStoreAPI struct {
	Stores *secretstore.Service
}

// PutSecretStoreInput is the request of put-secret-store.
type PutSecretStoreInput struct {
	Name        string `path:"name" pattern:"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$" patternDescription:"letters, digits, . _ and -, at most 100"`
	IfNoneMatch string `header:"If-None-Match" doc:"With *, the request fails with 409 if the name already exists"`
	Body        contract.SecretStoreInput
}

// TestSecretStoreInput is the request of test-secret-store.
type TestSecretStoreInput struct {
	Name string `path:"name" maxLength:"100"`
	Body contract.SecretStoreProbe
}

func (h *secretStoreAPI) mount(api *operations) {
	operation(api, get("list-secret-stores", "/secret-stores", "List the secret stores, without secret fields", "Secret stores"), h.list)
	operation(api, get("list-offered-secret-stores", "/offered-secret-stores", "List the secret stores that the project may use", "Secret stores"), h.offered)
	operation(api, get("get-secret-store", "/secret-stores/{name}", "Get a secret store, without secret fields", "Secret stores"), h.get)
	operation(api, huma.Operation{
		OperationID: "put-secret-store", Method: http.MethodPut, Path: "/secret-stores/{name}", Tags: []string{"Secret stores"},
		Summary: "Register or change a secret store", MaxBodyBytes: maxConnectionBody,
	}, h.put)
	operation(api, huma.Operation{
		OperationID: "delete-secret-store", Method: http.MethodDelete, Path: "/secret-stores/{name}", Tags: []string{"Secret stores"},
		Summary: "Delete a secret store to which no secret refers", DefaultStatus: http.StatusNoContent,
	}, h.remove)
	operation(api, post("test-secret-store", "/secret-stores/{name}/test", "Test a secret store from the server", "Secret stores"), h.test)
}

func (h *secretStoreAPI) list(ctx context.Context, _ *struct{}) (*body[contract.SecretStoreList], error) {
	list, err := h.Stores.List(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.SecretStoreList{Stores: make([]contract.SecretStoreBody, 0, len(list))}
	for _, s := range list {
		out.Stores = append(out.Stores, toSecretStoreBody(s))
	}
	return reply(out), nil
}

func (h *secretStoreAPI) offered(ctx context.Context, _ *struct{}) (*body[contract.OfferedSecretStores], error) {
	list, err := h.Stores.Offered(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.OfferedSecretStores{Stores: make([]contract.OfferedSecretStore, 0, len(list))}
	for _, s := range list {
		out.Stores = append(out.Stores, contract.OfferedSecretStore(s))
	}
	return reply(out), nil
}

func (h *secretStoreAPI) get(ctx context.Context, in *secretPath) (*body[contract.SecretStoreBody], error) {
	s, err := h.Stores.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return reply(toSecretStoreBody(s)), nil
}

func (h *secretStoreAPI) put(ctx context.Context, in *PutSecretStoreInput) (*body[contract.SecretStoreBody], error) {
	s, err := h.Stores.Put(ctx, secretstore.Edit{
		Name: in.Name, Kind: in.Body.Kind, Description: in.Body.Description, Values: in.Body.Values, Create: in.IfNoneMatch == "*",
	})
	if err != nil {
		return nil, err
	}
	return reply(toSecretStoreBody(s)), nil
}

func (h *secretStoreAPI) remove(ctx context.Context, in *secretPath) (*struct{}, error) {
	return nil, h.Stores.Delete(ctx, in.Name)
}

func (h *secretStoreAPI) test(ctx context.Context, in *TestSecretStoreInput) (*body[contract.SecretStoreTest], error) {
	result, err := h.Stores.Test(ctx, in.Name, secret.Reference{Path: in.Body.Path, Key: in.Body.Key, Version: in.Body.Version})
	if err != nil {
		return nil, err
	}
	return reply(contract.SecretStoreTest(result)), nil
}

func toSecretStoreBody(s secretstore.Store) contract.SecretStoreBody {
	b := contract.SecretStoreBody{
		Name: s.Name, Kind: s.Kind, Description: s.Description, Fields: []contract.ConnectionField{}, Values: s.Settings, SecretFields: append([]string{}, s.Secrets...),
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy, UsedBy: []contract.SecretStoreUse{},
	}
	for _, f := range s.Fields() {
		b.Fields = append(b.Fields, contract.ConnectionField(f))
	}
	for _, u := range s.Uses {
		b.UsedBy = append(b.UsedBy, contract.SecretStoreUse(u))
	}
	return b
}
