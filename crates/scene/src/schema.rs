//! The keys of every table of a scene. `docs/scenes.md` documents each of them; a test compares.

/// The document itself.
pub(crate) const ROOT: &[&str] = &[
    "name",
    "description",
    "gravity",
    "time",
    "method",
    "air",
    "contact",
    "friction",
    "material",
    "body",
    "pin",
    "attachment",
    "volume",
    "adapt",
    "obstacle",
    "probe",
    "check",
    "output",
];
pub(crate) const GRAVITY: &[&str] = &["times", "values", "interpolation"];
pub(crate) const TIME: &[&str] = &[
    "step",
    "duration",
    "frames_per_second",
    "frame_every",
    "integrator",
];
pub(crate) const METHOD_NEWTON: &[&str] = &[
    "name",
    "iterations",
    "tolerance",
    "max_iterations",
    "linear_tolerance",
];
pub(crate) const METHOD_ADMM: &[&str] = &[
    "name",
    "integrator",
    "newton_iterations",
    "solver",
    "local",
    "tolerance",
    "max_iterations",
    "sweeps",
    "start",
    "velocity",
    "sigma",
    "beta",
    "sleep",
    "acceleration",
    "stop",
    "residual",
    "safe",
    "linear_tolerance",
];
pub(crate) const METHOD_SMOOTH: &[&str] = &[
    "name",
    "integrator",
    "startup",
    "solver",
    "volume_jacobian",
    "tolerance",
    "max_iterations",
    "max_linear_iterations",
    "sigma",
    "epsilon",
    "delta",
    "kappa",
    "penalty",
    "friction",
    "lagged_iterations",
    "stribeck_speed",
    "viscous",
    "rounding",
];
pub(crate) const AIR: &[&str] = &["density", "wind", "gust", "period"];
pub(crate) const CONTACT: &[&str] = &["enabled", "thickness", "overlap"];
pub(crate) const FRICTION: &[&str] = &["default", "combine", "pair"];
pub(crate) const COEFFICIENTS: &[&str] = &["static", "kinetic", "cohesion", "compliance"];
pub(crate) const PAIR: &[&str] = &["materials", "static", "kinetic", "cohesion", "compliance"];
pub(crate) const MATERIAL: &[&str] = &[
    "based_on",
    "kind",
    "description",
    "source",
    "density",
    "area_density",
    "thickness",
    "young",
    "poisson",
    "law",
    "stretch",
    "bending",
    "springs",
    "damping",
    "friction",
    "radius",
    "young_bending",
    "young_stretch",
];
pub(crate) const STRETCH: &[&str] = &["c11", "c12", "c22", "c33"];
pub(crate) const BENDING: &[&str] = &["warp", "weft", "bias"];
pub(crate) const SPRINGS: &[&str] = &["edge", "bend"];
pub(crate) const DAMPING: &[&str] = &["mass", "stiffness"];
pub(crate) const BODY: &[&str] = &[
    "name",
    "kind",
    "shape",
    "mesh",
    "material",
    "translate",
    "rotate",
    "scale",
    "velocity",
    "angular_velocity",
    "acceleration",
    "mass",
    "drag",
    "warp",
    "rest_angles",
    "cell",
    "radius",
    "natural",
    "twist",
    "director",
    "patch",
    "rooted",
    "padding",
    "start_scale",
    "repeat",
];
pub(crate) const ROTATE: &[&str] = &["axis", "angle", "about"];
pub(crate) const DRAG: &[&str] = &["normal", "tangential"];
pub(crate) const ROOTED: &[&str] = &["body", "stiffness", "bare"];
/// A part of the shape `plant`.
pub(crate) const PART: &[&str] = &[
    "name",
    "on",
    "points",
    "radius",
    "width",
    "thickness",
    "up",
    "frames",
    "cells",
    "stiffness",
];
pub(crate) const REPEAT: &[&str] = &["count", "step"];
/// `[[body.patch]]`.
pub(crate) const PATCH: &[&str] = &["material", "select"];

