-- Secret stores: external managers of secrets that an administrator registers, with sealed
-- credentials. A secret of a project has either a sealed value or a reference to a store. The value
-- of a reference is never stored.
-- +goose Up
CREATE TABLE secret_stores (
    name          text NOT NULL CONSTRAINT secret_stores_pkey PRIMARY KEY,
    kind          text NOT NULL,
    description   text NOT NULL DEFAULT '',
    settings      jsonb NOT NULL,
    secret_fields text[] NOT NULL DEFAULT '{}',
    key_id        text,
    sealed        bytea,
    created_at    timestamptz NOT NULL,
    created_by    text NOT NULL,
    updated_at    timestamptz NOT NULL,
    updated_by    text NOT NULL,
    CONSTRAINT secret_stores_name_check CHECK (name ~ '^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$'),
    CONSTRAINT secret_stores_sealed_check CHECK ((key_id IS NULL) = (sealed IS NULL) AND (sealed IS NULL) = (cardinality(secret_fields) = 0))
);

ALTER TABLE secrets
    ADD COLUMN store text,
    ADD COLUMN store_path text,
    ADD COLUMN store_key text,
    ADD COLUMN store_version text,
    ALTER COLUMN key_id DROP NOT NULL,
    ALTER COLUMN sealed DROP NOT NULL,
    ADD CONSTRAINT secrets_store_fkey FOREIGN KEY (store) REFERENCES secret_stores,
    ADD CONSTRAINT secrets_value_check CHECK ((store IS NULL) = (sealed IS NOT NULL) AND (key_id IS NULL) = (sealed IS NULL)
        AND (store IS NULL) = (store_path IS NULL) AND (store IS NULL) = (store_key IS NULL) AND (store IS NULL) = (store_version IS NULL));
CREATE INDEX secrets_store_idx ON secrets (store) WHERE store IS NOT NULL;

-- +goose Down
DELETE FROM secrets WHERE store IS NOT NULL;
DROP INDEX secrets_store_idx;
ALTER TABLE secrets
    DROP CONSTRAINT secrets_value_check,
    DROP CONSTRAINT secrets_store_fkey,
    DROP COLUMN store,
    DROP COLUMN store_path,
    DROP COLUMN store_key,
    DROP COLUMN store_version,
    ALTER COLUMN key_id SET NOT NULL,
    ALTER COLUMN sealed SET NOT NULL;
DROP TABLE secret_stores;
