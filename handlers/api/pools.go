package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/web/contract"
)

// poolAPI serves the pools of workers outside the cluster, for administrators.
type poolAPI struct {
	Pools *pool.Service
}

type poolPath struct {
	Pool string `path:"pool" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" patternDescription:"the name of a pool"`
}

// CreatePoolInput is the request of create-pool.
type CreatePoolInput struct{ Body contract.PoolInput }

// DrainPoolInput is the request of drain-pool.
type DrainPoolInput struct {
	Pool string `path:"pool" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" patternDescription:"the name of a pool"`
	Body contract.PoolDrain
}

// DrainWorkerInput is the request of drain-pool-worker.
type DrainWorkerInput struct {
	Pool   string    `path:"pool" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" patternDescription:"the name of a pool"`
	Worker uuid.UUID `path:"worker_id" doc:"Worker ID"`
	Body   contract.PoolDrain
}

// PoolAccessRequest is the request of set-pool-access.
type PoolAccessRequest struct {
	Pool string `path:"pool" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" patternDescription:"the name of a pool"`
	Body contract.PoolAccessInput
}

// PoolLimitRequest is the request of set-pool-limit.
type PoolLimitRequest struct {
	Pool string    `path:"pool" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" patternDescription:"the name of a pool"`
	Node uuid.UUID `path:"node_id" doc:"ID of a tenant, department, team or project"`
	Body contract.PoolLimit
}

// PoolTokenPath is the request of revoke-pool-token.
type PoolTokenPath struct {
	Pool  string `path:"pool" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" patternDescription:"the name of a pool"`
	Token string `path:"token_id" pattern:"^[a-z2-7]{12}$" patternDescription:"the ID of a token"`
}

func (h *poolAPI) mount(api *operations) {
	operation(api, get("list-pools", "/pools", "List the pools of workers with their queues", "Pools"), h.list)
	operation(api, huma.Operation{
		OperationID: "create-pool", Method: http.MethodPost, Path: "/pools", Tags: []string{"Pools"}, Summary: "Create a pool", DefaultStatus: http.StatusCreated,
	}, h.create)
	operation(api, get("get-pool", "/pools/{pool}", "Get a pool with its workers and tokens", "Pools"), h.get)
	operation(api, huma.Operation{
		OperationID: "delete-pool", Method: http.MethodDelete, Path: "/pools/{pool}", Tags: []string{"Pools"}, Summary: "Delete a pool without tasks", DefaultStatus: http.StatusNoContent,
	}, h.remove)
	operation(api, get("get-pool-access", "/pools/{pool}/access", "Get which projects may use a pool", "Pools"), h.access)
	operation(api, huma.Operation{
		OperationID: "set-pool-access", Method: http.MethodPut, Path: "/pools/{pool}/access", Tags: []string{"Pools"},
		Summary: "Restrict a pool to some projects, or allow every project",
	}, h.setAccess)
	operation(api, get("list-pool-shares", "/pools/{pool}/shares", "List the limits and the usage of a pool by tenant, department, team and project", "Pools"), h.shares)
	operation(api, huma.Operation{
		OperationID: "set-pool-limit", Method: http.MethodPut, Path: "/pools/{pool}/limits/{node_id}", Tags: []string{"Pools"},
		Summary: "Limit what a tenant, department, team or project may run in a pool, or remove the limit", DefaultStatus: http.StatusNoContent,
	}, h.setLimit)
	operation(api, huma.Operation{
		OperationID: "drain-pool", Method: http.MethodPut, Path: "/pools/{pool}/drain", Tags: []string{"Pools"}, Summary: "Drain a pool, or stop draining it",
	}, h.drain)
	operation(api, huma.Operation{
		OperationID: "drain-pool-worker", Method: http.MethodPut, Path: "/pools/{pool}/workers/{worker_id}/drain", Tags: []string{"Pools"},
		Summary: "Drain a worker, or stop draining it", DefaultStatus: http.StatusNoContent,
	}, h.drainWorker)
	operation(api, huma.Operation{
		OperationID: "create-pool-token", Method: http.MethodPost, Path: "/pools/{pool}/tokens", Tags: []string{"Pools"},
		Summary: "Create a token with which workers join a pool", DefaultStatus: http.StatusCreated,
	}, h.createToken)
	operation(api, huma.Operation{
		OperationID: "revoke-pool-token", Method: http.MethodDelete, Path: "/pools/{pool}/tokens/{token_id}", Tags: []string{"Pools"},
		Summary: "Revoke a token of a pool", DefaultStatus: http.StatusNoContent,
	}, h.revokeToken)
}

