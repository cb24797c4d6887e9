//! What is carried from one solve to the next.

use stiction_contact::ContactSet;
use stiction_math::Vec3;

/// Velocities and forces: the result of a solve and the start of the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Velocities of the blocks [m/s].
    pub v: Vec<Vec3>,
    /// The dual variable λ = W⁻¹ Bᵀ r of each block [m/s]: what contact does to it. It lives on
    /// blocks, so that it stays useful when contacts come and go [daviet2020, Sect. 6.2.2].
    pub lambda: Vec<Vec3>,
    /// A p − f [N·s] of the last feasible velocity p: the impulse that would have balanced it. It
    /// tends to Bᵀ r, and before that is what makes a new solve of the same problem go on where the
    /// last one stopped.
    pub balance: Vec<Vec3>,
    /// Impulses at the contacts [N·s], world frame.
    pub r: Vec<Vec3>,
}

impl State {
    /// Rearranges `r` from the contacts `old` to the contacts `new` by their keys; contacts that
    /// were not there start from zero. Equal keys are paired in their order.
    pub fn carry(&mut self, old: &ContactSet, new: &ContactSet) {
        let sorted = |set: &ContactSet| {
            let mut order: Vec<u32> = (0..set.len() as u32).collect();
            order.sort_by_key(|&c| set.key[c as usize]);
            order
        };
        let mut r = vec![Vec3::zeros(); new.len()];
        let before = sorted(old);
        let mut at = before.iter().copied().peekable();
        for c in sorted(new) {
            let key = new.key[c as usize];
            while at.next_if(|&o| old.key[o as usize] < key).is_some() {}
            if let Some(o) = at.next_if(|&o| old.key[o as usize] == key) {
                r[c as usize] = self.r.get(o as usize).copied().unwrap_or_default();
            }
        }
        self.r = r;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_contact::{Contact, ContactKey};

    #[test]
    fn impulses_follow_their_features() {
        let set = |keys: &[u64]| {
            let mut set = ContactSet::default();
            for &first in keys {
                let key = ContactKey { first, second: 7 };
                let contact = Contact {
                    key,
                    ..Contact::default()
                };
                set.push(&[(0, 1.0)], contact);
            }
            set
        };
        let mut state = State {
            r: [1.0, 2.0, 3.0, 4.0].map(|x| Vec3::z() * x).to_vec(),
            ..State::default()
        };
        state.carry(&set(&[5, 2, 9, 5]), &set(&[9, 5, 1, 5, 5, 2]));
        let z: Vec<f64> = state.r.iter().map(|r| r.z).collect();
        assert_eq!(z, [3.0, 1.0, 0.0, 4.0, 0.0, 2.0]);
    }
}
