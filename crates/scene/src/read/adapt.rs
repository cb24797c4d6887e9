//! `[[adapt]]`.

use crate::{
    format::{At, Fields, ProblemKind, Reporter, section},
    read::names::OfBody,
};

section! { /// When a shell is refined, or how it is remeshed.
    struct Adapt "adapt" [ExactlyOne(&["refine_at", "remesh"])] => Adapt, checked {
    body: At<OfBody> = Text, Required, "a shell; not one of `springs`, whose stiffness belongs to the edges of one mesh";
    times as "refine_at": Option<At<Vec<f64>>> = List(&Number("s", Any)), Absent, "times, ascending from 0: at the start of the first step that begins then or later, every edge is halved and every triangle becomes four";
    remesh: Option<Remesh> = Table(Remesh::SECTION), Absent, "instead: the mesh is refined and coarsened all the time";
} }

section! { /// How a shell is remeshed.
    struct Remesh "adapt.remesh" => Remesh, ordered {
    edges: Vec<f64> = Numbers(2, "m", Positive), Required, "lengths in the rest shape: edges longer than the first are split where a criterion requires it, those longer than the second always";
    every: u64 = Count(1), Int(10), "steps from one remeshing to the next; the first is before the first step";
    angle: f64 = Number("°", Positive), Num(17.0), "turn of the normal along an edge above which it is split";
    velocity: f64 = Number("m/s", Positive), Num(0.5), "change of the velocity along an edge above which it is split";
    wave: f64 = Number("m", Positive), Num(0.005), "amplitude of the wave that an edge under compression may hide";
    proximity: bool = Flag, Bool(true), "edges are split that cross a plane of a nearby surface [li2018, Eq. 15]";
    aspect: f64 = Number("1", Positive), Num(0.2), "least ratio of the lengths that are allowed in two directions; at most 1";
    gradation: f64 = Number("1", Positive), Num(1.0), "by how much the allowed length may grow from one end of an edge to the other, relative to the edge";
    most_nodes: At<u64> = Count(4), Int(20_000), "nodes of the body at which splitting ends";
} }

fn checked(f: &Fields<'_>, adapt: Adapt) -> Option<Adapt> {
    let Some(times) = adapt.times.as_ref().map(|t| &t.value) else {
        return Some(adapt);
    };
    if times.is_empty() {
        let message = "`refine_at` of [[adapt]] is empty";
        let help = "give times, such as [0.5], or remove the [[adapt]] table";
        return f.refuse("refine_at", message, help);
    }
    if times.windows(2).any(|w| w[0] >= w[1]) || times[0] < 0.0 {
        let message = "`refine_at` of [[adapt]] must be times from 0 on, in ascending order";
        return f.refuse("refine_at", message, None);
    }
    Some(adapt)
}

fn ordered(f: &Fields<'_>, remesh: Remesh) -> Option<Remesh> {
    if remesh.edges[0] > remesh.edges[1] {
        let message = "`edges` of `remesh` has a shortest length above the longest";
        return f.refuse("edges", message, "give the shorter length first");
    }
    if remesh.aspect > 1.0 {
        let message = format!("`aspect` is {}, but must be at most 1", remesh.aspect);
        let help = "1 makes edges equally long in all directions";
        return f.refuse("aspect", message, help);
    }
    Some(remesh)
}

/// Reports bodies that are named twice.
pub(crate) fn once(reporter: &Reporter, plans: &[Adapt]) {
    for (i, plan) in plans.iter().enumerate() {
        let same = |p: &Adapt| p.body.value.0 == plan.body.value.0;
        if plans[..i].iter().any(same) {
            let message = "two [[adapt]] tables name the same body";
            let help = "use one table per body; it may have several times in `refine_at`";
            plan.body
                .fail::<()>(reporter, ProblemKind::Duplicate, message, help);
        }
    }
}
