//! The power law: a line in the logarithms, so everything has a closed form.

use super::data::Data;

/// `h_b(x) = b (ln x - centre)`.
pub(super) fn log(b: f64, u: f64) -> f64 {
    b * u
}

/// Least squares.
pub(super) fn best(data: &Data) -> f64 {
    let across: f64 = data.u.iter().zip(&data.z).map(|(u, z)| u * z).sum();
    across / along(data)
}

/// S is a parabola in b: where it is `above` its least.
pub(super) fn region(data: &Data, best: f64, above: f64) -> (f64, f64) {
    let half = (above / along(data)).sqrt();
    (best - half, best + half)
}

/// Sum of squares of the centred ln x; positive, as there are several sizes.
fn along(data: &Data) -> f64 {
    data.u.iter().map(|u| u * u).sum()
}
