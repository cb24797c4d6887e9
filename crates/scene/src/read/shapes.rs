//! The table of shapes of shells, solids, rigid bodies and particles.

use stiction_geometry::{
    TetMesh, TriMesh,
    shapes::{
        BallShell, BallSolid, BallSurface, Band, Blob, Bowl, BowlSolid, BowlSurface, BoxShell,
        BoxSolid, BoxSurface, CapsuleSolid, CapsuleSurface, Card, Cone, CylinderSolid,
        CylinderSurface, Disc, Grid, ShapeError, Sheet, SheetPattern, TaperedBox, TetPattern,
        TorusSolid, TorusSurface, Tube, TubeEnds,
    },
};

use crate::{
    error::ProblemKind,
    format::{Fields, Key, keys, words},
    read::shape::{Generate, Generator, Purpose, ShapeKind},
};

macro_rules! generators {
    ($mesh:ty: $($shape:ty),*) => {$(
        impl Generate<$mesh> for $shape {
            fn count(&self) -> Result<u64, ShapeError> {
                self.node_count()
            }
            fn mesh(&self) -> Result<$mesh, ShapeError> {
                self.build()
            }
        }
    )*};
}
generators!(TriMesh: Grid, Sheet, Card, Disc, Tube, Band, Blob, Bowl, BowlSurface, BoxSurface, TaperedBox, BallSurface, CapsuleSurface,
    CylinderSurface, Cone, TorusSurface);
generators!(TetMesh: BoxSolid, BoxShell, BallSolid, BallShell, CapsuleSolid, CylinderSolid, TorusSolid, BowlSolid);

const SHELL: &[Purpose] = &[Purpose::Shell];
const SOLID: &[Purpose] = &[Purpose::Solid];
const PARTICLES: &[Purpose] = &[Purpose::Particles];
const SURFACE: &[Purpose] = &[Purpose::Shell, Purpose::Embedded, Purpose::Rigid];
const CLOSED: &[Purpose] = &[Purpose::Embedded, Purpose::Rigid];

#[derive(Clone, Copy)]
enum Pattern {
    Regular,
    Alternating,
    Irregular,
}
words! { SHEET: Pattern = "regular" => Pattern::Regular, "alternating" => Pattern::Alternating, "irregular" => Pattern::Irregular }
words! { TETS: TetPattern = "kuhn" => TetPattern::Kuhn, "five" => TetPattern::Five }
words! { ENDS: TubeEnds = "open" => TubeEnds::Open, "closed" => TubeEnds::Closed }

const ROUND: &[Key] = keys! {
    "radius": Number("m", Positive), Required, "";
    "length": Number("m", Positive), Required, "of the straight part";
    "rings": Count(1), Resolution(6), "";
    "along": Count(1), Resolution(4), "";
};
pub(super) const BOWL: &[Key] = keys! {
    "radius": Number("m", Positive), Required, "";
    "depth": Number("m", Positive), Required, "";
    "thickness": Number("m", Positive), Required, "";
    "rings": Count(1), Resolution(12), "";
    "layers": Count(1), Resolution(1), "";
};
pub(super) const CONE: &[Key] = keys! {
    "radius": Number("m", Positive), Required, "";
    "height": Number("m", Positive), Required, "";
    "around": Count(1), Resolution(48), "";
    "along": Count(1), Resolution(1), "";
};

