-- Medians. The median of an even count is the middle of the two values in the middle, as percentile_cont(0.5) computes it.
create view run_median as
with ordered as (
    select s.run, t.cell, s.cell_id, s.metric_id, s.value, s.holds,
           row_number() over (partition by s.run, t.cell, s.metric_id order by s.value) as place,
           count(*) over (partition by s.run, t.cell, s.metric_id) as n
    from sample s join trial t on t.run = s.run and t.trial = s.trial
)
select r.run_id, o.cell, o.cell_id, o.metric_id, o.n,
       min(case when 2 * o.place >= o.n then o.value end)
         + 0.5 * (max(case when 2 * o.place <= o.n + 2 - o.n % 2 then o.value end)
                  - min(case when 2 * o.place >= o.n then o.value end)) as median,
       min(o.holds) as holds
from ordered o join run r on r.run = o.run
group by o.run, o.cell, o.metric_id;

create view kernel_median as
with ordered as (
    select c.kernel, r.machine, m.cell_id, m.metric_id, m.median,
           row_number() over (partition by c.kernel, r.machine, m.cell_id, m.metric_id order by m.median) as place,
           count(*) over (partition by c.kernel, r.machine, m.cell_id, m.metric_id) as n
    from run_median m
    join run r on r.run_id = m.run_id
    join cell c on c.run = r.run and c.cell = m.cell
)
select kernel, machine, cell_id, metric_id, n as runs,
       min(case when 2 * place >= n then median end)
         + 0.5 * (max(case when 2 * place <= n + 2 - n % 2 then median end)
                  - min(case when 2 * place >= n then median end)) as median
from ordered
group by kernel, machine, cell_id, metric_id;
