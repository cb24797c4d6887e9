//! A page and the recording it shows, served on loopback to the browser of one person.
//!
//! Everything lies below a path that cannot be guessed: `http://127.0.0.1:PORT/TOKEN/`. A request is refused unless it
//! calls this machine by its own name (`Host`: a name that was led here is somebody else's page) and comes from this
//! page or from the address bar (`Origin`, `Sec-Fetch-Site`). Files are read and never written: any method but GET is
//! refused. A recording that grows is sent as it grows, in chunks, until it is complete.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

/// Name of the recording below the page's address.
pub const RECORDING: &str = "run.rrd";
/// Longest head of a request [bytes].
const LONGEST_HEAD: usize = 16 << 10;
/// Time in which the head of a request must have come.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two looks at a recording that grows.
const INTERVAL: Duration = Duration::from_millis(50);
/// Connections at one time.
const MOST_CONNECTIONS: usize = 32;

/// A file of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Name below the page's address; the page itself has none.
    pub name: &'static str,
    /// Media type.
    pub kind: &'static str,
    /// Content.
    pub bytes: Cow<'static, [u8]>,
}

/// A file that another part of the program appends to.
#[derive(Debug)]
pub struct Growing {
    file: Mutex<File>,
    finished: AtomicBool,
}

impl Growing {
    /// Reads `file` as it grows.
    pub fn new(file: File) -> Self {
        Self {
            file: Mutex::new(file),
            finished: AtomicBool::new(false),
        }
    }

    /// Tells readers that nothing more will come.
    pub fn finish(&self) {
        self.finished.store(true, SeqCst);
    }

    /// Reads from an offset [bytes]; none at the end of a complete file.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // Asked before, so that what was written before the end is not missed.
        let finished = self.finished.load(SeqCst);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        let n = file.read(buffer)?;
        Ok((n > 0 || !finished).then_some(n))
    }
}

/// A page that is served until it is dropped.
#[derive(Debug)]
pub struct ServedPage {
    address: SocketAddr,
    site: Arc<Site>,
    accepting: Option<thread::JoinHandle<()>>,
}

impl ServedPage {
    /// Serves `assets` and a recording at `port` of 127.0.0.1, or at any free one for 0.
    pub fn serve(port: u16, assets: Vec<Asset>, recording: Arc<Growing>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let hosts = ["127.0.0.1", "localhost"].map(|h| format!("{h}:{}", address.port()));
        let site = Arc::new(Site {
            token: token()?,
            hosts,
            assets,
            recording,
            connections: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        });
        let shared = Arc::clone(&site);
        let accepting = thread::spawn(move || shared.accept(&listener));
        Ok(Self {
            address,
            site,
            accepting: Some(accepting),
        })
    }

    /// The address of the page, with its secret.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.site.token)
    }
}

impl Drop for ServedPage {
    fn drop(&mut self) {
        self.site.stopping.store(true, SeqCst);
        // Wakes the thread that waits for connections.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(thread) = self.accepting.take().filter(|_| woken) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// 128 random bits of the system, as hexadecimal digits.
fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[derive(Debug)]
struct Site {
    token: String,
    /// Names by which a browser may call this machine.
    hosts: [String; 2],
    assets: Vec<Asset>,
    recording: Arc<Growing>,
    connections: AtomicUsize,
    stopping: AtomicBool,
}

impl Site {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while !self.stopping.load(SeqCst) {
            let Ok((stream, from)) = listener.accept() else {
                // Such as too many open files.
                thread::sleep(INTERVAL);
                continue;
            };
            if self.stopping.load(SeqCst) || !from.ip().is_loopback() {
                continue;
            }
            let site = Arc::clone(self);
            let serve = move || {
                let others = site.connections.fetch_add(1, SeqCst);
                // A browser that went away needs no answer.
                let _ = match others < MOST_CONNECTIONS {
                    true => site.answer(stream),
                    false => refuse(stream, "503 Service Unavailable"),
                };
                site.connections.fetch_sub(1, SeqCst);
            };
            if thread::Builder::new().spawn(serve).is_err() {
                thread::sleep(INTERVAL);
            }
        }
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let Some(head) = read_head(&mut stream)? else {
            return refuse(stream, "400 Bad Request");
        };
        match self.find(&head) {
            Err(status) => refuse(stream, status),
            Ok(Found::Asset(asset)) => {
                let length = format!("Content-Length: {}", asset.bytes.len());
                write!(stream, "{}", self.head(asset.kind, &length))?;
                stream.write_all(&asset.bytes)
            }
            Ok(Found::Recording) => {
                let head = self.head("application/octet-stream", "Transfer-Encoding: chunked");
                write!(stream, "{head}")?;
                self.send_recording(&mut stream)
            }
        }
    }

    /// Finds the answer to a request, or the status of a refusal.
    fn find(&self, head: &str) -> Result<Found<'_>, &'static str> {
        const FORBIDDEN: &str = "403 Forbidden";
        let request = Request::parse(head).ok_or("400 Bad Request")?;
        let ours = |host: &str| self.hosts.iter().any(|h| h == host);
        if !request.only("host")?.is_some_and(ours) {
            return Err(FORBIDDEN);
        }
        if let Some(origin) = request.only("origin")?
            && !origin.strip_prefix("http://").is_some_and(ours)
        {
            return Err(FORBIDDEN);
        }
        if let Some(site) = request.only("sec-fetch-site")?
            && !["same-origin", "none"].contains(&site)
        {
            return Err(FORBIDDEN);
        }
        if request.method != "GET" {
            return Err("405 Method Not Allowed");
        }
        let path = request.target.split('?').next().unwrap_or_default();
        let name = path
            .strip_prefix('/')
            .and_then(|p| p.strip_prefix(self.token.as_str()));
        let name = name
            .and_then(|p| p.strip_prefix('/'))
            .ok_or("404 Not Found")?;
        if name == RECORDING {
            return Ok(Found::Recording);
        }
        let asset = self.assets.iter().find(|a| a.name == name);
        asset.map(Found::Asset).ok_or("404 Not Found")
    }

    /// The head of an answer: scripts from here, connections to here, and nothing else.
    fn head(&self, kind: &str, length: &str) -> String {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{length}\r\nConnection: close\r\n\
             Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' \
             'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; connect-src \
             'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\r\n"
        )
    }

