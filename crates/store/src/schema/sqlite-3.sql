-- What comparisons of runs read beside samples: the plan, the command line, the order of phases, and all of a context's items.
create table plan (
    plan_id integer primary key,
    sha blob not null unique,          -- of the column plan
    plan text not null                 -- without seed and slots, which are in run and trial
);
alter table run add column plan_id integer references plan;
alter table run add column head text;
alter table cell add column phases text;
alter table context add column number integer;
alter table context add column volatile integer;
