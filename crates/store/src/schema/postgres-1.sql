-- Tables of a store in PostgreSQL. The partitions of `sample` are made by imports, one for each quarter of a year in UTC.
create table run (
    run_id bytea primary key,          -- SHA-256 of the first line of the log
    name text not null, study text not null, profile text not null, seed numeric(20) not null,
    tool text not null, "commit" text, target text not null,
    machine text, machine_named boolean not null, kernel text,
    started_at timestamptz not null, ended_at timestamptz,
    finished integer, failed integer, skipped integer,
    tags jsonb not null,
    plan_sha bytea not null,
    log_lines bigint not null, log_sha bytea not null,
    ingested_at timestamptz not null
);
create index run_by_study on run (study, started_at);
create index run_by_kernel on run (kernel);
create index run_by_tags on run using gin (tags);

create table cell_kind (
    cell_id bigint generated always as identity primary key,
    cell_sha bytea not null unique,    -- of the study and the settled parameters
    study text not null, label text not null, filesystem text not null, workload text not null,
    levels jsonb not null, cell jsonb not null
);

create table cell (
    run_id bytea not null references run, cell integer not null,
    cell_id bigint not null references cell_kind,
    label text not null, levels jsonb not null, kernel text,
    primary key (run_id, cell)
);

create table metric (
    metric_id integer generated always as identity primary key,
    phase text not null, metric text not null, clock text not null, unit text not null,
    unique (phase, metric, clock, unit)
);

create table trial (
    run_id bytea not null references run, trial integer not null,
    block integer not null, cell integer not null, seed numeric(20) not null,
    status text not null, failure text, message text, node text,
    started_at timestamptz, total_s double precision,
    primary key (run_id, trial)
);

create table sample (
    started_at timestamptz not null,   -- of the run
    run_id bytea not null, trial integer not null,
    cell_id bigint not null, metric_id integer not null,
    holds boolean not null, value double precision not null
) partition by range (started_at);
create index sample_by_series on sample (cell_id, metric_id, started_at);
create index sample_by_run on sample (run_id);

create table evidence (
    run_id bytea not null references run, trial integer not null,
    phase text, name text not null, holds boolean, detail text not null
);
create index evidence_by_run on evidence (run_id, trial);

create table context (
    run_id bytea not null references run, moment text not null, name text not null,
    value jsonb, source text, reason text
);
create index context_by_run on context (run_id, name);
