use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

fn points(sizes: &[(f64, &[f64])]) -> Vec<Point> {
    let of = |(x, values): &(f64, &[f64])| -> Vec<Point> {
        values.iter().map(|&y| Point { x: *x, y }).collect()
    };
    sizes.iter().flat_map(of).collect()
}

/// Follows a power law with b = 1.15.
fn bent() -> Vec<Point> {
    points(&[
        (1e4, &[0.91, 0.95, 0.93]),
        (2e4, &[1.98, 2.05, 2.11]),
        (4e4, &[4.6, 4.41, 4.52]),
        (8e4, &[10.1, 9.7, 10.4]),
    ])
}

/// A line with a constant; sizes of two, three and four runs.
fn straight() -> Vec<Point> {
    points(&[
        (1e4, &[1.31, 1.27, 1.29]),
        (2e4, &[1.52, 1.60, 1.55]),
        (4e4, &[2.21, 2.15]),
        (8e4, &[3.4, 3.3, 3.35, 3.42]),
    ])
}

/// Neither: the runs of a size agree within 1 %, the sizes lie 20 % off both laws.
fn neither() -> Vec<Point> {
    points(&[
        (1e4, &[1.0, 1.01, 0.99]),
        (2e4, &[2.4, 2.41, 2.39]),
        (4e4, &[3.8, 3.82, 3.79]),
        (8e4, &[9.0, 8.97, 9.02]),
    ])
}

fn law(growth: &Growth, law: Law) -> &Fit {
    growth.fits.iter().find(|f| f.law == law).unwrap()
}

fn close(ours: f64, theirs: f64, within: f64) {
    assert!(
        (ours - theirs).abs() <= within * theirs.abs(),
        "{ours} against {theirs}"
    );
}

fn near(ours: Estimate, theirs: [f64; 3], within: f64) {
    close(ours.value, theirs[0], within);
    close(ours.interval.low, theirs[1], within);
    close(ours.interval.high, theirs[2], within);
}

/// scipy 1.17.1: `linregress(log x, log y)` with t intervals, sigma^2 = S / 10; AICc from
/// `lognorm.logpdf`; F of the sizes' misses by numpy and `f.sf`.
#[test]
fn power_law_as_in_scipy() {
    let growth = grow(&bent(), 0.95).unwrap();
    let fit = law(&growth, Law::Power);
    near(
        fit.parameters[0],
        [
            2.44374575145998e-05,
            1.96717567020734e-05,
            3.0357702101659615e-05,
        ],
        1e-9,
    );
    near(
        fit.parameters[1],
        [1.1447661918312717, 1.1236623381993875, 1.1658700454631559],
        1e-10,
    );
    near(
        fit.at(8e5),
        [139.86655051704065, 130.0972188672362, 150.36948617248697],
        1e-9,
    );
    close(fit.squares, 0.006465188777785173, 1e-10);
    close(fit.aicc.unwrap(), -20.51151176525229, 1e-10);
    close(fit.spread, 0.02542673549196824, 1e-10);
    let lack = fit.lack_of_fit.unwrap();
    close(lack.f, 0.10530913041282995, 1e-8);
    close(lack.p, 0.9012732987719059, 1e-8);
    assert_eq!((growth.best().law, fit.degrees), (Law::Power, 10.0));
    assert!(growth.distinguishable() && growth.reported().len() == 1);
}

/// scipy 1.17.1: `least_squares` on the logarithms with bounds at 0; profiles by
/// `minimize_scalar` over the other parameter and `brentq` to the F cut.
#[test]
fn linear_law_as_in_scipy() {
    let growth = grow(&straight(), 0.95).unwrap();
    let fit = growth.best();
    assert_eq!((fit.law, fit.degrees), (Law::Linear, 10.0));
    near(
        fit.parameters[0],
        [0.9818928990829894, 0.9490292959146611, 1.0151709279606898],
        1e-7,
    );
    near(
        fit.parameters[1],
        [
            2.9743144359196217e-05,
            2.8674036605356306e-05,
            3.082482527285922e-05,
        ],
        1e-6,
    );
    near(
        fit.at(8e5),
        [24.77640838643996, 23.945671004431645, 25.617492118606016],
        1e-7,
    );
    close(fit.squares, 0.003722712266650907, 1e-8);
    close(fit.aicc.unwrap(), -36.87315965811866, 1e-9);
    let lack = fit.lack_of_fit.unwrap();
    close(lack.f, 1.0160775202903236, 1e-6);
    close(lack.p, 0.40437379777404825, 1e-6);
    // AICc of the power law in scipy: -6.19449671585658.
    close(
        growth.other().delta,
        -6.19449671585658 + 36.87315965811866,
        1e-9,
    );
    assert!(fit.warnings.is_empty());
}

