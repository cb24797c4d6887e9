//! What touches: the certificate that says how well Coulomb's law was kept. It shares no code with
//! the solvers that it judges.

mod certificate;

pub use certificate::Certificate;
