//! A directory, a store and the program: the basis of every story.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub use crate::need::{root as is_root, slow as is_slow_wanted};

/// Exit code: completed without errors.
pub const DONE: i32 = 0;
/// Exit code: started, and something failed.
pub const ERRORS: i32 = 1;
/// Exit code: refused, nothing changed.
pub const BAD_INPUT: i32 = 2;
/// Exit code: ended by a signal that requests a stop.
pub const INTERRUPTED: i32 = 130;

/// Longest wait for a run in the background. Nothing in a story takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Environment variables of the user that must not reach the program.
const NOT_INHERITED: [&str; 8] = [
    "ASSAY_NATS",
    "ASSAY_NATS_CA",
    "ASSAY_NATS_NKEY",
    "XDG_DATA_HOME",
    "ASSAY_CHAP_FILE",
    "ASSAY_CHAP_SECRET",
    "ASSAY_CHAP_MUTUAL_USER",
    "ASSAY_CHAP_MUTUAL_SECRET",
];

/// A directory with its own store.
#[derive(Debug)]
pub struct Story {
    folder: tempfile::TempDir,
    program: String,
    /// The network namespace of the program, if it differs from the test's own.
    namespace: Option<String>,
}

/// Output and exit code of the program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Returns the path of the tested program.
fn program() -> String {
    std::env::var("CARGO_BIN_EXE_assay").expect("cargo names the program to the tests of its package")
}

impl Default for Story {
    fn default() -> Self {
        Self::new()
    }
}

impl Story {
    /// Creates the directory.
    ///
    /// # Panics
    /// If that fails.
    pub fn new() -> Self {
        Self::of(program(), tempfile::tempdir().unwrap())
    }

    /// Creates a story of another program than cargo's, in an existing directory.
    pub fn of(program: String, folder: tempfile::TempDir) -> Self {
        Self { folder, program, namespace: None }
    }

    /// Creates a story whose program runs in that network namespace.
    pub(crate) fn in_namespace(namespace: String) -> Self {
        Self { namespace: Some(namespace), ..Self::new() }
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the names of the files in the directory except the store, sorted.
    ///
    /// # Panics
    /// If the directory cannot be read.
    pub fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with("store.sqlite"));
        names.sort();
        names
    }

    /// Writes a file in the directory, and returns its path.
    ///
    /// # Panics
    /// If that fails.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Reads a file in the directory.
    ///
    /// # Panics
    /// If that fails.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Returns the program as a command, in the story's directory and with its store.
    ///
    /// # Panics
    /// If cargo has not built the program.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = match &self.namespace {
            None => Command::new(&self.program),
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace, &self.program]);
                command
            }
        };
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("ASSAY_STORE", self.path("store.sqlite")).env("NO_COLOR", "1");
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn assay(&self, args: &[&str]) -> ProgramOutput {
        printed(self.command(args).output().unwrap())
    }

    /// Starts the program in the background; it ends with the story.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(&self, args: &[&str]) -> Running {
        Running::of(self.command(args))
    }

    /// Waits until `is_so` accepts the last run in the store.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn wait_for(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let shown = self.assay(&["show", "last", "--json"]);
            if shown.code == Some(DONE) && is_so(&shown.json()) {
                return shown.json();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the run in the background did not come so far: {:?}", self.assay(&["show", "last"]));
    }
}

/// A program in the background; killed if the story ends first.
#[derive(Debug)]
pub struct Running(Option<Child>);

