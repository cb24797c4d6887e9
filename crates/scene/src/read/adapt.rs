//! `[[adapt]]`.

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, section},
    read::names::OfBody,
    source::At,
};

section! { /// When a shell is refined.
    struct Adapt "adapt" => Adapt, checked {
    body: At<OfBody> = Text, Required, "a shell; not one of `springs`, whose stiffness belongs to the edges of one mesh";
    times as "refine_at": At<Vec<f64>> = List(&Number("s", Any)), Required, "times, ascending from 0: at the start of the first step that begins then or later, every edge is halved and every triangle becomes four";
} }

fn checked(f: &Fields<'_>, adapt: Adapt) -> Option<Adapt> {
    let times = &adapt.times.value;
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

/// Reports bodies that are named twice.
pub(crate) fn once(reporter: &Reporter, plans: &[Adapt]) {
    for (i, plan) in plans.iter().enumerate() {
        let same = |p: &Adapt| p.body.value.0 == plan.body.value.0;
        if plans[..i].iter().any(same) {
            let message = "two [[adapt]] tables name the same body";
            let help = "give all times in one `refine_at`";
            plan.body
                .fail::<()>(reporter, ProblemKind::Duplicate, message, help);
        }
    }
}
