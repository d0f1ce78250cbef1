package api

import (
	"context"
	"net/http"

	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/web/contract"
)

// metaflowInput is the request of set-metaflow-datastore and test-metaflow-datastore.
type metaflowInput struct {
	Body contract.MetaflowPlace
}

// metaflowAPI serves the datastore of Metaflow of a project.
type metaflowAPI struct {
	Datastores *datastore.Service
}

func (h *metaflowAPI) mount(api *operations) {
	const path = "/metaflow/datastore"
	operation(api, get("get-metaflow-datastore", path, "Get the project's Metaflow datastore", "Metaflow"), h.apiDatastore)
	set := post("set-metaflow-datastore", path, "Set the project's Metaflow datastore", "Metaflow")
	set.Method = http.MethodPut
	operation(api, set, h.apiSetDatastore)
	operation(api, post("test-metaflow-datastore", path+"/test", "Test whether the server can read a datastore, without saving it", "Metaflow"), h.apiTestDatastore)
}

func (h *metaflowAPI) apiDatastore(ctx context.Context, _ *struct{}) (*body[contract.MetaflowDatastore], error) {
	p, err := h.Datastores.Get(ctx)
	if err != nil {
		return nil, err
	}
	return reply(toDatastoreBody(p)), nil
}

func (h *metaflowAPI) apiSetDatastore(ctx context.Context, in *metaflowInput) (*body[contract.MetaflowDatastore], error) {
	p, err := h.Datastores.Put(ctx, fromPlaceBody(in.Body))
	if err != nil {
		return nil, err
	}
	return reply(toDatastoreBody(p)), nil
}

func (h *metaflowAPI) apiTestDatastore(ctx context.Context, in *metaflowInput) (*body[contract.MetaflowDatastoreTest], error) {
	found, err := h.Datastores.Test(ctx, fromPlaceBody(in.Body))
	if err != nil {
		return nil, err
	}
	out := contract.MetaflowDatastoreTest{OK: found.OK, Message: found.Message, Flows: []string{}}
	out.Flows = append(out.Flows, found.Flows...)
	return reply(out), nil
}

func fromPlaceBody(b contract.MetaflowPlace) datastore.Place {
	return datastore.Place{
		Kind: datastore.Kind(b.Kind), Root: b.Root, Endpoint: b.Endpoint, Region: b.Region,
		AccessKeySecret: b.AccessKeySecret, SecretKeySecret: b.SecretKeySecret, SessionTokenSecret: b.SessionTokenSecret,
	}
}

func toDatastoreBody(p datastore.Place) contract.MetaflowDatastore {
	out := contract.MetaflowDatastore{
		MetaflowPlace: contract.MetaflowPlace{
			Kind: string(p.Kind), Root: p.Root, Endpoint: p.Endpoint, Region: p.Region,
			AccessKeySecret: p.AccessKeySecret, SecretKeySecret: p.SecretKeySecret, SessionTokenSecret: p.SessionTokenSecret,
		},
		Own: p.Own, UpdatedBy: p.UpdatedBy, Machine: datastore.Machine(), Environment: map[string]string{},
	}
	if !p.UpdatedAt.IsZero() {
		out.UpdatedAt = &p.UpdatedAt
	}
	for _, variable := range p.Environment() {
		out.Environment[variable[0]] = variable[1]
	}
	return out
}
