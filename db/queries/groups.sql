-- name: ChildStates :many
-- Counts the children of expanded nodes by state.
SELECT p.node_index AS parent, shown_state(c.state, c.reason) AS state, count(*)::int AS count
FROM nodes p
JOIN nodes c ON c.execution_id = p.execution_id AND c.node_index >= p.first_child AND c.node_index < p.first_child + p.child_count
WHERE p.execution_id = @execution_id AND p.node_index = ANY (@parents::int[])
GROUP BY p.node_index, 2;

-- name: ChildFailures :many
-- Returns the failures in a range of indexes, most frequent first. Messages that differ only
-- in numbers count as the same failure; ListNodes uses the same key.
SELECT g.key, g.code, g.count, g.first, coalesce(m.error->>'message', '')::text AS message
FROM (
    SELECT f.key, f.code, count(*)::int AS count, min(f.node_index)::int AS first
    FROM (
        SELECT n.node_index, coalesce(n.error->>'code', '')::text AS code,
            md5(coalesce(n.error->>'exit_code', '') || regexp_replace(coalesce(n.error->>'message', ''), '[0-9]+', '#', 'g'))::text AS key
        FROM nodes n
        WHERE n.execution_id = @execution_id AND n.node_index >= @first AND n.node_index < @beyond AND n.state = 'FAILED'
    ) f
    GROUP BY f.key, f.code
    ORDER BY count(*) DESC, min(f.node_index)
    LIMIT @max_rows
) g
JOIN nodes m ON m.execution_id = @execution_id AND m.node_index = g.first
ORDER BY g.count DESC, g.first;

-- name: NodeAncestors :many
-- Returns the ancestors of a node, outermost first.
WITH RECURSIVE above AS (
    SELECT n.node_index, n.parent_index, n.name, n.item_index, 0 AS height FROM nodes n
    WHERE n.execution_id = @execution_id AND n.node_index = @node_index
    UNION ALL
    SELECT n.node_index, n.parent_index, n.name, n.item_index, a.height + 1 FROM above a
    JOIN nodes n ON n.execution_id = @execution_id AND n.node_index = a.parent_index
)
SELECT a.node_index, a.name, a.item_index FROM above a WHERE a.height > 0 ORDER BY a.height DESC;
