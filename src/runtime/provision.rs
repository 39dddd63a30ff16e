//! Fetches the onnxruntime library on first use, from the Python wheel of the pinned release.
//!
//! The wheel is fetched with pip, checked against its SHA-256, and only its library is kept, in the user's cache
//! directory. The file appears there whole or not at all.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

/// The release of onnxruntime under test.
pub const ONNXRUNTIME_VERSION: &str = "1.31.1";

/// The variable that names a library to use instead.
pub const OVERRIDE: &str = "ORT_DYLIB_PATH";

/// A wheel that carries the library for a platform. Which Python it is for makes no difference to the library.
struct Wheel {
    /// As in `std::env::consts`.
    os: &'static str,
    arch: &'static str,
    /// The platform tag of the wheel.
    platform: &'static str,
    sha256: &'static str,
}

/// The Python version whose wheels are pinned.
const PYTHON: &str = "312";

const WHEELS: &[Wheel] = &[
    Wheel {
        os: "linux",
        arch: "x86_64",
        platform: "manylinux_2_28_x86_64",
        sha256: "1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536",
    },
    Wheel {
        os: "linux",
        arch: "aarch64",
        platform: "manylinux_2_28_aarch64",
        sha256: "0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc",
    },
    Wheel {
        os: "macos",
        arch: "aarch64",
        platform: "macosx_14_0_arm64",
        sha256: "96dd2564b10ea7153ad9c207e7cd8e5917cb3ba521e0e0a62ac03486fdc8d56c",
    },
    Wheel {
        os: "windows",
        arch: "x86_64",
        platform: "win_amd64",
        sha256: "ae8a9a351efda685cc59a66226cdefaa37a126c1d66872ca23a2de9425326130",
    },
    Wheel {
        os: "windows",
        arch: "aarch64",
        platform: "win_arm64",
        sha256: "fe8b9ac1ae8e894e12c47ee82e4f6dfc1835768133687257866469fda80d0bf1",
    },
];

/// Why there is no library. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    #[error(
        "{OVERRIDE} names {0}, which is not a file: set it to an onnxruntime library, or unset it to have one fetched"
    )]
    Override(PathBuf),
    #[error(
        "there is no pinned onnxruntime {ONNXRUNTIME_VERSION} for {0}: set {OVERRIDE} to an onnxruntime library, or leave \
         the runtime out with --runtimes in-house,tract"
    )]
    Platform(String),
    #[error("no cache directory is known: set HOME, or set {OVERRIDE} to an onnxruntime library")]
    NoCache,
    #[error(
        "onnxruntime {ONNXRUNTIME_VERSION} cannot be fetched: {0}. Install Python 3 with pip and see that it reaches a \
         package index; or set {OVERRIDE} to an onnxruntime library; or leave the runtime out with \
         --runtimes in-house,tract"
    )]
    Pip(String),
    #[error("the wheel that pip fetched is not the pinned one: its SHA-256 is {found}, expected {expected}")]
    Sha256 { found: String, expected: &'static str },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("the wheel of onnxruntime cannot be unpacked: {0}")]
    Wheel(String),
}

/// The library to load: the user's own if named, or the pinned one, fetched if it is not there yet.
///
/// # Errors
/// If there is none and none can be had; the message says what to do.
pub fn onnxruntime_library() -> Result<PathBuf, ProvisionError> {
    if let Some(path) = std::env::var_os(OVERRIDE).filter(|path| !path.is_empty()).map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(ProvisionError::Override(path)) };
    }
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let wheel = WHEELS.iter().find(|wheel| wheel.os == os && wheel.arch == arch);
    let wheel = wheel.ok_or_else(|| ProvisionError::Platform(format!("{os} on {arch}")))?;
    let directories = directories::ProjectDirs::from("", "", "onnx-crosscheck").ok_or(ProvisionError::NoCache)?;
    let directory = directories.cache_dir().join(format!("onnxruntime-{ONNXRUNTIME_VERSION}-{}", wheel.platform));
    let library =
        directory.join(format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX));
    if !library.is_file() {
        fetch(wheel, &directory, &library)?;
    }
    Ok(library)
}

fn fetch(wheel: &Wheel, directory: &Path, library: &Path) -> Result<(), ProvisionError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| ProvisionError::Io { path, error }
    };
    fs::create_dir_all(directory).map_err(io(directory))?;
    // On the same file system as its destination, so that the library can be moved there in one step.
    let scratch = tempfile::tempdir_in(directory).map_err(io(directory))?;
    eprintln!(
        "Fetching onnxruntime {ONNXRUNTIME_VERSION} for {} with pip, once; it goes to {}",
        wheel.platform,
        directory.display()
    );
    pip_download(wheel, scratch.path())?;
    let downloads = fs::read_dir(scratch.path()).map_err(io(scratch.path()))?;
    let file = downloads.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    let file = file.ok_or_else(|| ProvisionError::Pip("pip left no wheel".to_owned()))?;
    let mut bytes = Vec::new();
    File::open(&file).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io(&file))?;
    let found = hexadecimal(&Sha256::digest(&bytes));
    if found != wheel.sha256 {
        return Err(ProvisionError::Sha256 { found, expected: wheel.sha256 });
    }
    let unpacked = tempfile::NamedTempFile::new_in(directory).map_err(io(directory))?;
    extract_library(bytes, unpacked.as_file()).map_err(ProvisionError::Wheel)?;
    unpacked.as_file().sync_all().map_err(io(library))?;
    unpacked.persist(library).map_err(|error| ProvisionError::Io { path: library.to_owned(), error: error.error })?;
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn pip_download(wheel: &Wheel, destination: &Path) -> Result<(), ProvisionError> {
    let python = if cfg!(windows) { "python" } else { "python3" };
    let mut command = Command::new(python);
    command.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]);
    command.args(["--implementation", "cp", "--python-version", PYTHON, "--abi", &format!("cp{PYTHON}")]);
    command.args(["--platform", wheel.platform, "--dest"]).arg(destination);
    command.arg(format!("onnxruntime=={ONNXRUNTIME_VERSION}"));
    // Standard output is for results: pip's progress goes to standard error.
    command.stdin(Stdio::null()).stdout(io::stderr());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(ProvisionError::Pip(format!("`{python} -m pip download` ended with {status}"))),
        Err(error) => Err(ProvisionError::Pip(format!("`{python}` cannot be started ({error})"))),
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
