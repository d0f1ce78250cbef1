-- name: AppendStream :exec
-- Stores the next piece of an output. A repetition changes nothing.
INSERT INTO stream_pieces (execution_id, node_index, attempt, output, piece, sha256, size, written_at)
VALUES (@execution_id, @node_index, @attempt, @output, @piece, @sha256, @size, @written_at)
ON CONFLICT DO NOTHING;

-- name: HasPiece :one
SELECT EXISTS (
    SELECT 1 FROM stream_pieces s
    WHERE s.execution_id = @execution_id AND s.node_index = @node_index AND s.attempt = @attempt AND s.output = @output AND s.piece = @piece
);

-- name: IsPiece :one
-- Reports whether a blob is a piece of any attempt of a node.
SELECT EXISTS (
    SELECT 1 FROM stream_pieces s
    WHERE s.execution_id = @execution_id AND s.node_index = @node_index AND s.output = @output AND s.sha256 = @sha256
);

-- name: StreamPieces :many
SELECT s.sha256, s.size FROM stream_pieces s
WHERE s.execution_id = @execution_id AND s.node_index = @node_index AND s.attempt = @attempt AND s.output = @output AND s.piece >= @known::int
ORDER BY s.piece LIMIT @most::int;

-- name: ForgetStreams :exec
DELETE FROM stream_pieces WHERE execution_id = @execution_id;
