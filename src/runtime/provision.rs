//! Brings the code of runtimes that is not linked into this program into the user's cache directory: the library of an
//! onnxruntime release, from its Python wheel, and the worker of another release of a linked runtime, built with cargo.
//!
//! A file appears there whole or not at all.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Kind, Supply, by_number};
use crate::files::{sha256, write_whole};

/// The release of onnxruntime under test.
pub const ONNXRUNTIME_VERSION: &str = "1.31.1";

/// The variable that names a library to use in place of the release under test.
pub const OVERRIDE: &str = "ORT_DYLIB_PATH";

/// The Python version whose wheels are taken. Which one it is makes no difference to the library.
const PYTHON: &str = "312";

/// Wheels for a platform.
struct Platform {
    /// As in `std::env::consts`.
    os: &'static str,
    arch: &'static str,
    /// The platform tags that wheels have had, the newest first.
    tags: &'static [&'static str],
    /// The SHA-256 of the wheel of the release under test. That of another release is checked by pip against its index.
    sha256: &'static str,
}

const PLATFORMS: &[Platform] = &[
    Platform {
        os: "linux",
        arch: "x86_64",
        tags: &["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"],
        sha256: "1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536",
    },
    Platform {
        os: "linux",
        arch: "aarch64",
        tags: &["manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"],
        sha256: "0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc",
    },
    Platform {
        os: "macos",
        arch: "aarch64",
        tags: &["macosx_14_0_arm64", "macosx_13_0_arm64", "macosx_13_0_universal2", "macosx_11_0_universal2"],
        sha256: "96dd2564b10ea7153ad9c207e7cd8e5917cb3ba521e0e0a62ac03486fdc8d56c",
    },
    Platform {
        os: "windows",
        arch: "x86_64",
        tags: &["win_amd64"],
        sha256: "ae8a9a351efda685cc59a66226cdefaa37a126c1d66872ca23a2de9425326130",
    },
    Platform {
        os: "windows",
        arch: "aarch64",
        tags: &["win_arm64"],
        sha256: "fe8b9ac1ae8e894e12c47ee82e4f6dfc1835768133687257866469fda80d0bf1",
    },
];

/// Why the code of a runtime cannot be had. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    #[error(
        "{OVERRIDE} names {0}, which is not a file: set it to an onnxruntime library, or unset it to have one fetched"
    )]
    Override(PathBuf),
    #[error(
        "there is no wheel of onnxruntime for {0}: set {OVERRIDE} to an onnxruntime library, or leave the runtime out \
         with --runtimes in-house,tract"
    )]
    Platform(String),
    #[error("no cache directory is known: set HOME, or set {OVERRIDE} to an onnxruntime library")]
    NoCache,
    #[error(
        "onnxruntime {version} cannot be fetched: {reason}. Install Python 3 with pip and see that it reaches a package \
         index that has this release (`python3 -m pip index versions onnxruntime` lists them); or set {OVERRIDE} to an \
         onnxruntime library; or leave the runtime out with --runtimes in-house,tract"
    )]
    Pip { version: String, reason: String },
    #[error("the wheel that pip fetched is not the pinned one: its SHA-256 is {found}, expected {expected}")]
    Sha256 { found: String, expected: &'static str },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("the wheel of onnxruntime cannot be unpacked: {0}")]
    Wheel(String),
    #[error(
        "the reference evaluator cannot be installed: {0}. Install Python 3 with pip and venv, and see that it reaches a \
         package index that has onnx {REFERENCE_VERSION}"
    )]
    Reference(String),
    #[error("the worker of {0} {1} cannot be built: {2}")]
    Worker(String, String, String),
}

/// The folder of an item in the cache.
fn cache(item: &str) -> Result<PathBuf, ProvisionError> {
    let directories = directories::ProjectDirs::from("", "", "onnx-crosscheck").ok_or(ProvisionError::NoCache)?;
    Ok(directories.cache_dir().join(item))
}

fn platform() -> Result<&'static Platform, ProvisionError> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let platform = PLATFORMS.iter().find(|platform| platform.os == os && platform.arch == arch);
    platform.ok_or_else(|| ProvisionError::Platform(format!("{os} on {arch}")))
}

