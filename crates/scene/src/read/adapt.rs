//! `[[adapt]]`.

use crate::{
    error::{Kind, Reporter},
    fields::Fields,
    read::body::Names,
    schema,
    source::{At, Place},
    tree::Node,
};

/// When a shell is refined, as it was read.
pub(crate) struct AdaptPlan {
    pub body: At<usize>,
    pub times: At<Vec<f64>>,
}

pub(crate) fn adapt(reporter: &Reporter, node: &Node, names: &Names) -> Option<AdaptPlan> {
    let f = Fields::new(reporter, node, "[[adapt]]", schema::ADAPT)?;
    let body = names.need(&f, "body");
    let times = f.number_list("refine_at")?;
    let place = f.place_of("refine_at");
    if times.is_empty() {
        let message = "`refine_at` of [[adapt]] is empty".to_owned();
        let help = "give times, such as [0.5], or remove the [[adapt]] table";
        return f.fail(Kind::Value, "refine_at", message, Some(help.to_owned()));
    }
    let rising = times.windows(2).all(|w| w[0] < w[1]);
    if !rising || times.iter().any(|t| *t < 0.0) {
        let message =
            "`refine_at` of [[adapt]] must be times from 0 on, in ascending order".to_owned();
        return f.fail(Kind::Value, "refine_at", message, None);
    }
    Some(AdaptPlan {
        body: At::new(body?, f.place_of("body")),
        times: At::new(times, place),
    })
}

/// Reports bodies that are named twice.
pub(crate) fn once(reporter: &Reporter, plans: &[AdaptPlan]) {
    let named = |place: Place| {
        let message = "two [[adapt]] tables name the same body".to_owned();
        let help = "give all times in one `refine_at`";
        reporter.fail::<()>(Kind::Duplicate, place, message, Some(help.to_owned()));
    };
    for (i, plan) in plans.iter().enumerate() {
        if plans[..i].iter().any(|p| p.body.value == plan.body.value) {
            named(plan.body.place);
        }
    }
}