impl Running {
    /// Starts a command.
    ///
    /// # Panics
    /// If that fails.
    pub fn of(mut command: Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// Returns its process.
    ///
    /// # Panics
    /// Never: it exists until it has ended.
    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    /// Reads what it says on standard error until it has said that, in lines of whatever length.
    ///
    /// # Panics
    /// If it ends before.
    pub fn hear(&mut self, says: &str) -> String {
        let stderr = self.child().stderr.as_mut().unwrap();
        let (mut heard, mut byte) = (Vec::new(), [0]);
        while !String::from_utf8_lossy(&heard).split_whitespace().collect::<Vec<_>>().join(" ").contains(says)
        {
            assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&heard));
            heard.push(byte[0]);
        }
        String::from_utf8_lossy(&heard).into_owned()
    }

    /// Sends a signal by its name: `INT`.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&mut self, name: &str) {
        let id = self.child().id().to_string();
        run(&["kill", &format!("-{name}"), &id]);
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If that fails.
    pub fn end(mut self) -> ProgramOutput {
        printed(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the output of a program that has ended.
///
/// # Panics
/// If the output is not text.
pub fn printed(output: std::process::Output) -> ProgramOutput {
    ProgramOutput {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl ProgramOutput {
    /// Asserts the exit code.
    ///
    /// # Panics
    /// If it is another one.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Asserts that the input was refused with these words.
    ///
    /// # Panics
    /// If it was not.
    #[track_caller]
    pub fn refused(self, words: &[&str]) -> Self {
        let printed = self.ends(BAD_INPUT);
        assert_eq!(printed.out, "", "a refusal prints no result");
        let parts: Vec<&str> = printed.err.trim().split(": ").collect();
        assert!(parts.windows(2).all(|two| two[0] != two[1]), "said twice: {}", printed.err);
        printed.says(words)
    }

    /// Asserts that these words were printed.
    ///
    /// # Panics
    /// If one is missing.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        // Notes are wrapped to the terminal width, which must not hide words.
        let wrapped = [&self.out, &self.err].map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "));
        for words in words {
            assert!(
                [&self.out, &self.err, &wrapped[0], &wrapped[1]].iter().any(|text| text.contains(words)),
                "`{words}` is missing in:\n{}\n{}",
                self.out,
                self.err
            );
        }
        self
    }

    /// Returns standard output as JSON.
    ///
    /// # Panics
    /// If it is not JSON, or does not fit the schema that it names.
    #[track_caller]
    pub fn json(&self) -> Value {
        let read = serde_json::from_str(&self.out);
        let document = read.unwrap_or_else(|e| panic!("{e}:\n{}\n{}", self.out, self.err));
        crate::documents::fits_its_schema(&document);
        document
    }
}

/// Runs a program that must succeed, and returns its standard output.
///
/// # Panics
/// If it fails.
#[track_caller]
pub fn run(command: &[&str]) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a number in a document, by JSON pointer.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {value:#}"));
    found.as_f64().unwrap_or_else(|| panic!("{pointer} is {found}"))
}

/// Returns a whole number in a document, by JSON pointer.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn count(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {value:#}"));
    found.as_u64().unwrap_or_else(|| panic!("{pointer} is {found}"))
}

/// Returns the tests of a document.
///
/// # Panics
/// If it has none.
pub fn tests(document: &Value) -> &Vec<Value> {
    document["tests"].as_array().unwrap()
}

/// Returns the names of the rules that fired.
///
/// # Panics
/// If the document has no findings.
pub fn rules(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect()
}

/// Asserts that two values differ by at most that share of the larger.
///
/// # Panics
/// If they differ by more.
#[track_caller]
pub fn near(what: &str, a: f64, b: f64, share: f64) {
    assert!((a - b).abs() <= share * a.abs().max(b.abs()), "{what}: {a} against {b}");
}

/// Returns standard output as JSON, after that exit code.
///
/// # Panics
/// If the code is another one, or the output no JSON.
#[track_caller]
pub fn json(output: &ProgramOutput, code: i32) -> Value {
    assert_eq!(output.code, Some(code), "{}", output.err);
    output.json()
}

/// Asserts an exit code and words on standard error.
///
/// # Panics
/// If either is missing.
#[track_caller]
pub fn refused(output: &ProgramOutput, code: i32, words: &[&str]) {
    assert_eq!(output.code, Some(code), "{}", output.err);
    for word in words {
        assert!(output.err.contains(word), "{word}: {}", output.err);
    }
}

/// Measures the load curve of a target, and asks sizing questions of it: by its address, by the run, and by an export.
///
/// # Panics
/// If one of them is not answered, or the answers differ.
#[track_caller]
pub fn sized_by_its_curve(story: &Story, target: &str) {
    story.assay(&["curve", target, "--size", "16MiB", "--run", "200ms"]).ends(DONE);
    let ask = |question: &str, against: &str| {
        story.assay(&["size", question, "--against", against, "--json"]).ends(DONE).json()
    };
    let most = ask("4 KiB, 100 % read, mean 500 ms", target);
    let full = number(&most, "/full_iops");
    assert!(number(&most, "/most_iops") > 0.0 && full > 0.0, "{most:#}");
    assert_eq!(most["differs"].as_array().map(Vec::len), Some(0), "it is the load of the curve: {most:#}");
    let export = story.path("curve.assay").display().to_string();
    story.assay(&["export", "last", "-o", &export]).ends(DONE);
    for against in ["last", &export] {
        assert_eq!(
            number(&ask("4 KiB, 100 % read, mean 500 ms", against), "/most_iops"),
            number(&most, "/most_iops")
        );
    }
    let far = format!("{:.0} IOPS, 4 KiB, 100 % read, mean 500 ms", full * 3.0);
    assert_eq!(ask(&far, target)["carried"], false);
    let other = ask("1 IOPS, 64 KiB, 100 % write, mean 500 ms", target);
    assert_eq!(other["differs"].as_array().map(Vec::len), Some(2), "{other:#}");
}