/// Where the library of an onnxruntime release is, or will be once it is provisioned. For the release under test it is the
/// user's own, if one is named, or else the one that stands beside this program, if one does.
///
/// # Errors
/// If there can be none.
pub fn library(version: &str) -> Result<PathBuf, ProvisionError> {
    let own = std::env::var_os(OVERRIDE).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = own.filter(|_| version == ONNXRUNTIME_VERSION) {
        return if path.is_file() { Ok(path) } else { Err(ProvisionError::Override(path)) };
    }
    let name = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let program = std::env::current_exe().ok().filter(|_| version == ONNXRUNTIME_VERSION);
    if let Some(path) = program.map(|program| program.with_file_name(&name)).filter(|path| path.is_file()) {
        return Ok(path);
    }
    let platform = platform()?;
    let folder = cache(&format!("onnxruntime-{version}-{}-{}", platform.os, platform.arch))?;
    Ok(folder.join(name))
}

/// The library of an onnxruntime release, fetched if it is not there yet.
///
/// # Errors
/// If it cannot be had; the message says what to do.
pub fn onnxruntime_library(version: &str) -> Result<PathBuf, ProvisionError> {
    let library = library(version)?;
    if !library.is_file() {
        fetch(version, platform()?, &library)?;
    }
    Ok(library)
}

/// Every release of onnxruntime that the package index has for this platform.
///
/// # Errors
/// If pip cannot say.
fn onnxruntime_releases() -> Result<Vec<String>, ProvisionError> {
    let mut command = pip("index", platform()?);
    let failed = |reason: String| ProvisionError::Pip { version: "of any release".to_owned(), reason };
    // The subcommand is an experiment of pip's, and says so on standard error.
    let output = command.args(["versions", "onnxruntime"]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.map_err(|error| failed(format!("`{}` cannot be started ({error})", python())))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Available versions:"));
    let line = line.ok_or_else(|| failed(format!("`pip index versions onnxruntime` ended with {}", output.status)))?;
    Ok(line.split(',').map(|version| version.trim().to_owned()).collect())
}

fn fetch(version: &str, platform: &Platform, library: &Path) -> Result<(), ProvisionError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| ProvisionError::Io { path, error }
    };
    let directory = library.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(io(directory))?;
    // On the same file system as its destination, so that the library can be moved there in one step.
    let scratch = tempfile::tempdir_in(directory).map_err(io(directory))?;
    eprintln!("Fetching onnxruntime {version} with pip, once; it goes to {}", directory.display());
    pip_download(version, platform, scratch.path())?;
    let downloads = fs::read_dir(scratch.path()).map_err(io(scratch.path()))?;
    let file = downloads.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    let left_none = || ProvisionError::Pip { version: version.to_owned(), reason: "pip left no wheel".to_owned() };
    let file = file.ok_or_else(left_none)?;
    let mut bytes = Vec::new();
    File::open(&file).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io(&file))?;
    let found = sha256(&bytes);
    if version == ONNXRUNTIME_VERSION && found != platform.sha256 {
        return Err(ProvisionError::Sha256 { found, expected: platform.sha256 });
    }
    let unpacked = tempfile::NamedTempFile::new_in(directory).map_err(io(directory))?;
    extract_library(bytes, unpacked.as_file()).map_err(ProvisionError::Wheel)?;
    unpacked.as_file().sync_all().map_err(io(library))?;
    unpacked.persist(library).map_err(|error| ProvisionError::Io { path: library.to_owned(), error: error.error })?;
    Ok(())
}

const fn python() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}

/// A subcommand of pip that looks at wheels for a platform.
fn pip(subcommand: &str, platform: &Platform) -> Command {
    let mut command = Command::new(python());
    command.args(["-m", "pip", subcommand, "--only-binary=:all:", "--disable-pip-version-check"]);
    command.args(["--implementation", "cp", "--python-version", PYTHON, "--abi", &format!("cp{PYTHON}")]);
    platform.tags.iter().for_each(|tag| {
        command.args(["--platform", tag]);
    });
    command
}