    /// Sends the recording from its beginning until it is complete.
    fn send_recording(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let mut offset = 0;
        while let Some(n) = self.recording.read(offset, &mut buffer)? {
            if self.stopping.load(SeqCst) {
                return Ok(());
            }
            if n == 0 {
                thread::sleep(INTERVAL);
                continue;
            }
            let mut chunk = format!("{n:x}\r\n").into_bytes();
            chunk.extend_from_slice(&buffer[..n]);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk)?;
            offset += n as u64;
        }
        stream.write_all(b"0\r\n\r\n")
    }
}

enum Found<'a> {
    Asset(&'a Asset),
    Recording,
}

/// The head of a request.
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    fields: Vec<(String, &'a str)>,
}

impl<'a> Request<'a> {
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let version = words.next();
        if version != Some("HTTP/1.1") || words.next().is_some() || !target.starts_with('/') {
            return None;
        }
        let field = |line: &'a str| {
            let (name, value) = line.split_once(':')?;
            let named = !name.is_empty() && !name.contains(|c: char| c.is_whitespace());
            named.then(|| (name.to_ascii_lowercase(), value.trim()))
        };
        let fields = lines.map(field).collect::<Option<Vec<_>>>()?;
        Some(Self {
            method,
            target,
            fields,
        })
    }

    /// The value of a field that may stand once; the status of a refusal if it stands more often.
    fn only(&self, name: &str) -> Result<Option<&'a str>, &'static str> {
        let mut found = self.fields.iter().filter(|(n, _)| n == name);
        match (found.next(), found.next()) {
            (first, None) => Ok(first.map(|(_, value)| *value)),
            _ => Err("400 Bad Request"),
        }
    }
}

/// The head of a request up to its empty line; none if it is too long, too slow or no text.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let clock = Instant::now();
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    loop {
        if let Some(end) = head.windows(4).position(|w| w == b"\r\n\r\n") {
            head.truncate(end);
            return Ok(String::from_utf8(head).ok());
        }
        let left = PATIENCE.saturating_sub(clock.elapsed());
        if head.len() > LONGEST_HEAD || left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            n => head.extend_from_slice(&buffer[..n]),
        }
    }
}

