//! Channels of an animation.

use serde_json::Value;
use stiction_math::elementary::{acos, sin};

use super::access::{Document, items};
use super::{inconsistent, link, unsupported};
use crate::MeshLimits;
use crate::error::MeshFileError;

/// One animation.
pub(super) struct Clip {
    channels: Vec<Channel>,
}

/// The animated property of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Translation,
    Rotation,
    Scale,
    Weights,
}

struct Channel {
    node: usize,
    path: Path,
    times: Vec<f64>,
    /// Values of a key: `width` numbers, three times as many with cubic splines.
    values: Vec<f64>,
    width: usize,
    between: Between,
}

#[derive(Clone, Copy, PartialEq)]
enum Between {
    Linear,
    Step,
    Cubic,
}

impl Clip {
    /// The animation called `name`, or the first one.
    pub fn new(document: &Document, name: Option<&str>) -> Result<Self, MeshFileError> {
        let all = items(&document.json, "animations");
        let named = |a: &&Value| name.is_none() || a.get("name").and_then(Value::as_str) == name;
        let Some(clip) = all.iter().find(named) else {
            let known: Vec<&str> = all
                .iter()
                .filter_map(|a| a.get("name").and_then(Value::as_str))
                .collect();
            let what = match (name, known.is_empty()) {
                (Some(name), false) => format!("it has no animation `{name}`, only {known:?}"),
                _ => "it has no animation".to_owned(),
            };
            return Err(inconsistent(what));
        };
        let nodes = items(&document.json, "nodes").len();
        let samplers = items(clip, "samplers");
        let limits = MeshLimits::default();
        let mut channels = Vec::new();
        for channel in items(clip, "channels") {
            let target = channel.get("target").unwrap_or(&Value::Null);
            let path = match target.get("path").and_then(Value::as_str) {
                Some("translation") => Path::Translation,
                Some("rotation") => Path::Rotation,
                Some("scale") => Path::Scale,
                Some("weights") => Path::Weights,
                // Of extensions, such as materials.
                _ => continue,
            };
            let Some(node) = link(target, "node", nodes)? else {
                continue;
            };
            let sampler = link(channel, "sampler", samplers.len())?;
            let sampler = sampler.map(|s| &samplers[s]);
            let sampler = sampler.ok_or_else(|| inconsistent("a channel has no sampler"))?;
            channels.push(Channel::new(document, sampler, node, path, &limits)?);
        }
        if channels.is_empty() {
            return Err(unsupported(
                "an animation that moves nothing",
                "export the animation of bones, nodes or shape keys",
            ));
        }
        Ok(Self { channels })
    }

    /// Times of the first and of the last key [s].
    pub fn span(&self) -> [f64; 2] {
        let all = self.channels.iter().flat_map(|c| &c.times);
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], t| {
            [a.min(*t), b.max(*t)]
        })
    }

    /// The values of a property at time `t` [s]; none if it is not animated.
    pub fn value(&self, node: usize, path: Path, t: f64) -> Option<Vec<f64>> {
        let of = |c: &&Channel| c.node == node && c.path == path;
        self.channels.iter().find(of).map(|c| c.at(t))
    }
}

impl Channel {
    fn new(
        document: &Document,
        sampler: &Value,
        node: usize,
        path: Path,
        limits: &MeshLimits,
    ) -> Result<Self, MeshFileError> {
        let accessors = items(&document.json, "accessors").len();
        let [input, output] = ["input", "output"].map(|key| {
            link(sampler, key, accessors)?
                .ok_or_else(|| inconsistent(format!("a sampler has no `{key}`")))
        });
        let times: Vec<f64> = document.values::<1>(input?, limits)?.concat();
        let between = match sampler.get("interpolation").and_then(Value::as_str) {
            None | Some("LINEAR") => Between::Linear,
            Some("STEP") => Between::Step,
            Some("CUBICSPLINE") => Between::Cubic,
            Some(other) => {
                let what = format!("the interpolation `{other}`");
                return Err(unsupported(what, "bake the animation to linear keys"));
            }
        };
        let values = match path {
            Path::Translation | Path::Scale => document.values::<3>(output?, limits)?.concat(),
            Path::Rotation => document.values::<4>(output?, limits)?.concat(),
            Path::Weights => document.values::<1>(output?, limits)?.concat(),
        };
        let keys = times.len() * if between == Between::Cubic { 3 } else { 1 };
        let ascending = times.windows(2).all(|w| w[0] < w[1]);
        if keys == 0 || !ascending || values.is_empty() || !values.len().is_multiple_of(keys) {
            return Err(inconsistent(format!(
                "an animation of node {node} has {} times for {} numbers, or its times do not ascend",
                times.len(),
                values.len()
            )));
        }
        let width = values.len() / keys;
        Ok(Self {
            node,
            path,
            times,
            values,
            width,
            between,
        })
    }

    /// Part `part` of key `key`: tangent, value, tangent of a cubic spline, or the value alone.
    fn key(&self, key: usize, part: usize) -> &[f64] {
        let first = match self.between {
            Between::Cubic => 3 * key + part,
            _ => key,
        };
        &self.values[first * self.width..(first + 1) * self.width]
    }

    fn at(&self, t: f64) -> Vec<f64> {
        let last = self.times.len() - 1;
        let value = |key| self.key(key, 1).to_vec();
        if t <= self.times[0] {
            return value(0);
        }
        if t >= self.times[last] {
            return value(last);
        }
        let i = self.times.partition_point(|&k| k <= t) - 1;
        let dt = self.times[i + 1] - self.times[i];
        let s = (t - self.times[i]) / dt;
        let (a, b) = (self.key(i, 1), self.key(i + 1, 1));
        let pairs = a.iter().zip(b);
        match (self.between, self.path) {
            (Between::Step, _) => a.to_vec(),
            (Between::Linear, Path::Rotation) => great_circle(a, b, s),
            (Between::Linear, _) => pairs.map(|(a, b)| a * (1.0 - s) + b * s).collect(),
            (Between::Cubic, _) => {
                let (s2, s3) = (s * s, s * s * s);
                let (out, into) = (self.key(i, 2), self.key(i + 1, 0));
                let tangents = out.iter().zip(into);
                let both = pairs.zip(tangents);
                both.map(|((a, b), (m, n))| {
                    a * (2.0 * s3 - 3.0 * s2 + 1.0)
                        + m * dt * (s3 - 2.0 * s2 + s)
                        + b * (3.0 * s2 - 2.0 * s3)
                        + n * dt * (s3 - s2)
                })
                .collect()
            }
        }
    }
}

/// Interpolates two unit quaternions on the shorter great circle.
fn great_circle(a: &[f64], b: &[f64], s: f64) -> Vec<f64> {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let sign = if dot < 0.0 { -1.0 } else { 1.0 };
    let angle = acos(dot.abs().min(1.0));
    // Close quaternions differ from the chord by the square of the angle.
    let [p, q] = match angle < 1e-6 {
        true => [1.0 - s, s],
        false => [(1.0 - s) * angle, s * angle].map(|x| sin(x) / sin(angle)),
    };
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| a * p + b * (sign * q)).collect()
}
