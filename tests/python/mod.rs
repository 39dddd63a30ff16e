//! Virtual environments of Python, made on first use under the target folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The interpreter of a virtual environment with these packages, such as `onnx==1.22.0`.
pub fn python(packages: &[&str]) -> PathBuf {
    let name = format!("python-{}", packages.join("-").replace("==", "-"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
    // Tests run side by side, also in several processes, and one of them makes it.
    let lock = File::create(folder.with_file_name(name + ".lock")).unwrap();
    lock.lock().unwrap();
    let (bin, python) = if cfg!(windows) { ("Scripts", "python") } else { ("bin", "python3") };
    let interpreter = folder.join(bin).join(python);
    // The last thing that is made, so that an environment that was not finished is made again.
    let finished = folder.join("finished");
    if !finished.is_file() {
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder));
        let install = ["-m", "pip", "install", "-q", "--disable-pip-version-check"];
        run(Command::new(&interpreter).args(install).args(packages));
        fs::write(finished, "").unwrap();
    }
    interpreter
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
