//! Errors of the library.

use stiction_scene::SceneError;
use stiction_sim::StepError;

/// Reason for which a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scene was refused. The message has a line for each problem, with its place and remedy.
    #[error("{}", .0.plain())]
    Scene(#[from] SceneError),
    /// A step failed. The world is as it was before the step.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Nothing has this name.
    #[error("there is no {kind} called `{name}`{}", listed(.known))]
    Unknown {
        /// "body", "obstacle" or "probe".
        kind: &'static str,
        /// The requested name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The call needs another kind of body.
    #[error("body `{body}` is {is}: {needs}")]
    Kind {
        /// The body.
        body: String,
        /// The kind of the body.
        is: String,
        /// Requirement of the call.
        needs: &'static str,
    },
    /// A list has the wrong length.
    #[error("body `{body}` has {expected} nodes, {got} values were given")]
    Length {
        /// The body.
        body: String,
        /// The number of nodes.
        expected: usize,
        /// The number of values.
        got: usize,
    },
    /// A number is infinite or not a number.
    #[error("{what} of `{name}` is not finite")]
    NotFinite {
        /// The quantity.
        what: &'static str,
        /// The body or obstacle.
        name: String,
    },
    /// A quaternion that is not of length one, and so no rotation.
    #[error("the rotation of the pose of `{name}` has a quaternion of length {length}, not 1")]
    Rotation {
        /// The body or obstacle.
        name: String,
        /// The length of the quaternion.
        length: f64,
    },
    /// A checkpoint of another world.
    #[error("the checkpoint belongs to another scene")]
    OtherScene,
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    if names.is_empty() {
        return "; there is none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(MOST).map(|n| format!("`{n}`")).collect();
    let more = match names.len() > MOST {
        true => format!(" and {} more", names.len() - MOST),
        false => String::new(),
    };
    format!("; there are {}{more}", shown.join(", "))
}
