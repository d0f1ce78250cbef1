-- The pieces of streamed outputs, if writer and reader share no disk. The store keeps the bytes
-- while a row names them; rows are deleted when the execution ends.
-- +goose Up
CREATE TABLE stream_pieces (
    execution_id uuid NOT NULL,
    node_index   integer NOT NULL,
    attempt      integer NOT NULL,
    output       text NOT NULL,
    piece        integer NOT NULL,
    sha256       bytea NOT NULL,
    size         bigint NOT NULL,
    written_at   timestamptz NOT NULL,
    CONSTRAINT stream_pieces_pkey PRIMARY KEY (execution_id, node_index, attempt, output, piece),
    CONSTRAINT stream_pieces_piece_check CHECK (piece >= 0),
    CONSTRAINT stream_pieces_sha256_check CHECK (length(sha256) = 32),
    CONSTRAINT stream_pieces_size_check CHECK (size > 0)
);

-- +goose Down
DROP TABLE stream_pieces;