func (h *poolAPI) list(ctx context.Context, _ *struct{}) (*body[contract.PoolList], error) {
	pools, err := h.Pools.List(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.PoolList{Pools: make([]contract.PoolBody, len(pools))}
	for i, p := range pools {
		out.Pools[i] = toPoolBody(p)
	}
	return reply(out), nil
}

func (h *poolAPI) create(ctx context.Context, in *CreatePoolInput) (*body[contract.PoolBody], error) {
	p, err := h.Pools.Create(ctx, in.Body.Name, in.Body.Description)
	if err != nil {
		return nil, err
	}
	return reply(toPoolBody(p)), nil
}

func (h *poolAPI) get(ctx context.Context, in *poolPath) (*body[contract.PoolDetail], error) {
	p, err := h.Pools.Get(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	workers, err := h.Pools.Workers(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	attempts, _, err := h.Pools.Attempts(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	tokens, err := h.Pools.Tokens(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	out := contract.PoolDetail{PoolBody: toPoolBody(p), WorkerList: []contract.PoolWorker{}, Tokens: []contract.PoolToken{}}
	for _, k := range workers {
		w := contract.PoolWorker{
			ID: k.ID.String(), Name: k.Name, Labels: k.Labels, Capacity: contract.PoolAmount(k.Capacity), Version: k.Version, State: k.State(),
			Tasks: []string{}, JoinedAt: k.JoinedAt, Heartbeat: k.SeenAt,
		}
		for _, a := range attempts {
			if a.Worker == k.ID {
				w.Tasks = append(w.Tasks, a.TaskID)
			}
		}
		out.WorkerList = append(out.WorkerList, w)
	}
	for _, t := range tokens {
		out.Tokens = append(out.Tokens, toPoolToken(t))
	}
	return reply(out), nil
}

func (h *poolAPI) remove(ctx context.Context, in *poolPath) (*struct{}, error) {
	return nil, h.Pools.Delete(ctx, in.Pool)
}

func (h *poolAPI) drain(ctx context.Context, in *DrainPoolInput) (*body[contract.PoolBody], error) {
	p, err := h.Pools.Drain(ctx, in.Pool, in.Body.Draining)
	if err != nil {
		return nil, err
	}
	return reply(toPoolBody(p)), nil
}

func (h *poolAPI) drainWorker(ctx context.Context, in *DrainWorkerInput) (*struct{}, error) {
	return nil, h.Pools.DrainWorker(ctx, in.Pool, in.Worker, in.Body.Draining)
}

func (h *poolAPI) createToken(ctx context.Context, in *poolPath) (*body[contract.NewPoolToken], error) {
	t, secret, err := h.Pools.CreateToken(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	return reply(contract.NewPoolToken{PoolToken: toPoolToken(t), Token: secret}), nil
}

func (h *poolAPI) revokeToken(ctx context.Context, in *PoolTokenPath) (*struct{}, error) {
	return nil, h.Pools.RevokeToken(ctx, in.Pool, in.Token)
}

func (h *poolAPI) access(ctx context.Context, in *poolPath) (*body[contract.PoolAccess], error) {
	a, err := h.Pools.Access(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	return reply(toPoolAccess(a)), nil
}

func (h *poolAPI) setAccess(ctx context.Context, in *PoolAccessRequest) (*body[contract.PoolAccess], error) {
	var a pool.Access
	var err error
	switch {
	case in.Body.Restricted:
		a, err = h.Pools.Restrict(ctx, in.Pool, in.Body.Nodes)
	case len(in.Body.Nodes) > 0:
		err = apperr.InvalidFields("Access to the pool was not changed.", []apperr.Field{{Path: "nodes", Message: "Nodes need restricted: true."}})
	default:
		a, err = h.Pools.AllowEveryone(ctx, in.Pool)
	}
	if err != nil {
		return nil, err
	}
	return reply(toPoolAccess(a)), nil
}

func (h *poolAPI) shares(ctx context.Context, in *poolPath) (*body[contract.PoolShareList], error) {
	if _, err := h.Pools.Get(ctx, in.Pool); err != nil {
		return nil, err
	}
	list, err := h.Pools.Shares(ctx, in.Pool)
	if err != nil {
		return nil, err
	}
	out := contract.PoolShareList{Shares: make([]contract.PoolShare, len(list))}
	for i, s := range list {
		out.Shares[i] = contract.PoolShare{
			Node: toAccessNode(s.Node), Limit: contract.PoolLimit(s.Limit), Running: s.Running, GPUs: s.GPUs, Queued: s.Queued,
			Ended: s.Ended, TaskHours: s.TaskHours, GPUHours: s.GPUHours,
		}
	}
	return reply(out), nil
}

func (h *poolAPI) setLimit(ctx context.Context, in *PoolLimitRequest) (*struct{}, error) {
	return nil, h.Pools.SetLimit(ctx, in.Pool, in.Node, pool.Limit(in.Body))
}

func toAccessNode(n pool.AccessNode) contract.PoolAccessNode {
	return contract.PoolAccessNode{ID: n.ID, Kind: n.Kind, Path: n.Path, Archived: n.Archived}
}

func toPoolAccess(a pool.Access) contract.PoolAccess {
	out := contract.PoolAccess{Restricted: a.Restricted, Nodes: []contract.PoolAccessNode{}}
	for _, n := range a.Nodes {
		out.Nodes = append(out.Nodes, toAccessNode(n))
	}
	return out
}

func toPoolBody(p pool.Pool) contract.PoolBody {
	return contract.PoolBody{
		Name: p.Name, Description: p.Description, Draining: p.Draining, Restricted: p.Restricted, CreatedAt: p.CreatedAt, CreatedBy: p.CreatedBy, Workers: p.Workers, Connected: p.Connected,
		Capacity: contract.PoolAmount(p.Capacity), Used: contract.PoolAmount(p.Used), Queued: p.Queued, Running: p.Running, WaitSeconds: p.Wait.Seconds(),
	}
}

func toPoolToken(t pool.Token) contract.PoolToken {
	return contract.PoolToken{ID: t.ID, CreatedAt: t.CreatedAt, CreatedBy: t.CreatedBy, LastUsedAt: t.LastUsedAt}
}
