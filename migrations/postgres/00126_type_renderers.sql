-- Pages that show the values of custom types. The definition of the type has the hash (file).
-- +goose Up
CREATE TABLE type_renderers (
    tenant_id uuid NOT NULL,
    type_name text NOT NULL,
    file      text NOT NULL,
    html      text NOT NULL,
    CONSTRAINT type_renderers_pkey PRIMARY KEY (tenant_id, type_name),
    CONSTRAINT type_renderers_type_fkey FOREIGN KEY (tenant_id, type_name) REFERENCES custom_types (tenant_id, name) ON DELETE CASCADE,
    CONSTRAINT type_renderers_html_check CHECK (length(html) BETWEEN 1 AND 524288)
);

-- +goose Down
DROP TABLE type_renderers;
