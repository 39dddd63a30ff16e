//! The library of an onnxruntime release, from its Python wheel.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{ProvisionError, by_number, cache, python, run};
use crate::files::sha256;

/// The release of onnxruntime under test.
pub const ONNXRUNTIME_VERSION: &str = "1.32.0";

/// The variable that names a library to use in place of the release under test.
pub const OVERRIDE: &str = "ORT_DYLIB_PATH";

/// The variable, and its value, that keeps the library from writing a device id and events below the user's cache directory,
/// which it does whatever its API is asked for. It is set before the library is loaded.
pub const NO_TELEMETRY: (&str, &str) = ("ORT_DISABLE_TELEMETRY", "1");

/// The oldest release that can be loaded: the first one with the API that the crate `ort` is built for here, its feature
/// `api-20`.
pub const OLDEST_ONNXRUNTIME: &str = "1.20.0";

/// Whether a release comes before the oldest one that can be loaded. `1.20` is `1.20.0`.
pub fn is_too_old(version: &str) -> bool {
    let mut numbers = by_number(version);
    numbers.resize(numbers.len().max(3), 0);
    numbers < by_number(OLDEST_ONNXRUNTIME)
}

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
        sha256: "99e1074c4b2197accd5073052a465361be17b89c093b8ffb6e6bd8f986c52df8",
    },
    Platform {
        os: "linux",
        arch: "aarch64",
        tags: &["manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"],
        sha256: "e36c187006e7a7c8b8d6d57f1a209dd63f52430dca6c282b177718ad6b841054",
    },
    Platform {
        os: "macos",
        arch: "aarch64",
        tags: &["macosx_14_0_arm64", "macosx_13_0_arm64", "macosx_13_0_universal2", "macosx_11_0_universal2"],
        sha256: "d52510bbbcc880c13b826f7d75cdf33ac5cf0bb864d960000fc29ce73f0cb83e",
    },
    Platform {
        os: "windows",
        arch: "x86_64",
        tags: &["win_amd64"],
        sha256: "efe7456952c243a05a53d5b8732953625144642c2f3989094277f6217f0c0c40",
    },
    Platform {
        os: "windows",
        arch: "aarch64",
        tags: &["win_arm64"],
        sha256: "64d394c69d561af3efd4d4f49dcac8f11d0ce135a20701c16d53b74056cd4cf8",
    },
];

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
pub(super) fn onnxruntime_releases() -> Result<Vec<String>, ProvisionError> {
    let mut command = pip("index", platform()?);
    let failed = |reason: String| ProvisionError::Pip { version: "of any release".to_owned(), reason };
    // The subcommand is an experiment of pip's, and says so on standard error.
    let output = command.args(["versions", "onnxruntime"]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.map_err(|error| failed(format!("`{}` cannot be started ({error})", python().display())))?;
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
    run(&mut command, &format!("{} -m pip download", python().display()))
        .map_err(|reason| ProvisionError::Pip { version: version.to_owned(), reason })
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
