-- What comparisons of runs read beside samples: the plan, the command line, the order of phases, and all of a context's items.
create table plan (
    plan_id bigint generated always as identity primary key,
    sha bytea not null unique,         -- of the column plan
    plan json not null                 -- without seed and slots, which are in run and trial
);
alter table run add column plan_id bigint references plan, add column head json;
alter table cell add column phases jsonb;
alter table context add column number integer, add column volatile boolean;
