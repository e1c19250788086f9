-- Tables of a store in SQLite. Times are RFC 3339 in UTC with microseconds; JSON and seeds are text; truth values are 1 and 0.
-- `run.run` is a number of this file alone; `run.run_id` is the identity of the run everywhere.
create table run (
    run integer primary key,
    run_id blob not null unique,       -- SHA-256 of the first line of the log
    name text not null, study text not null, profile text not null, seed text not null,
    tool text not null, "commit" text, target text not null,
    machine text, machine_named integer not null, kernel text,
    started_at text not null, ended_at text,
    finished integer, failed integer, skipped integer,
    tags text not null,
    plan_sha blob not null,
    log_lines integer not null, log_sha blob not null,
    ingested_at text not null
);
create index run_by_study on run (study, started_at);
create index run_by_kernel on run (kernel);

create table cell_kind (
    cell_id integer primary key,
    cell_sha blob not null unique,     -- of the study and the settled parameters
    study text not null, label text not null, filesystem text not null, workload text not null,
    levels text not null, cell text not null
);

create table cell (
    run integer not null references run, cell integer not null,
    cell_id integer not null references cell_kind,
    label text not null, levels text not null, kernel text,
    primary key (run, cell)
) without rowid;

create table metric (
    metric_id integer primary key,
    phase text not null, metric text not null, clock text not null, unit text not null,
    unique (phase, metric, clock, unit)
);

create table trial (
    run integer not null references run, trial integer not null,
    block integer not null, cell integer not null, seed text not null,
    status text not null, failure text, message text, node text,
    started_at text, total_s real,
    primary key (run, trial)
) without rowid;

create table sample (
    run integer not null references run, trial integer not null,
    cell_id integer not null references cell_kind, metric_id integer not null references metric,
    holds integer not null, value real not null
);
create index sample_by_series on sample (cell_id, metric_id, run);
create index sample_by_run on sample (run, trial);

create table evidence (
    run integer not null references run, trial integer not null,
    phase text, name text not null, holds integer, detail text not null
);
create index evidence_by_run on evidence (run, trial);

create table context (
    run integer not null references run, moment text not null, name text not null,
    value text, source text, reason text
);
create index context_by_run on context (run, name);
