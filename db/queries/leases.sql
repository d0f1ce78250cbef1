-- name: TakeLease :one
-- Locks the lease for the session, starts a new term and returns the former holder. Returns no
-- row if another session has the lock. A single statement does both, so a process that freezes
-- never has the lock without the row.
WITH lock AS MATERIALIZED (SELECT pg_try_advisory_lock(1179012678, hashtext(@name::text)) AS taken),
former AS (SELECT l.holder FROM leases l WHERE l.name = @name::text)
INSERT INTO leases AS l (name, holder, term, address, expires_at)
SELECT @name::text, @holder::text, 1, @address::text, clock_timestamp() + make_interval(secs => @ttl_seconds::float8) FROM lock WHERE lock.taken
ON CONFLICT ON CONSTRAINT leases_pkey DO UPDATE SET
    holder = EXCLUDED.holder, term = l.term + 1, address = EXCLUDED.address, expires_at = EXCLUDED.expires_at
RETURNING term, coalesce((SELECT former.holder FROM former), '')::text AS former;

-- name: TakeTerm :one
-- Starts a new term for a server that was elected by other means, for example by a Kubernetes
-- lease.
WITH former AS (SELECT l.holder FROM leases l WHERE l.name = @name::text)
INSERT INTO leases AS l (name, holder, term, address, expires_at)
VALUES (@name::text, @holder::text, 1, @address::text, clock_timestamp() + make_interval(secs => @ttl_seconds::float8))
ON CONFLICT ON CONSTRAINT leases_pkey DO UPDATE SET
    holder = EXCLUDED.holder, term = l.term + 1, address = EXCLUDED.address, expires_at = EXCLUDED.expires_at
RETURNING term, coalesce((SELECT former.holder FROM former), '')::text AS former;

-- name: RenewLease :execrows
UPDATE leases SET expires_at = clock_timestamp() + make_interval(secs => @ttl_seconds::float8)
WHERE name = @name AND holder = @holder AND term = @term;

-- name: EndLease :exec
-- Releases the lease. It removes the holder, so that the next leader does not end the sessions
-- of this one.
UPDATE leases SET expires_at = clock_timestamp(), holder = '', address = '' WHERE name = @name AND holder = @holder AND term = @term;

-- name: ReleaseLeadership :exec
-- Releases the lease and the lock of the session, and notifies the candidates. A single
-- statement does all of it, so a process that freezes here does not keep a lock without a row.
WITH ended AS (
    UPDATE leases SET expires_at = clock_timestamp(), holder = '', address = ''
    WHERE name = @name::text AND holder = @holder AND term = @term
    RETURNING name
), first AS MATERIALIZED (SELECT count(*) AS n FROM ended)
SELECT pg_advisory_unlock_all(), pg_notify('flowforge_leases', @name::text) FROM first WHERE first.n >= 0;

-- name: LeaseHolder :one
-- Returns the holder of a lease that has not expired.
SELECT holder, term, address FROM leases WHERE name = @name AND expires_at > clock_timestamp() AND address <> '';

-- name: ListLeases :many
SELECT name, holder, term, address, expires_at, (expires_at > clock_timestamp())::bool AS held FROM leases ORDER BY name;

-- name: EvictExpired :one
-- Ends the sessions of a holder whose lease has expired but whose session still has the lock,
-- because the process is frozen or disconnected.
SELECT coalesce(sum(end_sessions(l.holder)), 0)::int AS ended
FROM leases l
WHERE l.name = @name AND l.expires_at <= clock_timestamp() AND l.holder <> @candidate::text;

-- name: EndSessions :one
SELECT end_sessions(@holder)::int AS ended;

-- name: TakeOverExecutions :execrows
-- Prepares all live executions for a new leader: the epoch fences every former loop, and the
-- executions become available. The update covers all owners, because no other server drives
-- executions now. It clears the owner, because a former leader that has not noticed its loss
-- would renew the leases it owned.
UPDATE executions SET
    owner = '', owner_epoch = owner_epoch + 1,
    lease_until = CASE WHEN lease_until IS NOT NULL THEN now() - interval '1 second' END,
    drive_requested_at = drive_requested_at - interval '1 day'
WHERE status IN ('PENDING', 'RUNNING', 'PAUSED') AND (lease_until IS NOT NULL OR drive_requested_at IS NOT NULL);

-- name: HoldsTerm :one
-- Reports whether term is the latest of the scheduler. Term 0 means that the server has no
-- lease.
SELECT (@term::bigint = 0 OR EXISTS (SELECT 1 FROM leases WHERE name = 'scheduler' AND term = @term::bigint))::bool AS holds;

-- name: NotifyDrive :exec
-- Notifies the process that drives these executions to check their rows.
SELECT pg_notify('flowforge_drive', id::text) FROM unnest(@ids::uuid[]) AS t(id);
