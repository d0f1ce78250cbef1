-- name: GetTenancyNode :one
SELECT * FROM tenancy_nodes WHERE id = $1;
