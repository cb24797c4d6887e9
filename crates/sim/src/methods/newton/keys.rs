//! The keys of method `newton`.

use crate::{
    keys::{Key, KeyDefault, Keys},
    newton::{Config, NewtonStop},
};

pub(super) const KEYS: &[Key] = &[
    Key::positive(
        "tolerance",
        "m/s",
        KeyDefault::number(1e-8),
        "stop when no velocity changes by more",
    ),
    Key::count(
        "max_iterations",
        1,
        KeyDefault::count(50),
        "fail if that takes more iterations",
    ),
    Key::count(
        "iterations",
        1,
        KeyDefault::Absent,
        "a fixed number of iterations, in place of the two",
    ),
    Key::positive(
        "linear_tolerance",
        "1",
        KeyDefault::number(1e-12),
        "relative residual of linear solves across attachments",
    ),
];

pub(super) fn configure(keys: &Keys<'_>) -> Config {
    let mut config = Config::default();
    if keys.has("iterations") {
        for key in ["tolerance", "max_iterations"] {
            if keys.has(key) {
                let message = format!(
                    "[method] fixes the number of `iterations`, so that `{key}` has no meaning"
                );
                let help = format!("remove `{key}` or `iterations`");
                keys.refuse(key, &message, Some(&help));
            }
        }
        if let Some(count) = keys.count("iterations") {
            config.stop = NewtonStop::Fixed(count as usize);
        }
    } else if let NewtonStop::Tolerance { tolerance, max } = &mut config.stop {
        keys.set_number("tolerance", tolerance);
        keys.set_count("max_iterations", max);
    }
    keys.set_number("linear_tolerance", &mut config.linear_tolerance);
    config
}
