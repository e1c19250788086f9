//! The pages in a real browser, driven over its debugging pipe: no console error, no request elsewhere, no live markup, no overflow on
//! a telephone, links and fields that a keyboard reaches.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{chromium, make, pages, runs};
use crate::pages::hostile;

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: File,
    output: BufReader<File>,
    session: Value,
    number: u64,
    /// What the console, the log and the policy complained of.
    pub(crate) complaints: Vec<String>,
    /// Addresses that were asked for.
    pub(crate) requests: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one; `None` where there is none.
    pub(crate) fn start() -> Option<Browser> {
        let program = chromium()?;
        let profile = tempfile::tempdir().unwrap();
        let pipe = |name: &str| {
            let path = profile.path().join(name);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            )
            .unwrap();
            path
        };
        let (to, from) = (pipe("to"), pipe("from"));
        // A FIFO that is open for both never waits for its other end.
        let both = |path: &Path| File::options().read(true).write(true).open(path).unwrap();
        let (input, output) = (both(&to), both(&from));
        let child = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<>\"$FSLAB_TO\" 4<>\"$FSLAB_FROM\"",
            ])
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .arg(format!(
                "--user-data-dir={}",
                profile.path().join("profile").display()
            ))
            .arg("about:blank")
            .env("FSLAB_TO", &to)
            .env("FSLAB_FROM", &from)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut browser = Browser {
            child,
            input,
            output: BufReader::new(output),
            session: Value::Null,
            number: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = browser.call(
            "Target.attachToTarget",
            &json!({ "targetId": target["targetId"], "flatten": true }),
        );
        browser.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network", "Audits"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Sends a command and returns its result. Events that come before it are looked at.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let text = format!("{message}\0");
        self.input.write_all(text.as_bytes()).unwrap();
        loop {
            let mut answer = Vec::new();
            self.output.read_until(0, &mut answer).unwrap();
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.notice(&answer);
        }
    }

    fn notice(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Log.entryAdded" => self.complaints.push(params["entry"].to_string()),
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" => {
                self.complaints.push(params.to_string());
            }
            "Audits.issueAdded" => {
                let issue = &params["issue"];
                if issue["code"] == "ContentSecurityPolicyIssue" {
                    self.complaints.push(issue.to_string());
                }
            }
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            _ => {}
        }
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let found = self.call("Runtime.evaluate", &params);
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str, most: Duration) -> Duration {
        let begun = Instant::now();
        while self.value(expression) != true {
            assert!(
                begun.elapsed() < most,
                "{expression} is not true after {most:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        begun.elapsed()
    }

    /// Opens a page in a window of that width.
    pub(crate) fn open(&mut self, url: &str, width: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 }),
        );
        self.call("Page.navigate", &json!({ "url": url }));
        let here = format!(
            "document.readyState === 'complete' && location.href === {}",
            json!(url)
        );
        self.wait(&here, Duration::from_secs(30));
    }

    /// Presses the tabulator.
    fn tab(&mut self) {
        for kind in ["keyDown", "keyUp"] {
            let key =
                json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 });
            self.call("Input.dispatchKeyEvent", &key);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let message = json!({ "id": 0, "method": "Browser.close" });
        let _ = self.input.write_all(format!("{message}\0").as_bytes());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is wrong with the page that is open, in words; empty: nothing.
const FAULTS: &str = r"(() => {
  const faults = [];
  if (window.hacked) faults.push('a script of a name ran');
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest('.scroll, .layout > nav, pre, select'));
    faults.push('wider than the window by ' + (root.scrollWidth - root.clientWidth) + ': ' + wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join(' | '));
  }
  for (const sheet of document.styleSheets) { try { sheet.cssRules; } catch (e) { /* of file: cannot be read */ } }
  const font = getComputedStyle(document.body).fontFamily;
  if (!font.includes('system-ui')) faults.push('no styles: ' + font);
  for (const link of document.querySelectorAll('a[href]')) {
    if (!link.textContent.trim() && !link.getAttribute('aria-label')) faults.push('a link without a name: ' + link.outerHTML.slice(0, 100));
  }
  for (const table of document.querySelectorAll('main section .scroll > table')) {
    if (table.closest('td')) continue;
    const tools = table.parentElement.nextElementSibling;
    if (!tools || tools.className !== 'tools') faults.push('a table without its tools: scripts did not run');
  }
  for (const field of document.querySelectorAll('input, select, progress')) {
    if (!field.labels?.length && !field.getAttribute('aria-label')) faults.push('a field without a label: ' + field.outerHTML);
  }
  for (const svg of document.querySelectorAll('svg.run-series, svg.interval')) {
    if (svg.getBoundingClientRect().width < 20) faults.push('an empty drawing');
  }
  return faults;
})()";

