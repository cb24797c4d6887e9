//! Real zeros of polynomials of low degree.

/// All real zeros of Σ c[i] xⁱ, ascending, by bisection between the zeros of the derivative; a
/// zero that only touches the axis within rounding is found as the place where it touches.
///
/// The leading coefficient must not be small against the others.
pub(super) fn real_zeros(c: &[f64]) -> Vec<f64> {
    let Some((&lead, rest)) = c.split_last() else {
        return Vec::new();
    };
    if rest.is_empty() || lead == 0.0 {
        return Vec::new();
    }
    // Cauchy's bound: outside it the leading term wins.
    let bound = 1.0 + rest.iter().fold(0.0f64, |m, x| m.max((x / lead).abs()));
    let derivative: Vec<f64> = (1..c.len()).map(|i| i as f64 * c[i]).collect();
    let mut ends = vec![-bound];
    ends.extend(
        real_zeros(&derivative)
            .into_iter()
            .filter(|x| x.abs() < bound),
    );
    ends.push(bound);

    let mut zeros = Vec::new();
    for &x in &ends[1..ends.len() - 1] {
        let size = c.iter().rev().fold(0.0, |s, c| s * x.abs() + c.abs());
        if value(c, x).abs() <= 1e-10 * size {
            zeros.push(x);
        }
    }
    for ends in ends.windows(2) {
        let (mut low, mut high) = (ends[0], ends[1]);
        let rising = value(c, low) < 0.0;
        if rising == (value(c, high) < 0.0) {
            continue;
        }
        // Ends when no number is left between the two.
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if (value(c, middle) < 0.0) == rising {
                low = middle;
            } else {
                high = middle;
            }
        }
        zeros.push(low);
    }
    zeros.sort_by(f64::total_cmp);
    zeros
}

fn value(c: &[f64], x: f64) -> f64 {
    c.iter().rev().fold(0.0, |y, c| y * x + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coefficients of Π (x − zero) (x² + 1)^pairs.
    fn with_zeros(zeros: &[f64], pairs: usize) -> Vec<f64> {
        let times = |c: Vec<f64>, factor: &[f64]| {
            let mut product = vec![0.0; c.len() + factor.len() - 1];
            for (i, a) in c.iter().enumerate() {
                for (j, b) in factor.iter().enumerate() {
                    product[i + j] += a * b;
                }
            }
            product
        };
        let c = zeros.iter().fold(vec![1.0], |c, z| times(c, &[-z, 1.0]));
        (0..pairs).fold(c, |c, _| times(c, &[1.0, 0.0, 1.0]))
    }

    #[test]
    fn zeros_are_found() {
        let cases: [(&[f64], usize); 6] = [
            (&[-3.0, -0.5, 0.25, 7.0], 0),
            (&[1e-9, 1.0, 2.0, 3.0], 0),
            (&[-1.0, 4.0], 1),
            (&[], 2),
            (&[0.5], 0),
            (&[-100.0, -99.0, 98.0], 0),
        ];
        for (zeros, pairs) in cases {
            let found = real_zeros(&with_zeros(zeros, pairs));
            assert_eq!(found.len(), zeros.len(), "{found:?}");
            for (a, b) in found.iter().zip(zeros) {
                assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
            }
        }
    }

    #[test]
    fn double_zeros_are_found_at_least_once() {
        let found = real_zeros(&with_zeros(&[0.3, 0.3, -2.0, -2.0], 0));
        for zero in [0.3, -2.0] {
            assert!(found.iter().any(|x| (x - zero).abs() < 1e-7), "{found:?}");
        }
    }
}
