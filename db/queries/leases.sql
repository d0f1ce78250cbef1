-- name: TakeLease :one
-- Takes the session's lock of the lease and a new term at once, and answers who held
-- the one before; no row when another session has the lock. In one statement, so that
-- a process which freezes never has the lock without the row.
WITH lock AS MATERIALIZED (SELECT pg_try_advisory_lock(1179012678, hashtext(@name::text)) AS taken),
former AS (SELECT l.holder FROM leases l WHERE l.name = @name::text)
INSERT INTO leases AS l (name, holder, term, address, expires_at)
SELECT @name::text, @holder::text, 1, @address::text, clock_timestamp() + make_interval(secs => @ttl_seconds::float8) FROM lock WHERE lock.taken
ON CONFLICT ON CONSTRAINT leases_pkey DO UPDATE SET
    holder = EXCLUDED.holder, term = l.term + 1, address = EXCLUDED.address, expires_at = EXCLUDED.expires_at
RETURNING term, coalesce((SELECT former.holder FROM former), '')::text AS former;

-- name: TakeTerm :one
-- TakeLease for who has the right to the lease from elsewhere.
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
-- Gives the lease back. Without a holder nobody ends the sessions of the former one.
UPDATE leases SET expires_at = clock_timestamp(), holder = '', address = '' WHERE name = @name AND holder = @holder AND term = @term;

-- name: GiveLeaseBack :exec
-- EndLease for who has the session's lock, which it lets go of, and tells the
-- candidates. In one statement, so that a process which freezes here does not keep a
-- lock that no row explains.
WITH ended AS (
    UPDATE leases SET expires_at = clock_timestamp(), holder = '', address = ''
    WHERE name = @name::text AND holder = @holder AND term = @term
    RETURNING name
), first AS MATERIALIZED (SELECT count(*) AS n FROM ended)
SELECT pg_advisory_unlock_all(), pg_notify('flowforge_leases', @name::text) FROM first WHERE first.n >= 0;

-- name: LeaseHolder :one
-- Who holds a lease that has not run out.
SELECT holder, term, address FROM leases WHERE name = @name AND expires_at > clock_timestamp() AND address <> '';

-- name: ListLeases :many
SELECT name, holder, term, address, expires_at, (expires_at > clock_timestamp())::bool AS held FROM leases ORDER BY name;

-- name: EvictExpired :one
-- Ends the sessions of a holder whose lease has run out although its session still
-- holds the lock: it is frozen or cut off.
SELECT coalesce(sum(end_sessions(l.holder)), 0)::int AS ended
FROM leases l
WHERE l.name = @name AND l.expires_at <= clock_timestamp() AND l.holder <> @candidate::text;

-- name: EndSessions :one
SELECT end_sessions(@holder)::int AS ended;

-- name: TakeOverExecutions :execrows
-- For a new leader: every former loop is fenced by the epoch, and what it drove is
-- free. Nobody else drives, so this asks for no owner. It leaves none either: a former
-- leader that does not know yet that it is one would renew what it owned.
UPDATE executions SET
    owner = '', owner_epoch = owner_epoch + 1,
    lease_until = CASE WHEN lease_until IS NOT NULL THEN now() - interval '1 second' END,
    drive_requested_at = drive_requested_at - interval '1 day'
WHERE status IN ('PENDING', 'RUNNING', 'PAUSED') AND (lease_until IS NOT NULL OR drive_requested_at IS NOT NULL);

-- name: HoldsTerm :one
-- Whether term is still the latest of the scheduler; 0 is a server without a lease.
SELECT (@term::bigint = 0 OR EXISTS (SELECT 1 FROM leases WHERE name = 'scheduler' AND term = @term::bigint))::bool AS holds;

-- name: NotifyDrive :exec
-- Tells the process that drives these executions to look at their rows.
SELECT pg_notify('flowforge_drive', id::text) FROM unnest(@ids::uuid[]) AS t(id);
