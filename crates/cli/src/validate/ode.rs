//! Ordinary differential equations of closed forms that end in one.

/// y' = f(y) from `start` over `time` in `steps` steps, by the classical method of fourth order.
pub fn integrate<const N: usize>(
    start: [f64; N],
    time: f64,
    steps: usize,
    f: impl Fn(&[f64; N]) -> [f64; N],
) -> [f64; N] {
    let h = time / steps as f64;
    let at = |y: &[f64; N], k: &[f64; N], by: f64| -> [f64; N] {
        std::array::from_fn(|i| y[i] + by * k[i])
    };
    let mut y = start;
    for _ in 0..steps {
        let k1 = f(&y);
        let k2 = f(&at(&y, &k1, 0.5 * h));
        let k3 = f(&at(&y, &k2, 0.5 * h));
        let k4 = f(&at(&y, &k3, h));
        y = std::array::from_fn(|i| y[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]));
    }
    y
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_oscillator_turns_round() {
        let [x, v] = super::integrate([1.0, 0.0], std::f64::consts::TAU, 1000, |y| [y[1], -y[0]]);
        assert!((x - 1.0).abs() < 1e-9 && v.abs() < 1e-9, "{x} {v}");
    }
}
