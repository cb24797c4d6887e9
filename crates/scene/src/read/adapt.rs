//! `[[adapt]]`.

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, section},
    read::body::Names,
    source::At,
    tree::Node,
};

/// When a shell is refined, as it was read.
pub(crate) struct AdaptPlan {
    pub body: At<usize>,
    pub times: At<Vec<f64>>,
}

section! { pub(crate) ADAPT "adapt";
    "body": Text, Required, "a shell; not one of `springs`, whose stiffness belongs to the edges of one mesh";
    "refine_at": List(&Number("s", Any)), Required, "times, ascending from 0: at the start of the first step that begins then or later, every edge is halved and every triangle becomes four";
}

pub(crate) fn adapt(reporter: &Reporter, node: &Node, names: &Names) -> Option<AdaptPlan> {
    let f = Fields::new(reporter, node, "[[adapt]]", &ADAPT)?;
    let body = names.need(&f, "body");
    let times: Vec<f64> = f.take("refine_at")?;
    if times.is_empty() {
        let message = "`refine_at` of [[adapt]] is empty";
        let help = "give times, such as [0.5], or remove the [[adapt]] table";
        return f.refuse("refine_at", message, help);
    }
    if times.windows(2).any(|w| w[0] >= w[1]) || times.iter().any(|t| *t < 0.0) {
        let message = "`refine_at` of [[adapt]] must be times from 0 on, in ascending order";
        return f.refuse("refine_at", message, "");
    }
    Some(AdaptPlan {
        body: At::new(body?, f.place_of("body")),
        times: At::new(times, f.place_of("refine_at")),
    })
}

/// Reports bodies that are named twice.
pub(crate) fn once(reporter: &Reporter, plans: &[AdaptPlan]) {
    for (i, plan) in plans.iter().enumerate() {
        if plans[..i].iter().any(|p| p.body.value == plan.body.value) {
            let message = "two [[adapt]] tables name the same body";
            let help = "give all times in one `refine_at`".to_owned();
            plan.body
                .fail::<()>(reporter, ProblemKind::Duplicate, message, Some(help));
        }
    }
}
