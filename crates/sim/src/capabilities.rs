//! Capabilities of methods as data, and the refusal of scenes that follows from them.

use crate::needs::{ModelFeature, Need};

/// A set of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(u32);

impl Features {
    /// Those of a list.
    pub const fn of(list: &[ModelFeature]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < list.len() {
            bits |= 1 << list[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    /// All but those of a list.
    pub const fn all_but(list: &[ModelFeature]) -> Self {
        Self(Self::of(&ModelFeature::ALL).0 & !Self::of(list).0)
    }

    /// Whether `feature` is one of them.
    pub const fn has(self, feature: ModelFeature) -> bool {
        self.0 & (1 << feature as u32) != 0
    }
}

/// A setting under which a method supports less than it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restriction {
    /// The setting, as it stands in a scene.
    pub setting: &'static str,
    /// The setting that lifts the restriction.
    pub instead: &'static str,
    /// The features that are not supported.
    pub lacks: Features,
}

/// Capabilities of a method with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Features supported with any settings.
    pub supports: Features,
    /// The settings that take from it.
    pub restrictions: Vec<Restriction>,
    /// Whether contact keeps all features of surfaces apart, edges as well as vertices, so that
    /// surfaces that cross are an error.
    pub separates_surfaces: bool,
}

impl Capabilities {
    /// The features, with no restriction by settings.
    pub fn new(supports: Features) -> Self {
        Self {
            supports,
            restrictions: Vec::new(),
            separates_surfaces: false,
        }
    }

    /// Whether a feature is supported with these settings.
    pub fn has(&self, feature: ModelFeature) -> bool {
        self.supports.has(feature) && self.restriction(feature).is_none()
    }

    fn restriction(&self, feature: ModelFeature) -> Option<&Restriction> {
        self.restrictions.iter().find(|r| r.lacks.has(feature))
    }

    /// Refuses needs that are not supported, with remedies.
    pub fn check(&self, method: &'static str, needs: &[Need]) -> Result<(), Unsupported> {
        let missing: Vec<&Need> = needs.iter().filter(|n| !self.has(n.feature)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut remedies = Vec::new();
        // Settings help only if all that is missing is missing because of them.
        if missing.iter().all(|n| self.supports.has(n.feature)) {
            let mut settings: Vec<String> = missing
                .iter()
                .filter_map(|n| self.restriction(n.feature))
                .map(|r| format!("set `{}`", r.instead))
                .collect();
            settings.dedup();
            remedies.push(settings.join(" and "));
        }
        let mut changes: Vec<&str> = missing.iter().map(|n| n.feature.remedy()).collect();
        changes.dedup();
        remedies.push(changes.join(" and "));
        let reasons: Vec<String> = missing
            .iter()
            .map(|need| {
                let reason = need.to_string();
                match self.restriction(need.feature) {
                    Some(r) if self.supports.has(need.feature) => {
                        format!("{reason} with `{}`", r.setting)
                    }
                    _ => reason,
                }
            })
            .collect();
        Err(Unsupported {
            method,
            reason: reasons.join("; "),
            remedies,
        })
    }
}

/// A scene that a method cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("method `{method}` cannot run this scene: {reason}")]
pub struct Unsupported {
    /// The method.
    pub method: &'static str,
    /// Which body or obstacle, and why.
    pub reason: String,
    /// Advice: each of these helps.
    pub remedies: Vec<String>,
}

impl Unsupported {
    /// Adds the remedy to choose one of `methods`, which can run the scene.
    pub fn or_choose(mut self, methods: &[&str]) -> Self {
        let names: Vec<String> = methods
            .iter()
            .filter(|m| **m != self.method)
            .map(|m| format!("`{m}`"))
            .collect();
        if !names.is_empty() {
            let choose = format!("choose method {}", names.join(" or "));
            self.remedies.insert(0, choose);
        }
        self
    }

    /// The remedies in one sentence.
    pub fn remedy(&self) -> String {
        match self.remedies.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{}, or {last}", others.join(", ")),
            None => String::new(),
        }
    }
}