macro_rules! shapes {
    ($($name:literal $purposes:ident $doc:literal { $($keys:tt)* } $f:ident => $read:expr;)*) => {
        &[$(ShapeKind { name: $name, purposes: $purposes, doc: $doc, keys: shapes!(@keys $($keys)*), read: |$f: &Fields<'_>| $read }),*]
    };
    (@keys $known:ident) => { $known };
    (@keys $($keys:tt)*) => { keys!($($keys)*) };
}

/// Shapes of shells, solids, rigid bodies and particles.
pub(super) const KINDS: &[ShapeKind] = shapes! {
    "sheet" SHELL "a rectangle in the xy plane" {
        "size": Numbers(2, "m", Positive), Required, "";
        "cells": Counts(2, 1), Required, "";
        "pattern": Word(SHEET.words), Chosen("regular"), "";
        "jitter": Number("1", Any), Num(0.5), "of the irregular pattern, from 0 to 1";
        "seed": Count(0), Int(0), "";
    } f => {
        let pattern = match f.choice("pattern", &SHEET)? {
            Pattern::Regular => SheetPattern::Regular,
            Pattern::Alternating => SheetPattern::Alternating,
            Pattern::Irregular => SheetPattern::Irregular { jitter: f.take("jitter")?, seed: f.take("seed")? },
        };
        surface(Sheet { size: f.take("size")?, cells: f.take("cells")?, pattern })
    };
    "card" SHELL "a rectangle of two triangles, each cut into four so many times" {
        "size": Numbers(2, "m", Positive), Required, "";
        "refinements": Count(0), Required, "";
    } f => surface(Card { size: f.take("size")?, refinements: f.take("refinements")? });
    "grid" PARTICLES "points on a regular grid; each is moved at random by up to `jitter` (at most 1) times half the spacing along every axis" {
        "count": Counts(3, 1), Required, "";
        "spacing": Number("m", Positive), Required, "";
        "jitter": Number("1", NotNegative), Num(0.0), "";
        "seed": Count(0), Int(0), "";
    } f => surface(Grid { count: f.take("count")?, spacing: f.take("spacing")?, jitter: f.take("jitter")?, seed: f.take("seed")? });
    "disc" SHELL "a disc in the xy plane" {
        "radius": Number("m", Positive), Required, "";
        "rings": Count(1), Resolution(8), "";
    } f => surface(Disc { radius: f.take("radius")?, rings: f.take("rings")? });
    "tube" SHELL "a sleeve" {
        "radius": Number("m", Positive), Required, "";
        "length": Number("m", Positive), Required, "";
        "around": Count(1), Resolution(32), "";
        "along": Count(1), Resolution(1), "";
        "ends": Word(ENDS.words), Chosen("open"), "";
    } f => surface(Tube { radius: f.take("radius")?, length: f.take("length")?, around: f.take("around")?, along: f.take("along")?, ends: f.choice("ends", &ENDS)? });
    "band" SHELL "a belt round the z axis: two half circles joined by runs of length `straight` along x" {
        "radius": Number("m", Positive), Required, "";
        "width": Number("m", Positive), Required, "";
        "around": Count(1), Resolution(32), "";
        "across": Count(1), Resolution(1), "";
        "straight": Number("m", NotNegative), Num(0.0), "";
    } f => surface(Band { radius: f.take("radius")?, straight: f.take("straight")?, width: f.take("width")?, around: f.take("around")?, across: f.take("across")? });
    "bowl" SHELL "a bowl open upwards, the centre of its sphere at the origin" {
        "radius": Number("m", Positive), Required, "";
        "depth": Number("m", Positive), Required, "";
        "rings": Count(1), Resolution(12), "";
    } f => surface(Bowl { radius: f.take("radius")?, depth: f.take("depth")?, rings: f.take("rings")? });
    "bowl" CLOSED "the same with a thickness" { BOWL } f => bowl_surface(f);
    "bowl" SOLID "the same" { BOWL } f => solid(BowlSolid { radius: f.take("radius")?, depth: f.take("depth")?, thickness: f.take("thickness")?, rings: f.take("rings")?, layers: f.take("layers")? });
    "box" SURFACE "a block; `taper`: the size of its upper face along x and y as a multiple of the lower one's, for wedges and voussoirs" {
        "size": Numbers(3, "m", Positive), Required, "";
        "cells": Counts(3, 1), Said("required for shells, else 1"), "";
        "taper": Numbers(2, "1", Positive), Absent, "";
    } f => {
        let cells = match f.has("cells") || f.is_lenient() {
            true => f.take::<Option<_>>("cells")?.unwrap_or([1; 3]),
            false => f.missing("cells")?,
        };
        let base = BoxSurface { size: f.take("size")?, cells };
        match f.take("taper")? {
            None => surface(base),
            Some(taper) => surface(TaperedBox { base, taper }),
        }
    };
    "box" SOLID "`walls`: hollow, with walls so many cells thick; the patterns have six or five tetrahedra per cell" {
        "size": Numbers(3, "m", Positive), Required, "";
        "cells": Counts(3, 1), Required, "";
        "walls": Count(1), Absent, "";
        "pattern": Word(TETS.words), Chosen("kuhn"), "";
    } f => {
        let (size, cells, pattern) = (f.take("size")?, f.take("cells")?, f.choice("pattern", &TETS)?);
        match f.take("walls")? {
            Some(walls) => solid(BoxShell { size, cells, walls, pattern }),
            None => solid(BoxSolid { size, cells, pattern }),
        }
    };
    "sphere" SURFACE "a ball" {
        "radius": Number("m", Positive), Required, "";
        "frequency": Count(1), Resolution(8), "";
    } f => surface(BallSurface { radius: f.take("radius")?, frequency: f.take("frequency")? });
    "sphere" SOLID "a full ball, or with `thickness` a hollow one, which also has a `frequency`" {
        "radius": Number("m", Positive), Required, "";
        "thickness": Number("m", Positive), Absent, "";
        "frequency": Count(1), Said("required with `thickness`"), "";
        "layers": Count(1), Resolution(8), "";
    } f => sphere_solid(f);
    "blob" SURFACE "a ball with six lobes, `bumps` (at most 2) radii high at most, chosen by `seed`" {
        "radius": Number("m", Positive), Required, "";
        "bumps": Number("1", NotNegative), Num(1.0), "";
        "seed": Count(0), Int(0), "";
        "frequency": Count(1), Resolution(8), "";
    } f => surface(Blob { radius: f.take("radius")?, bumps: f.take("bumps")?, seed: f.take("seed")?, frequency: f.take("frequency")? });
    "capsule" SURFACE "a cylinder with round ends; `length` is that of the cylinder" { ROUND } f =>
        surface(CapsuleSurface { radius: f.take("radius")?, length: f.take("length")?, rings: f.take("rings")?, along: f.take("along")? });
    "capsule" SOLID "the same" { ROUND } f =>
        solid(CapsuleSolid { radius: f.take("radius")?, length: f.take("length")?, rings: f.take("rings")?, along: f.take("along")? });
    "cylinder" SURFACE "a closed cylinder" {
        "radius": Number("m", Positive), Required, "";
        "length": Number("m", Positive), Required, "";
        "around": Count(1), Resolution(48), "";
        "along": Count(1), Resolution(1), "";
    } f => surface(CylinderSurface { radius: f.take("radius")?, length: f.take("length")?, around: f.take("around")?, along: f.take("along")? });
    "cylinder" SOLID "the same" { ROUND } f =>
        solid(CylinderSolid { radius: f.take("radius")?, length: f.take("length")?, rings: f.take("rings")?, along: f.take("along")? });
    "cone" SURFACE "a cone with its base at z = 0" { CONE } f => cone(f);
    "torus" SURFACE "a ring round the z axis" {
        "major": Number("m", Positive), Required, "";
        "minor": Number("m", Positive), Required, "";
        "around": Count(1), Resolution(48), "";
        "across": Count(1), Resolution(16), "";
    } f => surface(TorusSurface { major: f.take("major")?, minor: f.take("minor")?, around: f.take("around")?, across: f.take("across")? });
    "torus" SOLID "the same" {
        "major": Number("m", Positive), Required, "";
        "minor": Number("m", Positive), Required, "";
        "around": Count(1), Resolution(48), "";
        "rings": Count(1), Resolution(3), "";
    } f => solid(TorusSolid { major: f.take("major")?, minor: f.take("minor")?, around: f.take("around")?, rings: f.take("rings")? });
};

fn surface(shape: impl Generate<TriMesh> + 'static) -> Option<Generator> {
    Some(Generator::Surface(Box::new(shape)))
}

fn solid(shape: impl Generate<TetMesh> + 'static) -> Option<Generator> {
    Some(Generator::Solid(Box::new(shape)))
}

fn sphere_solid(f: &Fields<'_>) -> Option<Generator> {
    let (radius, layers) = (f.take("radius")?, f.take("layers")?);
    if let Some(thickness) = f.take("thickness")? {
        let frequency = f.need("frequency")?;
        return solid(BallShell {
            radius,
            thickness,
            frequency,
            layers,
        });
    }
    if f.has("frequency") {
        let message = format!("{} is full, so that `frequency` has no meaning", f.what);
        let help = Some("remove it, or add `thickness` for a hollow sphere".to_owned());
        return f.fail(ProblemKind::UnknownKey, "frequency", message, help);
    }
    solid(BallSolid { radius, layers })
}

pub(super) fn cone(f: &Fields<'_>) -> Option<Generator> {
    surface(Cone {
        radius: f.take("radius")?,
        height: f.take("height")?,
        around: f.take("around")?,
        along: f.take("along")?,
    })
}

pub(super) fn bowl_surface(f: &Fields<'_>) -> Option<Generator> {
    surface(BowlSurface {
        radius: f.take("radius")?,
        depth: f.take("depth")?,
        thickness: f.take("thickness")?,
        rings: f.take("rings")?,
        layers: f.take("layers")?,
    })
}
