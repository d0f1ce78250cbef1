-- Reports: pages that people write in Markdown with live blocks. A report has at least one revision;
-- its own row repeats the title, the number and the author of the latest one for lists.
-- +goose Up
CREATE TABLE project_reports (
    id         uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES tenancy_nodes ON DELETE CASCADE,
    title      text NOT NULL,
    revision   integer NOT NULL, -- the latest
    owner_id   uuid NOT NULL,
    owner_name text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT project_reports_title_check CHECK (char_length(title) BETWEEN 1 AND 120)
);
CREATE UNIQUE INDEX project_reports_title_key ON project_reports (project_id, lower(title));
CREATE INDEX project_reports_project_idx ON project_reports (project_id, updated_at DESC, id DESC);

CREATE TABLE report_revisions (
    report_id     uuid NOT NULL REFERENCES project_reports ON DELETE CASCADE,
    revision      integer NOT NULL,
    title         text NOT NULL,
    body          text NOT NULL, -- Markdown
    note          text NOT NULL DEFAULT '',
    restored_from integer, -- the revision whose title and text this one repeats
    author_id     uuid NOT NULL,
    author_name   text NOT NULL,
    created_at    timestamptz NOT NULL,
    CONSTRAINT report_revisions_pkey PRIMARY KEY (report_id, revision),
    CONSTRAINT report_revisions_body_check CHECK (octet_length(body) <= 262144)
);

-- +goose Down
DROP TABLE report_revisions;
DROP TABLE project_reports;
