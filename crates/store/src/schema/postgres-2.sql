-- Medians.
create view run_median as
select s.run_id, t.cell, min(s.cell_id) as cell_id, s.metric_id, count(*) as n,
       percentile_cont(0.5) within group (order by s.value) as median, bool_and(s.holds) as holds
from sample s join trial t on t.run_id = s.run_id and t.trial = s.trial
group by s.run_id, t.cell, s.metric_id;

create view kernel_median as
select c.kernel, r.machine, m.cell_id, m.metric_id, count(*) as runs,
       percentile_cont(0.5) within group (order by m.median) as median
from run_median m
join run r on r.run_id = m.run_id
join cell c on c.run_id = r.run_id and c.cell = m.cell
group by c.kernel, r.machine, m.cell_id, m.metric_id;
