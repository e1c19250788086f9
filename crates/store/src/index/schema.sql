-- The index of one run. Derived from events.jsonl; see docs/formats.md.
pragma user_version = 1;

create table run (
    name text not null, study text not null, title text not null, question text not null,
    repeats text, profile text not null,
    seed text not null,            -- decimal; 64 bits without a sign
    trial_order text not null,     -- blocked, sequential
    blocks integer not null, band real not null,
    tool text not null, command text not null, target text not null,
    started_at text not null,      -- RFC 3339, UTC
    resumed integer not null default 0,
    ended_at text,                 -- null while the run is not whole, as all below
    finished integer, failed integer, skipped integer,
    seconds real, peak_rss integer -- bytes
);

create table cell (
    cell integer primary key, label text not null,
    filesystem_kind text not null, filesystem text not null,  -- JSON
    device text not null,                                     -- JSON
    workload_name text not null, workload_kind text not null,
    workload text not null                                    -- JSON
);

create table level (
    cell integer not null references cell, factor text not null, level text not null,
    primary key (cell, factor)
) without rowid;

create table trial (
    trial integer primary key, block integer not null, cell integer not null references cell,
    seed text not null,
    status text not null,          -- pending, finished, failed, replaced
    failure text,                  -- cell, trial, interrupted
    message text,
    started_at text,               -- of the last attempt
    telemetry text,                -- relative to the run's folder
    driver text, mounted_type text, mounted text,             -- JSON
    device_s real, mkfs_s real, mount_s real, wait_s real, workload_s real, umount_s real,
    total_s real
);

create table phase (
    trial integer not null references trial, position integer not null, phase text not null,
    begin_ns integer not null, end_ns integer not null,       -- CLOCK_MONOTONIC, as the telemetry
    detail text not null,                                     -- JSON
    primary key (trial, position)
) without rowid;

create table sample (               -- of finished trials only
    trial integer not null references trial, phase text not null, metric text not null,
    clock text not null,           -- original, fsync, syncfs
    value real not null, unit text not null
);
create index sample_of on sample (trial);

create table evidence (
    trial integer not null references trial, phase text, name text not null,
    holds integer,                 -- 1, 0; null: could not be checked
    detail text not null
);

create table context_item (
    moment text not null,          -- start, end, trial N
    name text not null, value text, source text, reason text
);

create table note (
    trial integer references trial,                           -- null: of the whole run
    kind text not null,            -- note, warning
    message text not null
);
