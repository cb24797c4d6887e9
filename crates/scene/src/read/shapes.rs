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
    error::Kind,
    read::shape::{Generate, Generator, Purpose, Reader, ShapeKind},
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
const SHELL_OR_CLOSED: &[Purpose] = &[Purpose::Shell, Purpose::Embedded, Purpose::Rigid];
const CLOSED: &[Purpose] = &[Purpose::Embedded, Purpose::Rigid];
const ROUND: &[&str] = &["radius", "length", "rings", "along"];
pub(super) const BOWL: &[&str] = &["radius", "depth", "thickness", "rings", "layers"];

/// Shapes of shells, solids, rigid bodies and particles.
pub(super) const KINDS: &[ShapeKind] = &[
    kind(
        "sheet",
        SHELL,
        &["size", "cells", "pattern", "jitter", "seed"],
        sheet,
    ),
    kind("card", SHELL, &["size", "refinements"], card),
    kind(
        "grid",
        &[Purpose::Particles],
        &["count", "spacing", "jitter", "seed"],
        grid,
    ),
    kind("disc", SHELL, &["radius", "rings"], |r| {
        let ([radius], [rings]) = r.sizes(["radius"], [("rings", 8)])?;
        surface(Disc { radius, rings })
    }),
    kind(
        "tube",
        SHELL,
        &["radius", "length", "around", "along", "ends"],
        tube,
    ),
    kind(
        "band",
        SHELL,
        &["radius", "straight", "width", "around", "across"],
        band,
    ),
    kind("bowl", SHELL, &["radius", "depth", "rings"], |r| {
        let ([radius, depth], [rings]) = r.sizes(["radius", "depth"], [("rings", 12)])?;
        surface(Bowl {
            radius,
            depth,
            rings,
        })
    }),
    kind(
        "box",
        SHELL_OR_CLOSED,
        &["size", "cells", "taper"],
        box_surface,
    ),
    kind(
        "box",
        SOLID,
        &["size", "cells", "walls", "pattern"],
        box_solid,
    ),
    kind("sphere", SHELL_OR_CLOSED, &["radius", "frequency"], |r| {
        let ([radius], [frequency]) = r.sizes(["radius"], [("frequency", 8)])?;
        surface(BallSurface { radius, frequency })
    }),
    kind(
        "sphere",
        SOLID,
        &["radius", "thickness", "frequency", "layers"],
        sphere_solid,
    ),
    kind(
        "blob",
        SHELL_OR_CLOSED,
        &["radius", "bumps", "seed", "frequency"],
        blob,
    ),
    kind("capsule", SHELL_OR_CLOSED, ROUND, |r| {
        let cells = [("rings", 6), ("along", 4)];
        let ([radius, length], [rings, along]) = r.sizes(["radius", "length"], cells)?;
        surface(CapsuleSurface {
            radius,
            length,
            rings,
            along,
        })
    }),
    kind("capsule", SOLID, ROUND, |r| {
        let cells = [("rings", 6), ("along", 4)];
        let ([radius, length], [rings, along]) = r.sizes(["radius", "length"], cells)?;
        solid(CapsuleSolid {
            radius,
            length,
            rings,
            along,
        })
    }),
    kind(
        "cylinder",
        SHELL_OR_CLOSED,
        &["radius", "length", "around", "along"],
        |r| {
            let cells = [("around", 48), ("along", 1)];
            let ([radius, length], [around, along]) = r.sizes(["radius", "length"], cells)?;
            surface(CylinderSurface {
                radius,
                length,
                around,
                along,
            })
        },
    ),
    kind("cylinder", SOLID, ROUND, |r| {
        let cells = [("rings", 6), ("along", 4)];
        let ([radius, length], [rings, along]) = r.sizes(["radius", "length"], cells)?;
        solid(CylinderSolid {
            radius,
            length,
            rings,
            along,
        })
    }),
    kind(
        "cone",
        SHELL_OR_CLOSED,
        &["radius", "height", "around", "along"],
        cone,
    ),
    kind(
        "torus",
        SHELL_OR_CLOSED,
        &["major", "minor", "around", "across"],
        |r| {
            let cells = [("around", 48), ("across", 16)];
            let ([major, minor], [around, across]) = r.sizes(["major", "minor"], cells)?;
            surface(TorusSurface {
                major,
                minor,
                around,
                across,
            })
        },
    ),
    kind(
        "torus",
        SOLID,
        &["major", "minor", "around", "rings"],
        |r| {
            let cells = [("around", 48), ("rings", 3)];
            let ([major, minor], [around, rings]) = r.sizes(["major", "minor"], cells)?;
            solid(TorusSolid {
                major,
                minor,
                around,
                rings,
            })
        },
    ),
    kind("bowl", CLOSED, BOWL, bowl_surface),
    kind("bowl", SOLID, BOWL, |r| {
        let lengths = ["radius", "depth", "thickness"];
        let cells = [("rings", 12), ("layers", 1)];
        let ([radius, depth, thickness], [rings, layers]) = r.sizes(lengths, cells)?;
        solid(BowlSolid {
            radius,
            depth,
            thickness,
            rings,
            layers,
        })
    }),
];

const fn kind(
    name: &'static str,
    purposes: &'static [Purpose],
    keys: &'static [&'static str],
    read: fn(&Reader<'_, '_>) -> Option<Generator>,
) -> ShapeKind {
    ShapeKind {
        name,
        purposes,
        keys,
        read,
    }
}

