//! The table of shapes of shells, solids, rigid bodies and particles.

use stiction_geometry::shapes::{
    BallShell, BallSolid, BallSurface, Band, Blob, Bowl, BowlSolid, BowlSurface, BoxShell,
    BoxSolid, BoxSurface, CapsuleSolid, CapsuleSurface, Card, Cone, CylinderSolid, CylinderSurface,
    Disc, Grid, Sheet, SheetPattern, TaperedBox, TetPattern, TorusSolid, TorusSurface, Tube,
    TubeEnds,
};

use crate::{
    format::{Fields, ProblemKind, words},
    read::shape::{Generator, Purpose, Shape, generators, shape_kinds},
};

generators! {
    Surface: Grid, Sheet, Card, Disc, Tube, Band, Blob, Bowl, BowlSurface, BoxSurface, TaperedBox, BallSurface, CapsuleSurface, CylinderSurface, Cone, TorusSurface;
    Solid: BoxSolid, BoxShell, BallSolid, BallShell, CapsuleSolid, CylinderSolid, TorusSolid, BowlSolid;
}

const SHELL: &[Purpose] = &[Purpose::Shell];
const SOLID: &[Purpose] = &[Purpose::Solid];
const PARTICLES: &[Purpose] = &[Purpose::Particles];
const SURFACE: &[Purpose] = &[
    Purpose::Shell,
    Purpose::Embedded,
    Purpose::Rigid,
    Purpose::Granular,
];
const CLOSED: &[Purpose] = &[Purpose::Embedded, Purpose::Rigid, Purpose::Granular];

#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    Regular,
    Alternating,
    Irregular,
}
words! { Pattern: "regular" => Regular, "alternating" => Alternating, "irregular" => Irregular }
words! { TetPattern: "kuhn" => Kuhn, "five" => Five }
words! { TubeEnds: "open" => Open, "closed" => Closed }

shape_kinds! {
    [new "sheet" SHELL SheetKeys "a rectangle in the xy plane"] => {
        size: [f64; 2] = Numbers(2, "m", Positive), Required, "";
        cells: [u32; 2] = Counts(2, 1), Required, "";
        pattern: Pattern = Word(Pattern::WORDS), Chosen("regular"), "";
        jitter: f64 = Number("1", Any), Num(0.5), "of the irregular pattern, from 0 to 1";
        seed: u64 = Count(0), Int(0), "";
    }
    ["card" SHELL Card "a rectangle of two triangles, each cut into four so many times"] => {
        size: [f64; 2] = Numbers(2, "m", Positive), Required, "";
        refinements: u32 = Count(0), Required, "";
    }
    ["grid" PARTICLES Grid "points on a regular grid; each is moved at random by up to `jitter` (at most 1) times half the spacing along every axis"] => {
        count: [u32; 3] = Counts(3, 1), Required, "";
        spacing: f64 = Number("m", Positive), Required, "";
        jitter: f64 = Number("1", NotNegative), Num(0.0), "";
        seed: u64 = Count(0), Int(0), "";
    }
    ["disc" SHELL Disc "a disc in the xy plane"] => {
        radius: f64 = Number("m", Positive), Required, "";
        rings: u32 = Count(1), Resolution(8), "";
    }
    ["tube" SHELL Tube "a sleeve"] => {
        radius: f64 = Number("m", Positive), Required, "";
        length: f64 = Number("m", Positive), Required, "";
        around: u32 = Count(1), Resolution(32), "";
        along: u32 = Count(1), Resolution(1), "";
        ends: TubeEnds = Word(TubeEnds::WORDS), Chosen("open"), "";
    }
    ["band" SHELL Band "a belt round the z axis: two half circles joined by runs of length `straight` along x"] => {
        radius: f64 = Number("m", Positive), Required, "";
        width: f64 = Number("m", Positive), Required, "";
        around: u32 = Count(1), Resolution(32), "";
        across: u32 = Count(1), Resolution(1), "";
        straight: f64 = Number("m", NotNegative), Num(0.0), "";
    }
    ["bowl" SHELL Bowl "a bowl open upwards, the centre of its sphere at the origin"] => {
        radius: f64 = Number("m", Positive), Required, "";
        depth: f64 = Number("m", Positive), Required, "";
        rings: u32 = Count(1), Resolution(12), "";
    }
    ["bowl" CLOSED BowlSurface "the same with a thickness"] ["bowl" SOLID BowlSolid "the same"] => {
        radius: f64 = Number("m", Positive), Required, "";
        depth: f64 = Number("m", Positive), Required, "";
        thickness: f64 = Number("m", Positive), Required, "";
        rings: u32 = Count(1), Resolution(12), "";
        layers: u32 = Count(1), Resolution(1), "";
    }
    [new "box" SURFACE BoxKeys "a block; `taper`: the size of its upper face along x and y as a multiple of the lower one's, for wedges and voussoirs"] => {
        size: [f64; 3] = Numbers(3, "m", Positive), Required, "";
        cells: Option<[u32; 3]> = Counts(3, 1), Said("required for shells, else 1"), "";
        taper: Option<[f64; 2]> = Numbers(2, "1", Positive), Absent, "";
    }
    [new "box" SOLID SolidBoxKeys "`walls`: hollow, with walls so many cells thick; the patterns have six or five tetrahedra per cell"] => {
        size: [f64; 3] = Numbers(3, "m", Positive), Required, "";
        cells: [u32; 3] = Counts(3, 1), Required, "";
        walls: Option<u32> = Count(1), Absent, "";
        pattern: TetPattern = Word(TetPattern::WORDS), Chosen("kuhn"), "";
    }
    ["sphere" SURFACE BallSurface "a ball"] => {
        radius: f64 = Number("m", Positive), Required, "";
        frequency: u32 = Count(1), Resolution(8), "";
    }
    [new "sphere" SOLID SolidBallKeys "a full ball, or with `thickness` a hollow one, which also has a `frequency`"] => {
        radius: f64 = Number("m", Positive), Required, "";
        thickness: Option<f64> = Number("m", Positive), Absent, "";
        frequency: Option<u32> = Count(1), Said("required with `thickness`"), "";
        layers: u32 = Count(1), Resolution(8), "";
    }
    ["blob" SURFACE Blob "a ball with six lobes, `bumps` (at most 2) radii high at most, chosen by `seed`"] => {
        radius: f64 = Number("m", Positive), Required, "";
        bumps: f64 = Number("1", NotNegative), Num(1.0), "";
        seed: u64 = Count(0), Int(0), "";
        frequency: u32 = Count(1), Resolution(8), "";
    }
    ["cylinder" SURFACE CylinderSurface "a closed cylinder"] => {
        radius: f64 = Number("m", Positive), Required, "";
        length: f64 = Number("m", Positive), Required, "";
        around: u32 = Count(1), Resolution(48), "";
        along: u32 = Count(1), Resolution(1), "";
    }
    ["cylinder" SOLID CylinderSolid "the same"]
    ["capsule" SURFACE CapsuleSurface "a cylinder with round ends; `length` is that of the cylinder"] ["capsule" SOLID CapsuleSolid "the same"] => {
        radius: f64 = Number("m", Positive), Required, "";
        length: f64 = Number("m", Positive), Required, "of the straight part";
        rings: u32 = Count(1), Resolution(6), "";
        along: u32 = Count(1), Resolution(4), "";
    }
    ["cone" SURFACE Cone "a cone with its base at z = 0"] => {
        radius: f64 = Number("m", Positive), Required, "";
        height: f64 = Number("m", Positive), Required, "";
        around: u32 = Count(1), Resolution(48), "";
        along: u32 = Count(1), Resolution(1), "";
    }
    ["torus" SURFACE TorusSurface "a ring round the z axis"] => {
        major: f64 = Number("m", Positive), Required, "";
        minor: f64 = Number("m", Positive), Required, "";
        around: u32 = Count(1), Resolution(48), "";
        across: u32 = Count(1), Resolution(16), "";
    }
    ["torus" SOLID TorusSolid "the same"] => {
        major: f64 = Number("m", Positive), Required, "";
        minor: f64 = Number("m", Positive), Required, "";
        around: u32 = Count(1), Resolution(48), "";
        rings: u32 = Count(1), Resolution(3), "";
    }
}