fn refuse(mut stream: TcpStream, status: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    /// A page with one file, and the writing end of its recording.
    fn page() -> (ServedPage, File, Arc<Growing>, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(RECORDING);
        let written = File::create(&path).unwrap();
        let recording = Arc::new(Growing::new(File::open(&path).unwrap()));
        let assets = vec![
            Asset {
                name: "",
                kind: "text/html",
                bytes: Cow::Borrowed(b"<html>"),
            },
            Asset {
                name: "page.js",
                kind: "text/javascript",
                bytes: Cow::Owned(vec![b'x'; 300_000]),
            },
        ];
        let page = ServedPage::serve(0, assets, Arc::clone(&recording)).unwrap();
        (page, written, recording, dir)
    }

    fn ask(page: &ServedPage, text: &str) -> String {
        let mut stream = TcpStream::connect(page.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A refusal may come before all of a request was read.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    /// The status of a request for `path` below the token, with further lines.
    fn status(page: &ServedPage, method: &str, path: &str, more: &str) -> String {
        let text = format!("{method} {path} HTTP/1.1\r\n{more}\r\n");
        ask(page, &text)
            .split(' ')
            .nth(1)
            .unwrap_or("none")
            .to_owned()
    }

    #[test]
    fn only_the_page_itself_is_served() {
        let (page, ..) = page();
        let port = page.address.port();
        let own = page.url();
        let base = own
            .trim_start_matches(&format!("http://127.0.0.1:{port}"))
            .to_owned();
        assert_eq!(base.len(), 34, "{own}");
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        let script = format!("{base}page.js");
        for (path, more, expected) in [
            (base.as_str(), String::new(), "200"),
            (&format!("{base}?renderer=webgl"), String::new(), "200"),
            (&script, String::new(), "200"),
            (
                &script,
                format!("Origin: http://127.0.0.1:{port}\r\n"),
                "200",
            ),
            (&script, "Sec-Fetch-Site: same-origin\r\n".into(), "200"),
            (&base, "Sec-Fetch-Site: none\r\n".into(), "200"),
            // Without the secret, or outside the files.
            ("/", String::new(), "404"),
            ("/page.js", String::new(), "404"),
            (&format!("/{RECORDING}"), String::new(), "404"),
            (&base.replace(&base[1..5], "0000"), String::new(), "404"),
            (&format!("{base}../../etc/passwd"), String::new(), "404"),
            // From another page, also one on this machine.
            (&script, "Origin: https://app.rerun.io\r\n".into(), "403"),
            (&script, "Origin: https://rerun.io\r\n".into(), "403"),
            (&script, "Origin: null\r\n".into(), "403"),
            (
                &script,
                format!("Origin: http://127.0.0.1:{}\r\n", port ^ 1),
                "403",
            ),
            (
                &script,
                format!("Origin: https://127.0.0.1:{port}\r\n"),
                "403",
            ),
            (&script, "Sec-Fetch-Site: cross-site\r\n".into(), "403"),
            (&script, "Sec-Fetch-Site: same-site\r\n".into(), "403"),
            (
                &script,
                format!("Origin: http://127.0.0.1:{port}\r\nOrigin: https://rerun.io\r\n"),
                "400",
            ),
            // Led here under another name.
            (&script, "Host: evil.example\r\n".into(), "400"),
        ] {
            let found = status(&page, "GET", path, &(host.clone() + &more));
            assert_eq!(found, expected, "{path} {more}");
        }
        for host in [
            "",
            "Host: evil.example\r\n",
            "Host: 127.0.0.1\r\n",
            "Host: [::1]:80\r\n",
        ] {
            assert_eq!(status(&page, "GET", &script, host), "403", "{host}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "get"] {
            assert_eq!(status(&page, method, &script, &host), "405", "{method}");
        }
        // Rerun's calls, reading and writing.
        for call in ["ReadMessages", "WriteMessages"] {
            let path = format!("/rerun.sdk_comms.v1alpha1.MessageProxyService/{call}");
            assert_eq!(status(&page, "POST", &path, &host), "405");
        }
    }

    #[test]
    fn invalid_requests_are_refused() {
        let (page, ..) = page();
        let host = format!("Host: 127.0.0.1:{}\r\n", page.address.port());
        for text in [
            "\r\n\r\n".to_owned(),
            format!("GET / HTTP/1.0\r\n{host}\r\n"),
            format!("GET  HTTP/1.1\r\n{host}\r\n"),
            format!("GET / HTTP/1.1\r\n{host} folded: x\r\n\r\n"),
            format!(
                "GET /{} HTTP/1.1\r\n{host}\r\n",
                "a".repeat(2 * LONGEST_HEAD)
            ),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        ] {
            let answer = ask(&page, &text);
            let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 400");
            assert!(refused, "{}: {answer}", text.len());
        }
        // A connection that says nothing keeps nobody out.
        let silent = TcpStream::connect(page.address).unwrap();
        let base = page
            .url()
            .split_off(format!("http://{}", page.address).len());
        let answer = ask(&page, &format!("GET {base} HTTP/1.1\r\n{host}\r\n"));
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("<html>"),
            "{answer}"
        );
        assert!(answer.contains("connect-src 'self';"), "{answer}");
        drop(silent);
    }

    #[test]
    fn a_recording_is_sent_as_it_grows_and_whole_to_late_clients() {
        let (page, mut written, recording, _dir) = page();
        let base = page
            .url()
            .split_off(format!("http://{}", page.address).len());
        let text = format!(
            "GET {base}{RECORDING} HTTP/1.1\r\nHost: localhost:{}\r\n\r\n",
            page.address.port()
        );
        let mut early = TcpStream::connect(page.address).unwrap();
        early
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        early.write_all(text.as_bytes()).unwrap();
        let mut until = |mark: &str| {
            let mut seen = String::new();
            let mut byte = [0];
            while !seen.ends_with(mark) {
                assert_eq!(early.read(&mut byte).unwrap(), 1, "ended after {seen}");
                seen.push(char::from(byte[0]));
            }
            seen
        };
        assert!(until("\r\n\r\n").contains("Transfer-Encoding: chunked"));
        written.write_all(b"first").unwrap();
        assert_eq!(until("\r\nfirst\r\n"), "5\r\nfirst\r\n");
        written.write_all(b"second").unwrap();
        assert_eq!(until("\r\nsecond\r\n"), "6\r\nsecond\r\n");
        recording.finish();
        assert_eq!(until("0\r\n\r\n"), "0\r\n\r\n");
        let late = ask(&page, &text);
        assert!(
            late.ends_with("\r\nb\r\nfirstsecond\r\n0\r\n\r\n"),
            "{late}"
        );
        drop(page);
    }
}
