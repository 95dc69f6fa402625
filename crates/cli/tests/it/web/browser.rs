//! Chromium, driven over its debugging pipe: what a person sees, clicks and types.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest wait for what a page is to show. A loaded machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pipe of the browser's commands is its descriptor 3, that of its answers 4.
const START: &str = "exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
                     --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: ChildStdout,
    read: Vec<u8>,
    sent: u64,
    session: Option<String>,
    /// What the page complained about.
    complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Whether pages may run their script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scripts {
    Run,
    Off,
}

/// How a page is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Light,
    Dark,
    Paper,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", START])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (commands, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut browser = Self {
            child,
            commands,
            answers,
            read: Vec::new(),
            sent: 0,
            session: None,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.answer(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The result of a command, or the error that the browser answers.
    fn answer(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(command.to_string().as_bytes()).unwrap();
        self.commands.write_all(b"\0").unwrap();
        loop {
            let message = self.message();
            if message["id"] == self.sent {
                return if message["error"].is_null() {
                    Ok(message["result"].clone())
                } else {
                    Err(message["error"].clone())
                };
            }
            self.note(&message);
        }
    }

    fn message(&mut self) -> Value {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == 0) {
                let message: Vec<u8> = self.read.drain(..=end).collect();
                return serde_json::from_slice(&message[..end]).unwrap();
            }
            let mut buffer = [0; 64 << 10];
            let count = self.answers.read(&mut buffer).unwrap();
            assert!(count > 0, "the browser has ended");
            self.read.extend_from_slice(&buffer[..count]);
        }
    }

    /// Keeps errors of scripts, refused styles and scripts, and answers that are errors.
    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters.to_string()),
            Some("Runtime.consoleAPICalled") if parameters["type"] == "error" => {
                self.complaints.push(parameters.to_string());
            }
            Some("Log.entryAdded")
                if parameters["entry"]["level"] == "error" || parameters["entry"]["level"] == "warning" =>
            {
                self.complaints.push(parameters["entry"].to_string());
            }
            _ => {}
        }
    }

    /// What pages complained about since the last look.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.evaluate("1");
        std::mem::take(&mut self.complaints)
    }

    pub(crate) fn allow(&mut self, scripts: Scripts) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({ "value": scripts == Scripts::Off }));
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Shows pages as on a screen in the light or the dark, or as on paper.
    pub(crate) fn show(&mut self, look: Look) {
        let (media, scheme) = match look {
            Look::Light => ("screen", "light"),
            Look::Dark => ("screen", "dark"),
            Look::Paper => ("print", "light"),
        };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": media, "features": features }));
    }

    /// Accepts certificates that nobody has signed.
    pub(crate) fn trust_every_certificate(&mut self) {
        self.call("Security.setIgnoreCertificateErrors", &json!({ "ignore": true }));
    }

    /// Keeps what is downloaded in a folder.
    pub(crate) fn keep_downloads(&mut self, folder: &std::path::Path) {
        let asked = json!({ "behavior": "allow", "downloadPath": folder });
        self.call("Page.setDownloadBehavior", &asked);
    }

    /// The cookies that the browser sends to the page.
    pub(crate) fn cookies(&mut self) -> Value {
        self.call("Network.getCookies", &json!({}))["cookies"].clone()
    }

    /// Returns what reaches beyond this width, in pixels; nothing if the page fits. The width of the window is no
    /// measure: on a phone it grows with the page.
    pub(crate) fn beyond(&mut self, width: u32) -> String {
        let beyond = self.evaluate(&format!(
            "document.documentElement.scrollWidth <= {width} ? '' : [...document.querySelectorAll('body *')]\
             .filter(e => e.getBoundingClientRect().right > {width})\
             .map(e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.trim().slice(0, 40))\
             .slice(0, 12).join('\\n')"
        ));
        beyond.as_str().unwrap().to_owned()
    }

    /// Role and name of each node of the page, as a screen reader gets them.
    pub(crate) fn accessible(&mut self) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != true);
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        nodes.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
    }

    /// Length of the page as a PDF, as base64.
    pub(crate) fn printed_length(&mut self) -> usize {
        let asked = json!({ "printBackground": true });
        self.call("Page.printToPDF", &asked)["data"].as_str().unwrap_or_default().len()
    }

    /// A picture of the whole page, as base64 of a PNG.
    pub(crate) fn picture(&mut self) -> String {
        let asked = json!({ "captureBeyondViewport": true, "format": "png" });
        self.call("Page.captureScreenshot", &asked)["data"].as_str().unwrap_or_default().to_owned()
    }

    /// Presses a key that has a name, where the focus is.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Opens a page and waits until it is there.
    pub(crate) fn open(&mut self, address: &str) {
        let opened = self.call("Page.navigate", &json!({ "url": address }));
        assert!(opened["errorText"].is_null(), "{address}: {opened}");
        self.until("document.readyState === 'complete'");
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        self.value(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn value(&mut self, expression: &str) -> Result<Value, Value> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        Ok(self.answer("Runtime.evaluate", &asked)?["result"]["value"].clone())
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let began = Instant::now();
        // A page that another one takes the place of just now answers with an error.
        while self.value(&format!("Boolean({expression})")) != Ok(json!(true)) {
            assert!(began.elapsed() < PATIENCE, "never: {expression}; the page says: {}", self.text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the page says.
    pub(crate) fn text(&mut self) -> String {
        self.evaluate("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Clicks what a selector finds.
    pub(crate) fn click(&mut self, selector: &str) {
        let point = self.evaluate(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); if (!e) return null; e.scrollIntoView(); const \
             b = e.getBoundingClientRect(); return {{ x: b.x + b.width / 2, y: b.y + b.height / 2 }}; }})()"
        ));
        assert!(!point.is_null(), "nothing is {selector}: {}", self.text());
        for kind in ["mousePressed", "mouseReleased"] {
            self.mouse(kind, point["x"].as_f64().unwrap(), point["y"].as_f64().unwrap());
        }
    }

    /// Moves, presses or releases the mouse.
    pub(crate) fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Types into what has the focus.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
