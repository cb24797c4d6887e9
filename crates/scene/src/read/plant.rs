//! Shapes of bodies carried by frames.

use stiction_geometry::{
    Plant, PlantPart, PlantSection as CrossSection,
    shapes::{Palm, ShapeError},
};

use crate::{
    error::ProblemKind,
    format::{Fields, keys, section},
    read::shape::{Generate, Generator, Purpose, ShapeKind},
    tree::{Node, Value},
};

impl Generate<Plant> for Palm {
    fn count(&self) -> Result<u64, ShapeError> {
        self.node_count()
    }
    fn mesh(&self) -> Result<Plant, ShapeError> {
        self.build()
    }
}

impl Generate<Plant> for Plant {
    fn count(&self) -> Result<u64, ShapeError> {
        self.vertex_count()
    }
    fn mesh(&self) -> Result<Plant, ShapeError> {
        self.check().map(|()| self.clone())
    }
}

section! { pub(crate) PART "part" [ExactlyOne(&["radius", "width"]), Needs("width", &["thickness"])];
    "name": Text, Absent, "for parts that grow on it";
    "on": Text, Absent, "the part, listed before, that its root moves with; the two need not touch";
    "points": List(&Vector("m")), Required, "its spine runs through them, smoothly";
    "radius": Either(&[Number("m", Any), List(&Number("m", Any))]), Absent, "of a round part; a list is spread evenly from root to tip";
    "width": Either(&[Number("m", Any), List(&Number("m", Any))]), Absent, "instead of `radius`: of a flat part";
    "thickness": Number("m", Positive), Said("required with `width`"), "of a flat part";
    "up": Direction, Vec(&[0.0, 0.0, 1.0]), "the normal of a flat part at its root, as far as it is across the spine";
    "frames": Either(&[Count(2), Counts(2, 1)]), Required, "along the spine, and across it (default 1). The first row of a part that grows on another is that other's. With one frame across, a flat part stays straight across and twists only by shear; two or more let it curl and twist as a thin plate";
    "cells": Counts(2, 1), Said("`[2, 8]` round, `[2, 4]` flat"), "of the surface: along the spine between two frames, and around or across";
    "stiffness": Number("1", Positive), Num(1.0), "multiplies Young's modulus";
}

/// The shapes of bodies carried by frames.
pub(super) const KINDS: &[ShapeKind] = &[
    ShapeKind {
        name: "plant",
        purposes: &[Purpose::Frames],
        doc: "the parts listed above",
        keys: keys! {
            "parts": Tables(&PART), Required, "";
        },
        read: plant,
    },
    ShapeKind {
        name: "palm",
        purposes: &[Purpose::Frames],
        doc: "a palm tree on the origin: a trunk of the given `height` and `radius` at its root, `leaves` in two tiers that bend down by `droop` leaf lengths, `leaflets` of at most `leaflet_length` on each side of a leaf (with 0 of them blades of twice that width); `leaf_stiffness` multiplies Young's modulus in leaves, `seed` makes small differences",
        keys: keys! {
            "height": Number("m", Positive), Required, "";
            "radius": Number("m", Positive), Required, "";
            "leaves": Count(3), Required, "";
            "leaf_length": Number("m", Positive), Required, "";
            "leaflets": Count(0), Required, "";
            "leaflet_length": Number("m", Positive), Required, "";
            "thickness": Number("m", Positive), Required, "";
            "droop": Number("1", NotNegative), Num(0.5), "";
            "leaf_stiffness": Number("1", Positive), Num(1.0), "";
            "seed": Count(0), Int(0), "";
        },
        read: palm,
    },
];

fn plant(f: &Fields<'_>) -> Option<Generator> {
    let nodes = f.tables("parts");
    let parts: Vec<Option<PlantPart>> = (0..nodes.len()).map(|i| part(f, nodes, i)).collect();
    let parts: Option<Vec<PlantPart>> = parts.into_iter().collect();
    Some(Generator::Plant(Box::new(Plant { parts: parts? })))
}

fn palm(f: &Fields<'_>) -> Option<Generator> {
    Some(Generator::Plant(Box::new(Palm {
        height: f.take("height")?,
        radius: f.take("radius")?,
        leaves: f.take("leaves")?,
        leaf_length: f.take("leaf_length")?,
        leaflets: f.take("leaflets")?,
        leaflet_length: f.take("leaflet_length")?,
        thickness: f.take("thickness")?,
        droop: f.take("droop")?,
        leaf_stiffness: f.take("leaf_stiffness")?,
        seed: f.take("seed")?,
    })))
}

fn part(shape: &Fields<'_>, nodes: &[Node], index: usize) -> Option<PlantPart> {
    let what = format!("part {index} of {}", shape.what);
    let f = Fields::new(shape.reporter, &nodes[index], what, &PART)?;
    let parent = match f.text("on") {
        None => None,
        Some(on) => {
            let before = &nodes[..index];
            let Some(found) = before.iter().position(|n| n.name() == Some(on.value)) else {
                let (what, on) = (&f.what, on.value);
                let message =
                    format!("{what} grows on `{on}`, but no part before it has that name");
                return f.fail(ProblemKind::UnknownName, "on", message, None);
            };
            Some(found as u32)
        }
    };
    let (section, cells) = match f.take("radius")? {
        Some(radii) => (CrossSection::Round { radii }, [2, 8]),
        None => {
            let (widths, thickness) = (f.take("width")?, f.need("thickness")?);
            (CrossSection::Flat { widths, thickness }, [2, 4])
        }
    };
    // A count along the spine, or two: along and across.
    let frames = match f.get("frames").map(|n| &n.value) {
        Some(Value::Integer(_)) => [f.take("frames")?, 1],
        _ => f.take("frames")?,
    };
    Some(PlantPart {
        points: f.take("points")?,
        section,
        up: f.direction("up")?,
        frames,
        cells: f.take::<Option<_>>("cells")?.unwrap_or(cells),
        stiffness: f.take("stiffness")?,
        parent,
    })
}