/// A line cannot bend upwards: the best has c = 0, the end of the search, and its interval of c
/// begins there. The same scipy as above.
#[test]
fn a_constant_of_zero_is_an_end_and_no_failure() {
    let growth = grow(&bent(), 0.95).unwrap();
    let fit = law(&growth, Law::Linear);
    assert_eq!(fit.parameters[0].value, 0.0);
    assert_eq!(fit.parameters[0].interval.low, 0.0);
    close(fit.parameters[0].interval.high, 0.9030782585993035, 1e-6);
    near(
        fit.parameters[1],
        [
            0.00010776785441004594,
            6.48669645799859e-05,
            0.00015163743940562334,
        ],
        1e-6,
    );
    near(
        fit.at(8e5),
        [86.21428352803676, 52.49408059282384, 121.30995152449869],
        1e-6,
    );
    close(fit.aicc.unwrap(), 17.804391940155107, 1e-9);
    assert!(matches!(fit.warnings[..], [Warning::LackOfFit { .. }]));
}

/// Where both laws miss, the interval is made from the misses: 2 degrees of freedom, not 10.
#[test]
fn what_a_law_misses_widens_its_intervals() {
    let growth = grow(&neither(), 0.95).unwrap();
    let fit = law(&growth, Law::Power);
    assert_eq!(fit.degrees, 2.0);
    close(fit.spread, 0.22355348374492692, 1e-9);
    near(
        fit.at(8e5),
        [90.19832362326359, 26.382310360346025, 308.37851095389374],
        1e-8,
    );
    near(
        law(&growth, Law::Linear).at(8e5),
        [85.14402850398295, 51.243700578905795, 112.7279257180156],
        1e-6,
    );
    assert!(!growth.distinguishable() && growth.reported().len() == 2);
    assert!(growth.fits.iter().all(|f| !f.warnings.is_empty()));
}

#[test]
fn sizes_are_counted_not_values() {
    let three = points(&[
        (1e4, &[1.0, 1.1]),
        (2e4, &[2.0, 2.1]),
        (4e4, &[4.0, 4.1, 4.2]),
    ]);
    assert_eq!(
        grow(&three, 0.95).unwrap_err(),
        Error::FewSizes { need: 4, have: 3 }
    );
    // 1 % apart is the same size, counted a little differently.
    let mut near = three;
    near.push(Point { x: 1.01e4, y: 1.0 });
    assert!(grow(&near, 0.95).is_err());
    near.push(Point { x: 8e4, y: 8.0 });
    let growth = grow(&near, 0.95).unwrap();
    assert_eq!(growth.sizes.len(), 4);
    assert_eq!(growth.sizes[0].values, [1.0, 1.1, 1.0]);
    assert_eq!((growth.range, growth.reach(8e5)), ((1e4, 8e4), 10.0));
    near[0].y = 0.0;
    assert!(matches!(grow(&near, 0.95), Err(Error::NotPositive { .. })));
    near[0].y = 1.0;
    near[1].x = f64::NAN;
    assert!(matches!(grow(&near, 0.95), Err(Error::NotFinite { .. })));
    assert!(matches!(grow(&[], 0.95), Err(Error::Empty)));
}