pub(crate) const PIN: &[&str] = &["name", "body", "select", "motion"];
pub(crate) const SELECT: &[&str] = &[
    "all",
    "boundary",
    "box",
    "sphere",
    "half_space",
    "nearest",
    "nodes",
    "group",
    "roots",
    "tips",
];
pub(crate) const SELECT_BOX: &[&str] = &["min", "max"];
pub(crate) const SELECT_SPHERE: &[&str] = &["center", "radius"];
pub(crate) const SELECT_HALF_SPACE: &[&str] = &["normal", "point", "offset"];
pub(crate) const MOTION: &[&str] = &["translate", "rotate", "release"];
pub(crate) const TRANSLATE: &[&str] = &["times", "values", "interpolation"];
pub(crate) const TURN: &[&str] = &["axis", "pivot", "times", "angles", "interpolation"];
pub(crate) const ATTACHMENT: &[&str] = &["name", "a", "b", "stiffness", "length", "damping"];
pub(crate) const VOLUME: &[&str] = &[
    "name",
    "body",
    "region",
    "law",
    "compression",
    "compression_per_atm",
    "pressure",
    "inflation",
    "inflation_atm",
];
pub(crate) const ADAPT: &[&str] = &["body", "refine_at"];
pub(crate) const ANCHOR: &[&str] = &["body", "near", "node", "world"];
pub(crate) const OBSTACLE: &[&str] = &[
    "name",
    "shape",
    "mesh",
    "translate",
    "rotate",
    "scale",
    "motion",
    "material",
    "collide",
    "cell",
];
pub(crate) const CHECK: &[&str] = &[
    "name", "of", "at", "from", "to", "reduce", "equals", "within", "relative", "above", "below",
];
pub(crate) const OUTPUT: &[&str] = &["formats", "contacts", "checkpoint_every"];

pub(crate) const PALM: &[&str] = &[
    "type",
    "height",
    "radius",
    "leaves",
    "leaf_length",
    "leaflets",
    "leaflet_length",
    "thickness",
    "droop",
    "leaf_stiffness",
    "seed",
];

pub(crate) const GROOM: &[&str] = &[
    "type",
    "on",
    "radius",
    "count",
    "length",
    "segments",
    "frizz",
    "curl_radius",
    "curl_pitch",
    "clumps",
    "clumping",
    "apart",
    "seed",
];

/// The shapes of bodies and obstacles, each with all keys that some use of it has.
pub(crate) const SHAPES: &[(&str, &[&str])] = &[
    (
        "sheet",
        &["type", "size", "cells", "pattern", "jitter", "seed"],
    ),
    ("card", &["type", "size", "refinements"]),
    ("grid", &["type", "count", "spacing", "jitter", "seed"]),
    ("disc", &["type", "radius", "rings"]),
    (
        "tube",
        &["type", "radius", "length", "around", "along", "ends"],
    ),
    (
        "band",
        &["type", "radius", "straight", "width", "around", "across"],
    ),
    (
        "bowl",
        &["type", "radius", "depth", "thickness", "rings", "layers"],
    ),
    ("box", &["type", "size", "cells", "walls", "pattern"]),
    (
        "sphere",
        &["type", "radius", "thickness", "frequency", "layers"],
    ),
    ("blob", &["type", "radius", "bumps", "seed", "frequency"]),
    ("capsule", &["type", "radius", "length", "rings", "along"]),
    (
        "cylinder",
        &["type", "radius", "length", "around", "along", "rings"],
    ),
    ("cone", &["type", "radius", "height", "around", "along"]),
    (
        "torus",
        &["type", "major", "minor", "around", "across", "rings"],
    ),
    ("plane", &["type", "normal", "offset"]),
    ("plant", &["type", "parts"]),
    ("palm", PALM),
    ("path", &["type", "moves", "segments"]),
    ("groom", GROOM),
];

/// The types of probes and their keys beside `name` and `type`.
pub(crate) const PROBES: &[(&str, &[&str])] = &[
    ("position", &["body", "node", "near", "axis"]),
    ("displacement", &["body", "node", "near", "axis"]),
    ("velocity", &["body", "node", "near", "axis"]),
    ("distance", &["a", "b"]),
    ("centroid", &["body", "axis"]),
    ("centroid-velocity", &["body", "axis"]),
    ("travel", &["body"]),
    ("radius", &["body", "axis", "point"]),
    ("min", &["body", "axis"]),
    ("max", &["body", "axis"]),
    ("size", &["body", "axis"]),
    ("volume", &["body"]),
    ("area", &["body"]),
    ("kinetic-energy", &["body"]),
    ("elastic-energy", &["body"]),
    ("potential-energy", &["body"]),
    ("energy", &["body"]),
    ("momentum", &["body", "axis"]),
    ("angular-momentum", &["body", "axis"]),
    ("tension", &["attachment"]),
    ("speed", &["body"]),
    ("contact-force", &["body", "with", "axis"]),
    ("friction-force", &["body", "with", "axis"]),
    ("contact-torque", &["body", "with", "axis"]),
    ("normal-force", &["body", "with"]),
    ("contacts", &["body", "with"]),
    ("enclosed-volume", &["volume"]),
    ("pressure", &["volume"]),
];

