//! What results may depend on in a processor.

/// The instruction sets by which the sparse library chooses its dense kernels, such as `x86_64 avx2 fma`. Their sums
/// have other orders and roundings, so that the last bits of sparse factorisations differ between processors
/// that differ here. All else is the same on every processor.
pub fn instruction_sets() -> String {
    let mut found = vec![std::env::consts::ARCH];
    #[cfg(target_arch = "x86_64")]
    for (name, has) in [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
    ] {
        found.extend(has.then_some(name));
    }
    found.join(" ")
}
