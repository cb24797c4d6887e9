//! Properties of the processor that results may depend on.

/// The instruction sets by which the sparse library chooses its dense kernels, such as `x86_64 avx2
/// fma`. These kernels sum in different orders, so that the last bits of sparse factorisations
/// differ between processors with different sets. All other results are the same on every
/// processor.
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