/// One run at each of four sizes: AICc would divide by 0, the difference does not.
#[test]
fn four_values_have_no_aicc_but_a_difference() {
    let one = points(&[(1e4, &[1.3]), (2e4, &[1.56]), (4e4, &[2.2]), (8e4, &[3.37])]);
    let growth = grow(&one, 0.95).unwrap();
    assert_eq!(growth.best().aicc, None);
    assert!(growth.other().delta > 2.0);
    assert_eq!(growth.best().warnings, [Warning::NoRepetition]);
    assert_eq!(growth.best().lack_of_fit, None);
}

/// Without any noise: y = 3 x is both laws, y = 2 + x is one, and a constant is d = 0 and b = 0.
#[test]
fn exact_laws_are_found_exactly() {
    let of = |f: fn(f64) -> f64| -> Vec<Point> {
        let sizes = [1.0, 3.0, 9.0, 27.0, 81.0];
        let twice = sizes.iter().flat_map(|&x| [x, x]);
        twice.map(|x| Point { x, y: f(x) }).collect()
    };
    let both = grow(&of(|x| 3.0 * x), 0.95).unwrap();
    assert!(!both.distinguishable());
    let line = law(&both, Law::Linear);
    assert_eq!(line.parameters[0].value, 0.0);
    close(line.parameters[1].value, 3.0, 1e-12);
    close(law(&both, Law::Power).parameters[1].value, 1.0, 1e-12);
    assert!(line.warnings.contains(&Warning::NoSpread));
    let line = grow(&of(|x| 2.0 + x), 0.95).unwrap();
    assert!(line.distinguishable());
    close(line.best().parameters[0].value, 2.0, 1e-6);
    close(line.best().parameters[1].value, 1.0, 1e-6);
    let flat = grow(&of(|_| 5.0), 0.95).unwrap();
    let line = law(&flat, Law::Linear);
    assert_eq!(
        (line.parameters[1].value, flat.distinguishable()),
        (0.0, false)
    );
    close(line.at(1e9).value, 5.0, 1e-12);
}

/// How often a nominal interval holds the truth, of 300 simulated data sets with one seed: the
/// first and second parameter, and the law at ten times the largest size.
fn coverage(law: Law, parameters: [f64; 2], sizes: &[f64], runs: usize, misses: f64) -> [usize; 3] {
    let mut draws = Draws(ChaCha8Rng::from_seed([7; 32]));
    let of = |x: f64| match law {
        Law::Power => parameters[0] * x.powf(parameters[1]),
        Law::Linear => parameters[0] + parameters[1] * x,
    };
    let beyond = sizes[sizes.len() - 1] * 10.0;
    let mut held = [0; 3];
    for _ in 0..300 {
        let mut points = Vec::new();
        for &x in sizes {
            let miss = misses * draws.normal();
            for _ in 0..runs {
                let y = of(x) * (miss + 0.03 * draws.normal()).exp();
                points.push(Point { x, y });
            }
        }
        let growth = grow(&points, 0.95).unwrap();
        let fit = self::law(&growth, law);
        let [first, second] = fit.parameters;
        held[0] += usize::from(first.interval.contains(parameters[0]));
        held[1] += usize::from(second.interval.contains(parameters[1]));
        held[2] += usize::from(fit.at(beyond).interval.contains(of(beyond)));
    }
    held
}

/// Standard normal numbers: Box and Muller, Annals of Mathematical Statistics 29 (1958), 610-611.
struct Draws(ChaCha8Rng);

