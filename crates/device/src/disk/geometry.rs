//! Where a byte is on a disk: its radius, its angle, and how long reading up to it takes.

/// Maps bytes to radii and angles.
///
/// The radius `x` goes from 0 (outermost cylinder, byte 0) to 1. Reading the whole disk takes
/// `sweep` nanoseconds and moves the head evenly over the radius, because each cylinder takes the same
/// number of turns. Track and cylinder skews are contained in the sustained rates.
#[derive(Clone, Debug)]
pub struct Geometry {
    capacity: u64,
    /// Reading everything, ns.
    sweep: f64,
    /// One turn, ns.
    turn: f64,
    /// Added to all angles, in turns.
    phase: f64,
    map: Map,
}

#[derive(Clone, Debug)]
enum Map {
    /// Rate falls linearly with the radius; the field is inner rate over outer rate.
    Linear(f64),
    /// (share of the capacity, radius) where zones begin, from (0, 0) to (1, 1).
    Zones(Vec<(f64, f64)>),
}

impl Geometry {
    /// From sustained rates in bytes a second; `inner` is at most `outer`.
    pub fn linear(capacity: u64, rpm: f64, outer: f64, inner: f64, phase: f64) -> Geometry {
        Geometry {
            capacity,
            sweep: 2.0 * capacity as f64 / (outer + inner) * 1e9,
            turn: 60e9 / rpm,
            phase,
            map: Map::Linear(inner / outer),
        }
    }

    /// From a table of zones (first cylinder, sectors a track), the number of cylinders, and the
    /// sustained rate of the outermost zone in bytes a second.
    pub fn zoned(
        capacity: u64,
        rpm: f64,
        zones: &[(u64, u64)],
        cylinders: u64,
        outer: f64,
        phase: f64,
    ) -> Geometry {
        let ends = zones.iter().skip(1).map(|zone| zone.0).chain([cylinders]);
        let widths: Vec<f64> = zones
            .iter()
            .zip(ends)
            .map(|(zone, end)| (end - zone.0) as f64)
            .collect();
        let sectors: Vec<f64> = zones
            .iter()
            .zip(&widths)
            .map(|(zone, width)| zone.1 as f64 * width)
            .collect();
        let all: f64 = sectors.iter().sum();
        let mut points = vec![(0.0, 0.0)];
        let (mut share, mut radius) = (0.0, 0.0);
        for (width, sectors) in widths.iter().zip(&sectors) {
            share += sectors / all;
            radius += width / cylinders as f64;
            points.push((share, radius));
        }
        if let Some(last) = points.last_mut() {
            *last = (1.0, 1.0);
        }
        let sweep = points[1].0 * capacity as f64 / (points[1].1 * outer) * 1e9;
        Geometry {
            capacity,
            sweep,
            turn: 60e9 / rpm,
            phase,
            map: Map::Zones(points),
        }
    }

    /// Bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// One turn, ns.
    pub fn turn(&self) -> f64 {
        self.turn
    }

    /// Reading everything, ns.
    pub fn sweep(&self) -> f64 {
        self.sweep
    }

    /// The radius of a byte, 0 to 1.
    pub fn radius(&self, byte: u64) -> f64 {
        let share = (byte as f64 / self.capacity as f64).min(1.0);
        match &self.map {
            Map::Linear(k) if *k > 1.0 - 1e-9 => share,
            Map::Linear(k) => (1.0 - (1.0 - (1.0 - k * k) * share).sqrt()) / (1.0 - k),
            Map::Zones(points) => {
                let after = points.partition_point(|point| point.0 <= share);
                let (Some(&from), Some(&to)) =
                    (points.get(after.wrapping_sub(1)), points.get(after))
                else {
                    return 1.0;
                };
                from.1 + (share - from.0) * (to.1 - from.1) / (to.0 - from.0)
            }
        }
    }

    /// The angle at which the byte at a radius begins, as a fraction of a turn.
    pub fn angle(&self, radius: f64) -> f64 {
        let turns = self.sweep * radius / self.turn + self.phase;
        turns - floor(turns)
    }

    /// Reading from one radius to another, ns.
    pub fn reading(&self, from: f64, to: f64) -> f64 {
        self.sweep * (to - from)
    }

    /// Waits from `at` (ns) until an angle passes the head, ns.
    pub fn rotation(&self, angle: f64, at: f64) -> f64 {
        let turns = angle - at / self.turn;
        let wait = turns - floor(turns);
        // Times are whole nanoseconds: what is due exactly now must not lose a turn to rounding.
        if wait > 1.0 - 1e-5 {
            0.0
        } else {
            wait * self.turn
        }
    }
}

/// The largest whole number that is not above one within 2^63. The library's function is a call where the compiler may not assume
/// SSE 4.1, and this is done for each request that competes.
#[inline]
fn floor(number: f64) -> f64 {
    let whole = number as i64 as f64;
    if whole > number { whole - 1.0 } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_those_of_the_library() {
        for number in [
            0.0,
            0.5,
            -0.5,
            -1.0,
            1.0,
            -1e-12,
            2.5e5,
            -2.5e5 - 0.1,
            9e15,
            -9e15,
        ] {
            assert_eq!(floor(number), f64::floor(number), "{number}");
        }
    }

    const GB: u64 = 1_000_000_000;

    fn cheetah() -> Geometry {
        Geometry::linear(300 * GB, 15_000.0, 125e6, 73e6, 0.0)
    }

    #[test]
    fn the_rate_at_a_radius_is_linear_between_outer_and_inner() {
        let disk = cheetah();
        // All: 2 * 300 GB / 198 MB/s.
        assert!((disk.sweep() / 1e9 - 3030.303).abs() < 0.001);
        for (at, rate) in [(0, 125e6), (300 * GB - 1_000_000, 73e6)] {
            let time = disk.reading(disk.radius(at), disk.radius(at + 1_000_000));
            assert!(
                (1e15 / time / rate - 1.0).abs() < 1e-4,
                "{at}: {}",
                1e15 / time
            );
        }
        // R(x) = R0 - (R0 - R1) x, at the middle of the capacity.
        let x = disk.radius(150 * GB);
        let time = disk.reading(x, disk.radius(150 * GB + 1_000_000));
        assert!((1e15 / time / (125e6 - 52e6 * x) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_disk_of_one_rate_is_even() {
        let disk = Geometry::linear(100 * GB, 7200.0, 50e6, 50e6, 0.0);
        assert!((disk.radius(25 * GB) - 0.25).abs() < 1e-12);
        assert!((disk.sweep() - 2000e9).abs() < 1.0);
    }

    #[test]
    fn zones_give_rates_in_proportion_to_their_sectors() {
        // 1000 cylinders, the inner half with half of the sectors: two thirds of the bytes are outside.
        let disk = Geometry::zoned(3 * GB, 7200.0, &[(0, 200), (500, 100)], 1000, 40e6, 0.0);
        assert!((disk.radius(2 * GB) - 0.5).abs() < 1e-9);
        assert!((disk.sweep() / 1e9 - 100.0).abs() < 1e-6);
        let time = disk.reading(disk.radius(2 * GB), disk.radius(3 * GB));
        assert!((time / 1e9 - 50.0).abs() < 1e-6, "1 GB at 20 MB/s");
    }

    #[test]
    fn a_turn_is_not_lost_to_rounding() {
        let disk = cheetah();
        assert_eq!(disk.rotation(0.25, 1_000_000.4), 0.0);
        assert!((disk.rotation(0.25, 2_000_000.0) - 3_000_000.0).abs() < 0.001);
    }
}