/// One page of each kind, and every page that only one kind of run has.
pub(crate) fn of_each_kind(paths: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::BTreeMap::new();
    for path in paths {
        let depth = path.matches('/').count();
        let kind = path.split('/').next().unwrap_or_default().to_owned();
        let index = path.ends_with("index.html");
        let of_kind: &mut Vec<String> = seen.entry((kind, depth, index)).or_default();
        of_kind.push(path);
    }
    let some = |paths: Vec<String>| {
        let last = paths.len() - 1;
        let places = std::collections::BTreeSet::from([0, last / 2, last]);
        places.into_iter().map(move |at| paths[at].clone())
    };
    seen.into_values().flat_map(some).collect()
}

/// Looks at pages below `base`, at the width of a desk and of a telephone.
pub(crate) fn assert_clean(browser: &mut Browser, base: &str, paths: &[String]) {
    for path in paths {
        for width in [1280, 390] {
            browser.open(&format!("{base}{path}"), width);
            let faults = browser.value(FAULTS);
            assert_eq!(faults, json!([]), "{path} at {width}");
        }
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
    let elsewhere = |url: &&String| {
        !url.starts_with(base)
            && !url.starts_with("data:")
            && !url.starts_with("about:")
            && !url.starts_with("blob:")
    };
    let foreign: Vec<&String> = browser.requests.iter().filter(elsewhere).collect();
    assert!(foreign.is_empty(), "requests elsewhere: {foreign:?}");
}

fn site(runs: &Path) -> (tempfile::TempDir, String, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    make(runs, dir.path()).unwrap();
    let base = format!("file://{}/", dir.path().canonicalize().unwrap().display());
    let paths = of_each_kind(pages(dir.path()).into_keys());
    (dir, base, paths)
}

#[test]
fn every_kind_of_page_opens_clean_from_files_needs_chromium() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let runs = runs();
    let (_dir, base, paths) = site(runs.path());
    assert!(paths.len() >= 10, "{paths:?}");
    assert_clean(&mut browser, &base, &paths);
}

#[test]
fn hostile_names_do_nothing_in_a_browser_needs_chromium() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let runs = hostile();
    let (_dir, base, paths) = site(runs.path());
    assert_clean(&mut browser, &base, &paths);
    browser.open(&format!("{base}index.html"), 1280);
    let shown = browser
        .value("document.body.innerText.includes('</script><script>window.hacked=1</script>')");
    assert_eq!(shown, true, "the name is shown as text");
}

#[test]
fn a_list_is_filtered_and_read_with_the_keyboard_needs_chromium() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let runs = runs();
    let (_dir, base, _) = site(runs.path());
    browser.open(&format!("{base}index.html"), 1280);
    let rows = "[...document.querySelectorAll('tbody tr')].filter((row) => !row.hidden).length";
    assert_eq!(browser.value(rows), 27);
    let mut focused = Vec::new();
    for _ in 0..40 {
        browser.tab();
        focused.push(
            browser
                .value("(document.activeElement.id || document.activeElement.textContent).trim()"),
        );
    }
    for wanted in [
        "Skip to the content",
        "Series",
        "Comparisons",
        "filter-words",
        "run-24",
    ] {
        assert!(
            focused.iter().any(|name| name == wanted),
            "{wanted}: {focused:?}"
        );
    }
    let outline = browser.value("getComputedStyle(document.activeElement).outlineStyle !== 'none'");
    assert_eq!(outline, true, "what has the focus is marked");
    browser.value("document.getElementById('filter-words').focus()");
    browser.call("Input.insertText", &json!({ "text": "6.13 MAILSERVER" }));
    assert_eq!(browser.value(rows), 12);
    assert_eq!(
        browser.value("document.getElementById('filter-shown').textContent"),
        "12 of 27"
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Contrast of every text on the page with its background (WCAG 2.2, 1.4.3), smallest first.
const CONTRAST: &str = r"(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const backdrop = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return rgba(getComputedStyle(document.body).backgroundColor); };
  let worst = [21, ''];
  for (const e of document.querySelectorAll('main.site *, header *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || e.closest('svg') || !e.getClientRects().length) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(backdrop(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 100)];
  }
  return worst;
})()";

#[test]
fn text_has_contrast_in_light_and_dark_needs_chromium() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let runs = runs();
    let (_dir, base, paths) = site(runs.path());
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", &features);
        for path in paths.iter().filter(|path| !path.starts_with("run/")) {
            browser.open(&format!("{base}{path}"), 1280);
            let worst = browser.value(CONTRAST);
            assert!(worst[0].as_f64() >= Some(4.5), "{scheme}: {path}: {worst}");
        }
    }
}