impl Shape for SheetKeys {
    fn generator(self, _: &Fields<'_>) -> Option<Generator> {
        let Self {
            size,
            cells,
            jitter,
            seed,
            ..
        } = self;
        let pattern = match self.pattern {
            Pattern::Regular => SheetPattern::Regular,
            Pattern::Alternating => SheetPattern::Alternating,
            Pattern::Irregular => SheetPattern::Irregular { jitter, seed },
        };
        Some(Generator::mesh(Sheet {
            size,
            cells,
            pattern,
        }))
    }
}

impl Shape for BoxKeys {
    fn generator(self, f: &Fields<'_>) -> Option<Generator> {
        let cells = match (self.cells, f.lenient) {
            (Some(cells), _) => cells,
            (None, true) => [1; 3],
            (None, false) => return f.missing("cells"),
        };
        let base = BoxSurface {
            size: self.size,
            cells,
        };
        Some(match self.taper {
            None => Generator::mesh(base),
            Some(taper) => Generator::mesh(TaperedBox { base, taper }),
        })
    }
}

impl Shape for SolidBoxKeys {
    fn generator(self, _: &Fields<'_>) -> Option<Generator> {
        let Self {
            size,
            cells,
            walls,
            pattern,
        } = self;
        Some(match walls {
            Some(walls) => Generator::mesh(BoxShell {
                size,
                cells,
                walls,
                pattern,
            }),
            None => Generator::mesh(BoxSolid {
                size,
                cells,
                pattern,
            }),
        })
    }
}

impl Shape for SolidBallKeys {
    fn generator(self, f: &Fields<'_>) -> Option<Generator> {
        let Self {
            radius,
            thickness,
            frequency,
            layers,
        } = self;
        if let Some(thickness) = thickness {
            let frequency = f.need("frequency", frequency)?;
            return Some(Generator::mesh(BallShell {
                radius,
                thickness,
                frequency,
                layers,
            }));
        }
        if frequency.is_some() {
            let message = format!("{} is full, so that `frequency` has no meaning", f.what);
            let help = "remove it, or add `thickness` for a hollow sphere";
            return f.fail(ProblemKind::UnknownKey, "frequency", message, help);
        }
        Some(Generator::mesh(BallSolid { radius, layers }))
    }
}
