//! Tables of garments: panels of a body, seams, and the frames of an animated obstacle.

use stiction_bodies::motion::Interpolation;
use stiction_math::Vec3;

use crate::{
    format::{At, Fields, section, words},
    read::{
        names::OfBody,
        pin::{Filters, SelectKeys},
        place::{Placement, Rotate},
        shape::{Purpose, SHAPES, ShapePlan, shape},
    },
};

/// Source of the rest shape of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestShape {
    Mesh,
    Texture,
}
words! { RestShape: "mesh" => Mesh, "uv" => Texture }

section! { struct PanelKeys "body.panel" => PanelPlan, panel {
    name: At<String> = Name, Required, "its name, which is also that of the group of its vertices";
    shape: () = Union(&SHAPES), Required, "a [shape](#shapes) of shells";
    translate: Vec3 = Vector("m"), Vec(&[0.0; 3]), "moved at last, before the body as a whole";
    rotate: Vec<Rotate> = TableOrTables(Rotate::SECTION), Absent, "turned after `scale`, one after another";
    scale: Vec3 = Either(&[Number("1", Any), Vector("1")]), Num(1.0), "applied first";
} }
section! { /// Two edges of a body that are sewn together.
    struct Seam "seam" => At<Seam>, seam {
    name: Option<At<String>> = Text, Absent, "for overrides";
    body: At<OfBody> = Text, Required, "a shell";
    a: At<SeamEdge> = Table(SeamEdge::SECTION), Required, "one edge";
    b: At<SeamEdge> = Table(SeamEdge::SECTION), Required, "the other";
    reverse: Option<bool> = Flag, Said("`false`"), "turns the second edge around";
    close: [f64; 2] = Numbers(2, "s", NotNegative), Vec(&[0.0, 1.0]), "when the stitches begin to be drawn in, and when they are closed";
    stiffness: Option<f64> = Number("N/m", Positive), Said("10 times that of the cloth in its plane"), "of a stitch";
    damping: f64 = Number("s", NotNegative), Num(0.0), "resistance of a stitch to the relative velocity: this time times `stiffness`";
} }
section! { /// A stretch of the boundary of a shell.
    struct SeamEdge "seam.edge" [ExactlyOne(&["select", "corners"])] {
    select: Option<At<Filters>> = Table(SelectKeys::SECTION), Absent, "its nodes, as for [pins](#pin): those of them that are on the boundary, one stretch or one loop of it";
    corners: Option<Vec<Vec3>> = List(&Vector("m")), Absent, "instead: the path along the boundary through the nodes nearest to these points at the start, the shorter way round between every two";
} }
section! { /// Frames of an animated obstacle.
    struct Animation "animation" [Needs("first", &["last"]), Needs("last", &["first"])] => Animation, ordered {
    clip: Option<String> = Text, Said("the first one"), "of a glTF file: the name of the animation";
    first: Option<u32> = Count(0), Absent, "of a sequence of files, in whose path `#` stands for the digits of a number: the first number";
    last: Option<u32> = Count(0), Absent, "the last one";
    rate: f64 = Number("1/s", Positive), Num(60.0), "frames per second: those of a sequence, or those at which an animation is sampled";
    start: f64 = Number("s", Any), Num(0.0), "how much later than in the file the frames are; before the first and after the last one the mesh rests";
    interpolation: Interpolation = Word(Interpolation::WORDS), Chosen("linear"), "between frames, as in a [motion](#motion)";
} }

/// A panel of a body.
pub(crate) struct PanelPlan {
    pub name: At<String>,
    pub shape: ShapePlan,
    pub placement: Placement,
}

fn panel(f: &Fields<'_>, k: PanelKeys) -> Option<PanelPlan> {
    Some(PanelPlan {
        shape: shape(f, Purpose::Shell)?,
        placement: Placement::new(f, k.scale, &k.rotate, k.translate)?,
        name: k.name,
    })
}

fn seam(f: &Fields<'_>, seam: Seam) -> Option<At<Seam>> {
    if seam.close[1] < seam.close[0] {
        let message = format!("{} is closed before it begins to close", f.what);
        return f.refuse("close", message, "exchange the two times");
    }
    Some(At::new(seam, f.place))
}

fn ordered(f: &Fields<'_>, animation: Animation) -> Option<Animation> {
    if animation
        .first
        .zip(animation.last)
        .is_some_and(|(first, last)| last < first)
    {
        let message = format!("{}: the last number is below the first", f.what);
        return f.refuse("last", message, "exchange the two numbers");
    }
    Some(animation)
}