impl Draws {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// 90 to 99 % of 300; binomial noise is 1.3 % about 95.
const KEPT: std::ops::RangeInclusive<usize> = 270..=297;

#[test]
fn intervals_keep_their_level() {
    let sizes = [1e4, 2e4, 4e4, 8e4];
    for runs in [3, 5] {
        let power = coverage(Law::Power, [2e-5, 1.2], &sizes, runs, 0.0);
        let line = coverage(Law::Linear, [1.0, 3e-5], &sizes, runs, 0.0);
        for held in power.into_iter().chain(line) {
            assert!(KEPT.contains(&held), "{power:?} {line:?}");
        }
    }
}

/// Sizes that lie off the law by as much as runs vary: without the second look at the misses the
/// intervals would be half as wide as they must be.
#[test]
fn intervals_keep_their_level_where_sizes_miss_the_law() {
    let sizes = [1e4, 2e4, 4e4, 8e4, 16e4];
    let power = coverage(Law::Power, [2e-5, 1.2], &sizes, 5, 0.05);
    let line = coverage(Law::Linear, [1.0, 3e-5], &sizes, 5, 0.05);
    for held in power.into_iter().chain(line) {
        assert!(KEPT.contains(&held), "{power:?} {line:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn scaling_y_scales_the_laws(noise in prop::collection::vec(-0.1..0.1_f64, 12), k in 0.01..100.0_f64) {
        let of = |scale: f64| -> Growth {
            let points: Vec<Point> = straight().iter().zip(&noise)
                .map(|(p, e)| Point { x: p.x, y: p.y * e.exp() * scale })
                .collect();
            grow(&points, 0.95).unwrap()
        };
        let (one, other) = (of(1.0), of(k));
        for (a, b) in one.fits.iter().zip(&other.fits) {
            prop_assert_eq!(a.law, b.law);
            // a, c and d scale with y; b does not.
            for (i, scales) in [true, a.law == Law::Linear].into_iter().enumerate() {
                let factor = if scales { k } else { 1.0 };
                let (x, y) = (a.parameters[i].value * factor, b.parameters[i].value);
                prop_assert!((x - y).abs() <= 1e-6 * y.abs().max(1e-9), "{x} {y}");
            }
            prop_assert!((b.delta - a.delta).abs() < 1e-6);
            let (x, y) = (a.at(1e6).interval.high * k, b.at(1e6).interval.high);
            prop_assert!((x / y - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn scaling_x_scales_the_slope(noise in prop::collection::vec(-0.1..0.1_f64, 12), k in 0.01..100.0_f64) {
        let of = |scale: f64| -> Growth {
            let points: Vec<Point> = straight().iter().zip(&noise)
                .map(|(p, e)| Point { x: p.x * scale, y: p.y * e.exp() })
                .collect();
            grow(&points, 0.95).unwrap()
        };
        let (one, other) = (of(1.0), of(k));
        let (a, b) = (law(&one, Law::Linear), law(&other, Law::Linear));
        let (x, y) = (a.parameters[1].value / k, b.parameters[1].value);
        prop_assert!((x / y - 1.0).abs() < 1e-6);
        prop_assert!((a.parameters[0].value - b.parameters[0].value).abs() < 1e-6);
        let (a, b) = (law(&one, Law::Power), law(&other, Law::Power));
        let (x, y) = (a.parameters[0].value * k.powf(-a.parameters[1].value), b.parameters[0].value);
        prop_assert!((x / y - 1.0).abs() < 1e-9);
        prop_assert!((a.parameters[1].value - b.parameters[1].value).abs() < 1e-9);
        for (a, b) in one.fits.iter().zip(&other.fits) {
            let (x, y) = (a.at(1e6).interval.low, b.at(1e6 * k).interval.low);
            prop_assert!((x / y - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn intervals_hold_the_value_and_grow_with_the_level(
        values in prop::collection::vec(0.1..10.0_f64, 8..20),
        x in 1.0..1e6_f64,
    ) {
        let points: Vec<Point> = values.iter().enumerate()
            .map(|(i, y)| Point { x: 10.0 * f64::from(2_u32.pow((i % 4) as u32)), y: *y })
            .collect();
        let (low, high) = (grow(&points, 0.8).unwrap(), grow(&points, 0.99).unwrap());
        for (a, b) in low.fits.iter().zip(&high.fits) {
            for (a, b) in [(a.at(x), b.at(x)), (a.parameters[0], b.parameters[0]), (a.parameters[1], b.parameters[1])] {
                prop_assert!(a.interval.contains(a.value) && b.interval.contains(b.value), "{a:?} {b:?}");
                prop_assert!(b.interval.low <= a.interval.low * (1.0 + 1e-9) + 1e-300 || a.interval.low < 0.0);
                prop_assert!(a.interval.high <= b.interval.high * (1.0 + 1e-9) + 1e-300);
            }
        }
    }
}
