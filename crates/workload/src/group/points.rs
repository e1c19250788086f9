//! How far a rank was, and when: a bounded number of points, at least 10 ms apart.

/// Least time between two points, ns.
const APART: u64 = 10_000_000;
/// Points that are kept: then every second one is left out, and they are twice as far apart.
const MOST: usize = 2048;

/// Amounts by time.
#[derive(Clone, Debug)]
pub struct Points {
    /// Time, and what was done by then.
    reached: Vec<(u64, u64)>,
    apart: u64,
    /// Time from which the next point counts.
    next: u64,
}

impl Points {
    /// Nothing is done at this time.
    pub fn from(begin_ns: u64) -> Points {
        let mut reached = Vec::with_capacity(MOST);
        reached.push((begin_ns, 0));
        Points {
            reached,
            apart: APART,
            next: begin_ns + APART,
        }
    }

    /// Whether it is time for a point.
    #[inline]
    pub fn is_due(&self, ns: u64) -> bool {
        ns >= self.next
    }

    /// So much is done at this time, which is not before that of another point.
    pub fn add(&mut self, ns: u64, amount: u64) {
        if self.reached.len() == MOST {
            let mut at = 0;
            self.reached.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.apart *= 2;
        }
        self.reached.push((ns, amount));
        self.next = ns + self.apart;
    }

    /// What was done at a time: between two points in proportion.
    pub fn at(&self, ns: u64) -> u64 {
        let after = self.reached.partition_point(|(at, _)| *at <= ns);
        let Some(&(from, done)) = after.checked_sub(1).and_then(|at| self.reached.get(at)) else {
            return 0;
        };
        let Some(&(to, then)) = self.reached.get(after) else {
            return done;
        };
        let share = (ns - from) as f64 / (to - from).max(1) as f64;
        done + (share * (then - done) as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_found_by_its_time() {
        let mut points = Points::from(1_000);
        assert!(!points.is_due(1_000) && points.is_due(1_000 + APART));
        points.add(2_000, 100);
        points.add(4_000, 300);
        let found: Vec<u64> = [0, 1_000, 1_500, 2_000, 3_000, 4_000, 9_000]
            .map(|ns| points.at(ns))
            .into();
        assert_eq!(found, [0, 0, 50, 100, 200, 300, 300]);
    }

    proptest::proptest! {
        #[test]
        fn memory_is_bounded_and_the_course_is_kept(steps in 1_u64..20_000, each in 1_u64..50) {
            let mut points = Points::from(0);
            let (mut ns, mut done) = (0, 0);
            for _ in 0..steps {
                ns += each * 1_000_000;
                done += each;
                if points.is_due(ns) {
                    points.add(ns, done);
                }
            }
            points.add(ns.max(1), done);
            proptest::prop_assert!(points.reached.len() <= MOST + 1);
            // An even course: any moment is within a point's distance.
            for share in [0.1, 0.5, 0.9] {
                let moment = (ns as f64 * share) as u64;
                let exact = moment as f64 / 1e6;
                let apart = points.apart as f64 / 1e6 + 2.0 * each as f64;
                proptest::prop_assert!((points.at(moment) as f64 - exact).abs() <= apart);
            }
            proptest::prop_assert_eq!(points.at(u64::MAX), done);
        }
    }
}
