-- +goose Up
-- Whether there is an event that the feed does not contain. The relay asks several times a second,
-- and relay_events, which plans a query over all sources, costs a hundred times as much.
-- +goose StatementBegin
CREATE FUNCTION feed_has_news() RETURNS boolean LANGUAGE plpgsql STABLE
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    state  event_feed_state;
    lowest xid8;
BEGIN
    SELECT * INTO state FROM event_feed_state;
    IF state.system <> (SELECT system_identifier FROM pg_control_system()) THEN
        RETURN true; -- a restored database; relay_events decides what is new
    END IF;
    lowest := pg_snapshot_xmin(state.horizon);
    RETURN EXISTS (SELECT FROM events s WHERE s.tx >= lowest AND NOT pg_visible_in_snapshot(s.tx, state.horizon))
        OR EXISTS (SELECT FROM artifacts s WHERE s.tx >= lowest AND NOT pg_visible_in_snapshot(s.tx, state.horizon))
        OR EXISTS (SELECT FROM audit_log s WHERE s.tx >= lowest AND NOT pg_visible_in_snapshot(s.tx, state.horizon))
        OR EXISTS (SELECT FROM quota_events s WHERE s.tx >= lowest AND NOT pg_visible_in_snapshot(s.tx, state.horizon))
        OR EXISTS (SELECT FROM catalogue_entries s WHERE s.tx >= lowest AND NOT pg_visible_in_snapshot(s.tx, state.horizon))
        OR EXISTS (SELECT FROM model_history s WHERE s.tx >= lowest AND NOT pg_visible_in_snapshot(s.tx, state.horizon));
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION feed_has_news();