fn pip_download(version: &str, platform: &Platform, destination: &Path) -> Result<(), ProvisionError> {
    let mut command = pip("download", platform);
    command.args(["--no-deps", "--dest"]).arg(destination).arg(format!("onnxruntime=={version}"));
    let failed = |reason| Err(ProvisionError::Pip { version: version.to_owned(), reason });
    // Standard output is for results, so pip's progress goes to standard error.
    match command.stdin(Stdio::null()).stdout(io::stderr()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => failed(format!("`{} -m pip download` ended with {status}", python())),
        Err(error) => failed(format!("`{}` cannot be started ({error})", python())),
    }
}

/// Copies the one library out of a wheel, which is a zip archive.
fn extract_library(wheel: Vec<u8>, mut to: &File) -> Result<(), String> {
    let mut archive = zip::ZipArchive::new(io::Cursor::new(wheel)).map_err(|error| error.to_string())?;
    let is_library = |name: &str| {
        let file = name.strip_prefix("onnxruntime/capi/").unwrap_or("");
        let stem = file.strip_prefix(std::env::consts::DLL_PREFIX).unwrap_or("");
        // Not the libraries of execution providers, whose names go on with an underscore.
        stem.strip_prefix("onnxruntime").is_some_and(|rest| rest.starts_with('.'))
            && file.contains(std::env::consts::DLL_SUFFIX)
    };
    let name = archive.file_names().flatten().find(|name| is_library(name)).map(Cow::into_owned);
    let name = name.ok_or("it holds no onnxruntime library")?;
    let mut member = archive.by_name(&name).map_err(|error| error.to_string())?;
    io::copy(&mut member, &mut to).map_err(|error| error.to_string())?;
    Ok(())
}

/// The reference evaluator of the `onnx` package, as a program that speaks the protocol of the kind `command`.
const REFERENCE_PROGRAM: &str = include_str!("onnx_reference.py");
/// The release of the package.
pub const REFERENCE_VERSION: &str = "1.22.0";
const REFERENCE_FILE: &str = "onnx_reference.py";

/// The interpreter and the program of the reference evaluator, where they are or will be once it is installed. The program
/// is the last thing that is written.
///
/// # Errors
/// If no cache directory is known.
pub fn reference() -> Result<[PathBuf; 2], ProvisionError> {
    let folder = cache(&format!("onnx-reference-{REFERENCE_VERSION}"))?;
    let (bin, python) = if cfg!(windows) { ("Scripts", "python.exe") } else { ("bin", "python3") };
    Ok([folder.join(bin).join(python), folder.join(REFERENCE_FILE)])
}

/// Makes a virtual environment with the `onnx` package, and puts the program into it.
///
/// # Errors
/// If Python, its package index or the disk fails; the message says what to do.
pub fn install_reference() -> Result<PathBuf, ProvisionError> {
    let [interpreter, program] = reference()?;
    let run = |command: &mut Command| {
        let failed = |reason| Err(ProvisionError::Reference(reason));
        // Standard output is for results.
        match command.stdin(Stdio::null()).stdout(io::stderr()).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => failed(format!("`{}` ended with {status}", command.get_program().display())),
            Err(error) => failed(format!("`{}` cannot be started ({error})", command.get_program().display())),
        }
    };
    let folder = program.parent().unwrap_or(Path::new("."));
    if !program.is_file() {
        eprintln!("Installing onnx {REFERENCE_VERSION} with pip, once; it goes to {}", folder.display());
        run(Command::new(python()).args(["-m", "venv", "--clear"]).arg(folder))?;
        let package = format!("onnx=={REFERENCE_VERSION}");
        run(Command::new(&interpreter).args(["-m", "pip", "install", "-q", "--disable-pip-version-check", &package]))?;
    }
    // Again, since that of another version of this program may be there.
    write_whole(&program, REFERENCE_PROGRAM.as_bytes())
        .map_err(|error| ProvisionError::Io { path: program.clone(), error })?;
    Ok(program)
}

/// The folder with the sources of workers, in a checkout.
const WORKERS: &str = "workers";

