//! Two servers on loopback: the page with the viewer, and the stream of what it shows.
//!
//! The page is our own. Rerun's loads letters from elsewhere and reports its use to its makers; this
//! one asks nothing of any other machine, refuses requests that would leave this one before they
//! are made, and tells the browser to refuse them too.

use std::{
    net::{IpAddr, Ipv4Addr, TcpListener},
    sync::Arc,
    thread,
};

use re_web_viewer_server::WebViewerData;
use rerun::{MemoryLimit, RecordingStream, RecordingStreamBuilder, ServerOptions};
use tiny_http::{Header, Request, Response, Server};

use crate::Error;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

/// The page, as long as it is kept.
pub struct Page {
    server: Arc<Server>,
    thread: Option<thread::JoinHandle<()>>,
    url: String,
}

impl Page {
    /// Where the page is.
    pub fn url(&self) -> String {
        self.url.clone()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Starts both servers; the page at `port`, or at any free one for 0.
pub fn serve(builder: RecordingStreamBuilder, port: u16) -> Result<(RecordingStream, Page), Error> {
    let stream_port = free_port().map_err(|e| Error::Serve(e.to_string()))?;
    let options = ServerOptions {
        // What goes beyond is forgotten from the oldest on.
        memory_limit: MemoryLimit::from_fraction_of_total(0.5),
        ..ServerOptions::default()
    };
    let stream = builder.serve_grpc_opts(LOOPBACK.to_string(), stream_port, options)?;
    let server = Server::http((LOOPBACK, port)).map_err(|e| Error::Serve(e.to_string()))?;
    let server = Arc::new(server);
    let address = server
        .server_addr()
        .to_ip()
        .ok_or_else(|| Error::Serve("no address".into()))?;
    let data = WebViewerData::load(None).map_err(|e| Error::Serve(e.to_string()))?;
    let files = Files {
        data,
        stream_port,
        hosts: ["127.0.0.1", "localhost"].map(|h| format!("{h}:{}", address.port())),
    };
    let listening = Arc::clone(&server);
    let thread = thread::spawn(move || {
        for request in listening.incoming_requests() {
            // A browser that went away needs no answer.
            let _ = files.answer(request);
        }
    });
    let url = format!("http://{address}/");
    let page = Page {
        server,
        thread: Some(thread),
        url,
    };
    Ok((stream, page))
}

/// A port that nobody listens on. The stream's server can be given a number only.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((LOOPBACK, 0))?.local_addr()?.port())
}

/// What is served.
struct Files {
    data: WebViewerData,
    stream_port: u16,
    /// By what names a browser may call us: any other one is somebody else's page that was led here.
    hosts: [String; 2],
}

impl Files {
    fn answer(&self, request: Request) -> std::io::Result<()> {
        let host = request.headers().iter().find(|h| h.field.equiv("Host"));
        if !host.is_some_and(|h| self.hosts.iter().any(|ours| h.value == ours.as_str())) {
            return request.respond(Response::empty(403));
        }
        let path = request.url().split('?').next().unwrap_or_default();
        let script;
        let (kind, bytes): (&str, &[u8]) = match path {
            "/" => ("text/html; charset=utf-8", PAGE.as_bytes()),
            "/page.js" => {
                script = SCRIPT.replace("STREAM_PORT", &self.stream_port.to_string());
                ("text/javascript; charset=utf-8", script.as_bytes())
            }
            "/re_viewer.js" => ("text/javascript; charset=utf-8", self.data.viewer_js()),
            "/re_viewer_bg.wasm" => ("application/wasm", self.data.viewer_wasm()),
            _ => return request.respond(Response::empty(404)),
        };
        let mut response = Response::from_data(bytes);
        for (name, value) in [
            ("Content-Type", kind.to_owned()),
            ("Content-Security-Policy", self.policy()),
            ("Cache-Control", "no-store".to_owned()),
            ("X-Content-Type-Options", "nosniff".to_owned()),
            ("Referrer-Policy", "no-referrer".to_owned()),
        ] {
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        request.respond(response)
    }

    /// Scripts from here, connections to here and to the stream, and nothing else.
    fn policy(&self) -> String {
        format!(
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' \
             'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' \
             blob:; connect-src 'self' http://127.0.0.1:{port} http://localhost:{port}; base-uri \
             'none'; form-action 'none'; frame-ancestors 'none'",
            port = self.stream_port
        )
    }
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
