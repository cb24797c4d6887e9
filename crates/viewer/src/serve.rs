//! The page with the viewer, and the recording that it shows: see [`stiction_cli::view::serve`].
//!
//! The page is our own. Rerun's loads letters from elsewhere and reports its use to its makers; this
//! one asks nothing of any other machine, refuses requests that would leave this one before they
//! are made, and tells the browser to refuse them too. Rerun's own server is not used: it answers pages of its makers
//! and of any local port, and lets them write. The recording goes through a file without a name instead.

use std::{borrow::Cow, sync::Arc};

use re_web_viewer_server::WebViewerData;
use rerun::{RecordingStream, RecordingStreamBuilder};
use stiction_cli::view::serve::{Asset, Growing, ServedPage};

use crate::Error;

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Starts to record into a file that is removed with the process, and serves it with the page at `port`, or at any free
/// one for 0.
pub fn serve(
    builder: RecordingStreamBuilder,
    port: u16,
) -> Result<(RecordingStream, ServedPage, Arc<Growing>), Error> {
    let failed = |e: &dyn std::fmt::Display| Error::Serve(e.to_string());
    let file = tempfile::Builder::new()
        .prefix("stiction-")
        .suffix(".rrd")
        .tempfile()
        .map_err(|e| failed(&e))?;
    let stream = builder.save(file.path())?;
    // Only open handles are left of it, where the system allows that.
    let recording = Arc::new(Growing::new(file.into_file()));
    let data = WebViewerData::load(None).map_err(|e| failed(&e))?;
    let asset = |name, kind, bytes: &[u8]| Asset {
        name,
        kind,
        bytes: Cow::Owned(bytes.to_vec()),
    };
    let assets = vec![
        asset("", "text/html; charset=utf-8", include_bytes!("page.html")),
        asset("page.js", SCRIPT, include_bytes!("page.js")),
        asset("re_viewer.js", SCRIPT, data.viewer_js()),
        asset("re_viewer_bg.wasm", "application/wasm", data.viewer_wasm()),
    ];
    let page = ServedPage::serve(port, assets, Arc::clone(&recording)).map_err(|e| failed(&e))?;
    Ok((stream, page, recording))
}

/// Opens the page in the person's browser, if there is one.
pub fn open_browser(url: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let started = std::process::Command::new(program)
        .arg(url)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if started.is_err() {
        eprintln!("no browser was found: open the address above");
    }
}