/// Every table by the heading under which `docs/scenes.md` documents it.
#[cfg(test)]
pub(crate) const TABLES: &[(&str, &[&str])] = &[
    ("top level", ROOT),
    ("top level", GRAVITY),
    ("[time]", TIME),
    ("[method]", METHOD_NEWTON),
    ("[method]", METHOD_ADMM),
    ("[method]", METHOD_SMOOTH),
    ("[air]", AIR),
    ("[contact]", CONTACT),
    ("[friction]", FRICTION),
    ("[friction]", COEFFICIENTS),
    ("[friction]", PAIR),
    ("[material.NAME]", MATERIAL),
    ("[material.NAME]", STRETCH),
    ("[material.NAME]", BENDING),
    ("[material.NAME]", SPRINGS),
    ("[material.NAME]", DAMPING),
    ("[[body]]", BODY),
    ("[[body]]", ROTATE),
    ("[[body]]", DRAG),
    ("[[body]]", ROOTED),
    ("[[body]]", REPEAT),
    ("[[body]]", PART),
    ("[[pin]]", PIN),
    ("[[pin]]", SELECT),
    ("[[pin]]", SELECT_BOX),
    ("[[pin]]", SELECT_SPHERE),
    ("[[pin]]", SELECT_HALF_SPACE),
    ("Motion", MOTION),
    ("Motion", TRANSLATE),
    ("Motion", TURN),
    ("[[attachment]]", ATTACHMENT),
    ("[[attachment]]", ANCHOR),
    ("[[volume]]", VOLUME),
    ("[[adapt]]", ADAPT),
    ("[[obstacle]]", OBSTACLE),
    ("[[check]]", CHECK),
    ("[output]", OUTPUT),
];

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    const DOCS: &str = include_str!("../../../docs/scenes.md");

    /// The part of the documentation under a heading of the second level.
    fn section(heading: &str) -> &'static str {
        let at = DOCS.find(&format!("\n## {heading}\n"));
        let rest = &DOCS[at.unwrap_or_else(|| panic!("no heading `## {heading}`")) + 4..];
        rest.find("\n## ").map_or(rest, |end| &rest[..end])
    }

    #[test]
    fn every_key_is_documented_in_its_section() {
        for (heading, keys) in TABLES {
            for key in *keys {
                assert!(
                    section(heading).contains(&format!("`{key}`")),
                    "`{key}` is not under `## {heading}`"
                );
            }
        }
        for (shape, keys) in SHAPES {
            let row = section("[[body]]")
                .lines()
                .find(|l| l.starts_with(&format!("| `{shape}` |")));
            let row = row.unwrap_or_else(|| panic!("shape `{shape}` has no row"));
            for key in keys.iter().filter(|k| **k != "type") {
                assert!(
                    row.contains(&format!("`{key}`")),
                    "`{key}` of shape `{shape}`"
                );
            }
        }
        for (probe, keys) in PROBES {
            let named = |l: &&str| {
                l.split('|')
                    .nth(1)
                    .is_some_and(|c| c.contains(&format!("`{probe}`")))
            };
            let row = section("[[probe]]").lines().find(named);
            let row = row.unwrap_or_else(|| panic!("probe `{probe}` has no row"));
            for key in *keys {
                assert!(
                    row.contains(&format!("`{key}`")),
                    "`{key}` of probe `{probe}`"
                );
            }
        }
    }

    #[test]
    fn every_library_material_is_documented() {
        for entry in crate::library::list() {
            assert!(
                section("The materials library").contains(&format!("`{}`", entry.name)),
                "{}",
                entry.name
            );
        }
    }
}
