//! The normal, Student's t and F distributions, from statrs, with only the calls that are needed.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// P(Z <= z) of the standard normal distribution.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The z below which a share `p` of the standard normal distribution lies; infinite at 0 and 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p >= 1.0 {
        f64::INFINITY
    } else {
        Normal::standard().inverse_cdf(p)
    }
}

/// P(|Z| >= |z|) of the standard normal distribution.
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    (2.0 * normal_cdf(-z.abs())).min(1.0)
}

/// P(|T| >= |t|) of Student's t with `df` degrees of freedom; NaN where `df` is not positive.
pub(crate) fn t_two_sided(t: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |d| (2.0 * d.sf(t.abs())).min(1.0))
}

/// P(T >= t) of Student's t with `df` degrees of freedom; NaN where `df` is not positive.
pub(crate) fn t_above(t: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |d| d.sf(t))
}

/// The t that a share `level` of Student's distribution lies within; NaN where `df` is not
/// positive.
pub(crate) fn t_quantile_two_sided(level: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |d| d.inverse_cdf(f64::midpoint(1.0, level)))
}

/// P(F >= f) of the F distribution; NaN where a number of degrees of freedom is not positive.
pub(crate) fn f_above(f: f64, above: f64, below: f64) -> f64 {
    FisherSnedecor::new(above, below).map_or(f64::NAN, |d| d.sf(f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, theirs: f64) {
        assert!(
            (ours - theirs).abs() <= 1e-10 * theirs.abs(),
            "{ours} against {theirs}"
        );
    }

    /// scipy 1.10.1: `norm.cdf(-1.96)`, `norm.ppf(0.975)`, `2*norm.sf(3.3)`.
    #[test]
    fn normal_as_in_scipy() {
        close(normal_cdf(-1.96), 0.024997895148220435);
        close(normal_quantile(0.975), 1.959963984540054);
        close(normal_two_sided(3.3), 0.0009668482847675549);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
    }

    /// scipy 1.10.1: `2*t.sf(x, df)` and `t.ppf(0.975, df)`.
    #[test]
    fn student_as_in_scipy() {
        close(t_two_sided(2.5, 4.0), 0.06676654481198813);
        close(t_two_sided(-31.0, 4.7), 1.2845463750888456e-06);
        close(t_two_sided(0.01, 7.9), 0.9922691999836191);
        close(t_quantile_two_sided(0.95, 4.0), 2.7764451051977987);
        close(t_quantile_two_sided(0.95, 1.0), 12.706204736432095);
        close(t_quantile_two_sided(0.99, 7.3), 3.451031655622189);
        close(t_quantile_two_sided(0.95, 250.0), 1.9694983934204002);
        assert_eq!(t_two_sided(0.0, 3.0), 1.0);
        assert!(t_two_sided(1.0, 0.0).is_nan());
    }

    /// scipy 1.17.1: `f.sf(x, dfn, dfd)`.
    #[test]
    fn f_as_in_scipy() {
        close(f_above(3.7, 2.0, 8.0), 0.07282442506183177);
        close(f_above(0.4, 3.0, 16.0), 0.7548851245448258);
        close(f_above(41.5, 2.0, 12.0), 4.062055422025151e-06);
        assert!(f_above(1.0, 0.0, 3.0).is_nan());
    }
}
