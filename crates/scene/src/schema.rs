//! The keys of every table of a scene. `docs/scenes.md` documents each of them; a test compares. Keys of
//! methods, shapes and probes stand in the tables of their kinds.

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
    "variant",
];
/// A vector over time: gravity and loads.
pub(crate) const LOAD: &[&str] = &["times", "values", "interpolation", "formula"];
pub(crate) const TIME: &[&str] = &["step", "duration", "frames_per_second", "frame_every"];
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
    "force",
    "torque",
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
pub(crate) const TRANSLATE: &[&str] = &[
    "times",
    "values",
    "interpolation",
    "velocity",
    "acceleration",
    "amplitude",
    "frequency",
    "phase",
    "formula",
];
pub(crate) const TURN: &[&str] = &[
    "axis",
    "pivot",
    "times",
    "angles",
    "interpolation",
    "angular_velocity",
    "angular_acceleration",
    "amplitude",
    "frequency",
    "phase",
    "formula",
];
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
/// A point of an attachment.
pub(crate) const MOVING_ANCHOR: &[&str] = &["body", "near", "node", "world", "motion"];
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
/// `[variant.NAME]`: this key, and those of the document.
#[cfg(test)]
pub(crate) const VARIANT: &[&str] = &[crate::variant::REMOVE];

/// Every table by the heading under which `docs/scenes.md` documents it.
#[cfg(test)]
pub(crate) const TABLES: &[(&str, &[&str])] = &[
    ("top level", ROOT),
    ("top level", LOAD),
    ("[time]", TIME),
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
    ("[[attachment]]", MOVING_ANCHOR),
    ("[[volume]]", VOLUME),
    ("[[adapt]]", ADAPT),
    ("[[obstacle]]", OBSTACLE),
    ("[[check]]", CHECK),
    ("[output]", OUTPUT),
    ("[variant.NAME]", VARIANT),
];

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use crate::read::{obstacle, probe, shape};

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
        for shape in shape::names() {
            let row = section("[[body]]")
                .lines()
                .find(|l| l.starts_with(&format!("| `{shape}` |")));
            let row = row.unwrap_or_else(|| panic!("shape `{shape}` has no row"));
            let bodies = shape::kinds().filter(|k| k.name == shape);
            let obstacles = obstacle::KINDS.iter().filter(|k| k.name == shape);
            let keys = bodies.map(|k| k.keys).chain(obstacles.map(|k| k.keys));
            for key in keys.flatten() {
                assert!(
                    row.contains(&format!("`{key}`")),
                    "`{key}` of shape `{shape}`"
                );
            }
        }
        for (probe, reading) in probe::KINDS {
            let named = |l: &&str| {
                l.split('|')
                    .nth(1)
                    .is_some_and(|c| c.contains(&format!("`{probe}`")))
            };
            let row = section("[[probe]]").lines().find(named);
            let row = row.unwrap_or_else(|| panic!("probe `{probe}` has no row"));
            for key in reading.keys() {
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