/// Where the worker of a release of a linked runtime is, or will be once it is built.
///
/// # Errors
/// If no cache directory is known.
pub fn worker(kind: &str, version: &str) -> Result<PathBuf, ProvisionError> {
    Ok(cache("workers")?.join(format!("{kind}-{version}{}", std::env::consts::EXE_SUFFIX)))
}

/// The releases of a kind that can be looked at, the oldest first: those of the package index, or the one that is linked and
/// those whose workers are built.
///
/// # Errors
/// If they cannot be listed.
pub fn releases(kind: &Kind) -> Result<Vec<String>, ProvisionError> {
    let mut releases = match kind.supply {
        Supply::Library => onnxruntime_releases()?,
        Supply::Linked => {
            let mut releases = built_workers(kind.name)?;
            releases.push(kind.version.to_owned());
            releases
        }
        Supply::Program => vec![],
    };
    releases.sort_by_key(|version| by_number(version));
    releases.dedup();
    Ok(releases)
}

/// The releases of a linked runtime whose workers are built.
///
/// # Errors
/// If no cache directory is known.
fn built_workers(kind: &str) -> Result<Vec<String>, ProvisionError> {
    let prefix = format!("{kind}-");
    let version =
        |name: &String| Some(name.strip_prefix(&prefix)?.strip_suffix(std::env::consts::EXE_SUFFIX)?.to_owned());
    Ok(names_in(&cache("workers")?).iter().filter_map(version).collect())
}

/// The releases that were provisioned beside those under test, as NAME@VERSION.
///
/// # Errors
/// If no cache directory is known.
pub fn other_releases() -> Result<Vec<String>, ProvisionError> {
    let libraries = names_in(&cache("")?).into_iter().filter_map(|name| {
        let version = name.strip_prefix("onnxruntime-")?.split('-').next()?.to_owned();
        let is_there = library(&version).is_ok_and(|path| path.is_file());
        (is_there && version != ONNXRUNTIME_VERSION).then(|| format!("onnxruntime@{version}"))
    });
    let workers = names_in(&cache("workers")?).into_iter().filter_map(|name| {
        let (kind, version) = name.strip_suffix(std::env::consts::EXE_SUFFIX)?.split_once('-')?;
        Some(format!("{kind}@{version}"))
    });
    Ok(libraries.chain(workers).collect())
}

/// The names in a folder, sorted; none if there is no such folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// Builds the worker of a release of a linked runtime, in the checkout that this is run in.
///
/// # Errors
/// If this is no checkout, it has no such worker, or cargo fails.
pub fn build_worker(kind: &str, version: &str) -> Result<PathBuf, ProvisionError> {
    let failed = |reason: String| ProvisionError::Worker(kind.to_owned(), version.to_owned(), reason);
    let name = format!("{kind}-{version}");
    let manifest = Path::new(WORKERS).join(&name).join("Cargo.toml");
    if !manifest.is_file() {
        let there = fs::read_dir(WORKERS).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut there: Vec<String> =
            there.filter(|path| path.is_dir()).map(|path| path.display().to_string()).collect();
        there.sort_unstable();
        let reason = if there.is_empty() {
            format!("run this in a checkout of the project, which has the folder {WORKERS}")
        } else {
            format!("there is no {}; there are {}", manifest.display(), there.join(", "))
        };
        return Err(failed(reason));
    }
    let target = Path::new("target").join(WORKERS);
    let status = Command::new("cargo")
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(failed(format!("`cargo build` ended with {status}"))),
        Err(error) => return Err(failed(format!("`cargo` cannot be started ({error})"))),
    }
    let built = target.join("release").join(format!("{kind}-worker{}", std::env::consts::EXE_SUFFIX));
    let worker = worker(kind, version)?;
    let io = |error| ProvisionError::Io { path: worker.clone(), error };
    let directory = worker.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(io)?;
    let scratch = tempfile::tempdir_in(directory).map_err(io)?;
    let copy = scratch.path().join(&name);
    fs::copy(&built, &copy).and_then(|_| fs::rename(&copy, &worker)).map_err(io)?;
    Ok(worker)
}
