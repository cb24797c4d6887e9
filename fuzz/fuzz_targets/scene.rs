//! Any text as a scene: an error or a scene, never a panic, never a large allocation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stiction_scene::{SceneLimits, LoadOptions, SceneSource, load};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data).into_owned();
    // Small enough that a scene that needs much is refused and not merely slow.
    let limits = SceneLimits { max_nodes: 5_000, max_mesh_bytes: 1 << 20 };
    let options = LoadOptions { limits, ..LoadOptions::default() };
    let _ = load(&SceneSource::Text { name: "fuzz".to_owned(), text }, &options);
});
