//! Chromium without a window, driven through a pipe (the protocol of its developer tools).

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use serde_json::{Value, json};

pub const SIZE: [u32; 2] = [1280, 800];

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    next: u64,
    requests: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts the browser, if one is installed, with no name of another machine resolved.
    pub fn start() -> Option<Self> {
        let program = find()?;
        let profile = tempfile::tempdir().unwrap();
        // The browser takes commands at descriptor 3 and answers at 4; the shell puts our pipes there.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            ])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-dev-shm-usage",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
                "--ignore-gpu-blocklist",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            ])
            .arg(format!("--window-size={},{}", SIZE[0], SIZE[1]))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let to = child.stdin.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            session: String::new(),
            next: 0,
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        browser.session = session.as_str().unwrap().to_owned();
        for domain in ["Network", "Page", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let size = json!({
            "width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": false
        });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        Some(browser)
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        loop {
            let event = self.from.recv_timeout(Duration::from_secs(60));
            let event = event.expect("the page loads");
            self.note(&event);
            if event["method"] == "Page.loadEventFired" {
                return;
            }
        }
    }

    /// Pixels of the screen.
    pub fn screenshot(&mut self) -> Pixels {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        Pixels::decode(&base64(answer["data"].as_str().unwrap()))
    }

    /// Presses the mouse at one place, as parts of the page's size, and releases it at another.
    pub fn drag(&mut self, from: [f64; 2], to: [f64; 2]) {
        let steps = [
            ("mouseMoved", from),
            ("mousePressed", from),
            ("mouseMoved", [0.5 * (from[0] + to[0]), to[1]]),
            ("mouseMoved", to),
            ("mouseReleased", to),
        ];
        for (kind, [x, y]) in steps {
            let event = json!({
                "type": kind,
                "x": x * f64::from(SIZE[0]),
                "y": y * f64::from(SIZE[1]),
                "button": "left",
                "buttons": i32::from(kind != "mouseReleased"),
                "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event);
            std::thread::sleep(Duration::from_millis(150));
        }
    }

    /// All requests of the page.
    pub fn requests(&mut self) -> Vec<String> {
        while let Ok(message) = self.from.try_recv() {
            self.note(&message);
        }
        self.requests.clone()
    }

    fn note(&mut self, message: &Value) {
        if message["method"] == "Network.requestWillBeSent" {
            let url = message["params"]["request"]["url"].as_str();
            self.requests.push(url.unwrap_or_default().to_owned());
        }
        if message["method"] == "Network.webSocketCreated" {
            let url = message["params"]["url"].as_str();
            self.requests.push(url.unwrap_or_default().to_owned());
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        self.to.flush().unwrap();
        loop {
            let answer = self.from.recv_timeout(Duration::from_secs(60));
            let answer = answer.unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == json!(self.next) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }
}

fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("STICTION_BROWSER") {
        return Some(PathBuf::from(named));
    }
    let path = env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// A picture, four bytes per pixel.
pub struct Pixels {
    width: usize,
    pixels: Vec<[u8; 4]>,
    png: Vec<u8>,
}

impl Pixels {
    fn decode(bytes: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::ALPHA | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut data).unwrap();
        Self {
            width: info.width as usize,
            pixels: data.as_chunks::<4>().0.to_vec(),
            png: bytes.to_vec(),
        }
    }

    /// The pixels between two corners, as parts of width and height.
    pub fn part(&self, low: [f64; 2], high: [f64; 2]) -> Vec<[u8; 4]> {
        let height = self.pixels.len() / self.width;
        let range =
            |k: usize, n: usize| (low[k] * n as f64) as usize..(high[k] * n as f64) as usize;
        range(1, height)
            .flat_map(|y| range(0, self.width).map(move |x| (x, y)))
            .map(|(x, y)| self.pixels[y * self.width + x])
            .collect()
    }

    pub fn save(&self, path: &Path) {
        std::fs::write(path, &self.png).unwrap();
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = text.bytes().filter_map(value).map(u32::from).collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let word = group.iter().fold(0, |w, d| w << 6 | d) << (6 * (4 - group.len()));
        let three = [(word >> 16) as u8, (word >> 8) as u8, word as u8];
        bytes.extend_from_slice(&three[..group.len() - 1]);
    }
    bytes
}