fn surface(shape: impl Generate<TriMesh> + 'static) -> Option<Generator> {
    Some(Generator::Surface(Box::new(shape)))
}

fn solid(shape: impl Generate<TetMesh> + 'static) -> Option<Generator> {
    Some(Generator::Solid(Box::new(shape)))
}

fn sheet(r: &Reader<'_, '_>) -> Option<Generator> {
    let f = r.f;
    let size = r.lengths("size");
    f.need("cells")?;
    let cells = f.counts("cells", 1);
    let jitter = f.number("jitter").unwrap_or(0.5);
    let seed = r.seed().unwrap_or(0);
    let patterns = [
        ("regular", SheetPattern::Regular),
        ("alternating", SheetPattern::Alternating),
        ("irregular", SheetPattern::Irregular { jitter, seed }),
    ];
    let pattern = f
        .choice("pattern", &patterns)
        .unwrap_or(SheetPattern::Regular);
    surface(Sheet {
        size: size?,
        cells: cells?,
        pattern,
    })
}

fn card(r: &Reader<'_, '_>) -> Option<Generator> {
    let (size, refinements) = (r.lengths("size"), r.f.need_count("refinements", 0));
    surface(Card {
        size: size?,
        refinements: refinements?,
    })
}

fn grid(r: &Reader<'_, '_>) -> Option<Generator> {
    let spacing = r.length("spacing");
    r.f.need("count")?;
    let count = r.f.counts("count", 1);
    let (jitter, seed) = (r.amount("jitter", 0.0), r.seed());
    surface(Grid {
        count: count?,
        spacing: spacing?,
        jitter: jitter?,
        seed: seed?,
    })
}

fn tube(r: &Reader<'_, '_>) -> Option<Generator> {
    let ends = [("open", TubeEnds::Open), ("closed", TubeEnds::Closed)];
    let ends = r.f.choice("ends", &ends).unwrap_or(TubeEnds::Open);
    let cells = [("around", 32), ("along", 1)];
    let ([radius, length], [around, along]) = r.sizes(["radius", "length"], cells)?;
    surface(Tube {
        radius,
        length,
        around,
        along,
        ends,
    })
}

fn band(r: &Reader<'_, '_>) -> Option<Generator> {
    let straight = r.amount("straight", 0.0);
    let cells = [("around", 32), ("across", 1)];
    let ([radius, width], [around, across]) = r.sizes(["radius", "width"], cells)?;
    surface(Band {
        radius,
        straight: straight?,
        width,
        around,
        across,
    })
}

fn box_surface(r: &Reader<'_, '_>) -> Option<Generator> {
    let size = r.lengths("size");
    let cells = if !r.f.has("cells") && r.purpose != Purpose::Shell {
        Some([1; 3])
    } else {
        r.f.need("cells")?;
        r.f.counts("cells", 1)
    };
    let taper = match r.f.has("taper") {
        true => Some(r.lengths("taper")),
        false => None,
    };
    let base = BoxSurface {
        size: size?,
        cells: cells?,
    };
    match taper {
        None => surface(base),
        Some(taper) => surface(TaperedBox {
            base,
            taper: taper?,
        }),
    }
}

fn box_solid(r: &Reader<'_, '_>) -> Option<Generator> {
    let f = r.f;
    let size = r.lengths("size");
    f.need("cells")?;
    let cells = f.counts("cells", 1);
    let patterns = [("kuhn", TetPattern::Kuhn), ("five", TetPattern::Five)];
    let pattern = f.choice("pattern", &patterns).unwrap_or(TetPattern::Kuhn);
    if f.has("walls") {
        return solid(BoxShell {
            size: size?,
            cells: cells?,
            walls: f.count("walls", 1)?,
            pattern,
        });
    }
    solid(BoxSolid {
        size: size?,
        cells: cells?,
        pattern,
    })
}

fn sphere_solid(r: &Reader<'_, '_>) -> Option<Generator> {
    let f = r.f;
    if f.has("thickness") {
        let cells = [("frequency", 8), ("layers", 1)];
        let ([radius, thickness], [frequency, layers]) = r.sizes(["radius", "thickness"], cells)?;
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
        return f.fail(Kind::UnknownKey, "frequency", message, help);
    }
    let ([radius], [layers]) = r.sizes(["radius"], [("layers", 8)])?;
    solid(BallSolid { radius, layers })
}

fn blob(r: &Reader<'_, '_>) -> Option<Generator> {
    let sizes = r.sizes(["radius"], [("frequency", 8)]);
    let (bumps, seed) = (r.amount("bumps", 1.0)?, r.seed()?);
    let ([radius], [frequency]) = sizes?;
    surface(Blob {
        radius,
        bumps,
        seed,
        frequency,
    })
}

pub(super) fn cone(r: &Reader<'_, '_>) -> Option<Generator> {
    let cells = [("around", 48), ("along", 1)];
    let ([radius, height], [around, along]) = r.sizes(["radius", "height"], cells)?;
    surface(Cone {
        radius,
        height,
        around,
        along,
    })
}

pub(super) fn bowl_surface(r: &Reader<'_, '_>) -> Option<Generator> {
    let lengths = ["radius", "depth", "thickness"];
    let cells = [("rings", 12), ("layers", 1)];
    let ([radius, depth, thickness], [rings, layers]) = r.sizes(lengths, cells)?;
    surface(BowlSurface {
        radius,
        depth,
        thickness,
        rings,
        layers,
    })
}
