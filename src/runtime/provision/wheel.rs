//! A library in the wheels of a package of the Python package index.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{ProvisionError, by_number, cache, names_in, python, run};
use crate::files::sha256;

/// A library with the name of its package, and where it is found.
#[derive(Debug, PartialEq, Eq)]
pub struct Wheel {
    /// The name of the package in the index, and of the library.
    pub package: &'static str,
    /// The release under test.
    pub version: &'static str,
    /// The oldest release that can be loaded.
    pub oldest: &'static str,
    /// The variable that names a library to use in place of the release under test.
    pub variable: &'static str,
    /// The folder of the library in a wheel.
    pub folder: &'static str,
    pub platforms: &'static [Platform],
}

/// Wheels for a platform.
#[derive(Debug, PartialEq, Eq)]
pub struct Platform {
    /// As in `std::env::consts`.
    pub os: &'static str,
    pub arch: &'static str,
    /// The platform tags that wheels have had, the newest first.
    pub tags: &'static [&'static str],
    /// The SHA-256 of the wheel of the release under test. For other releases, pip checks the wheel against its index.
    pub sha256: &'static str,
}

/// The Python version whose wheels are used. The library is the same for all versions.
const PYTHON: &str = "312";

impl Wheel {
    /// Whether a release comes before the oldest one that can be loaded. `1.20` is `1.20.0`.
    pub fn is_too_old(&self, version: &str) -> bool {
        let mut numbers = by_number(version);
        numbers.resize(numbers.len().max(3), 0);
        numbers < by_number(self.oldest)
    }

    fn platform(&self) -> Result<&'static Platform, ProvisionError> {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let platform = self.platforms.iter().find(|platform| platform.os == os && platform.arch == arch);
        let (package, variable) = (self.package, self.variable);
        platform.ok_or_else(|| ProvisionError::Platform { package, variable, platform: format!("{os} on {arch}") })
    }

    /// The path of the library of a release, provisioned or not. For the release under test this is the user's own library, if
    /// one is named, or else the library beside this program, if there is one.
    ///
    /// # Errors
    /// If there can be no library.
    pub(super) fn place(&self, version: &str) -> Result<PathBuf, ProvisionError> {
        let is_usual = version == self.version;
        let own = std::env::var_os(self.variable).filter(|path| !path.is_empty()).map(PathBuf::from);
        if let Some(path) = own.filter(|_| is_usual) {
            let variable = self.variable;
            return if path.is_file() { Ok(path) } else { Err(ProvisionError::Override { variable, path }) };
        }
        let name = format!("{}{}{}", std::env::consts::DLL_PREFIX, self.package, std::env::consts::DLL_SUFFIX);
        let program = std::env::current_exe().ok().filter(|_| is_usual);
        if let Some(path) = program.map(|program| program.with_file_name(&name)).filter(|path| path.is_file()) {
            return Ok(path);
        }
        let Platform { os, arch, .. } = self.platform()?;
        Ok(cache(&format!("{}-{version}-{os}-{arch}", self.package))?.join(name))
    }

    /// The library of a release, fetched if it is not there yet.
    ///
    /// # Errors
    /// If the library cannot be fetched; the message says what to do.
    pub fn provision(&self, version: &str) -> Result<PathBuf, ProvisionError> {
        let library = self.place(version)?;
        if !library.is_file() {
            self.fetch(version, &library)?;
        }
        Ok(library)
    }

    /// The releases whose libraries were fetched.
    pub(super) fn installed(&self) -> Result<Vec<String>, ProvisionError> {
        let Platform { os, arch, .. } = self.platform()?;
        let (prefix, suffix) = (format!("{}-", self.package), format!("-{os}-{arch}"));
        let version = |name: &String| {
            let version = name.strip_prefix(&prefix)?.strip_suffix(&suffix)?.to_owned();
            self.place(&version).is_ok_and(|path| path.is_file()).then_some(version)
        };
        Ok(names_in(&cache("")?).iter().filter_map(version).collect())
    }

    /// The releases in the package index that are for this platform and can be loaded.
    pub(super) fn releases(&self) -> Result<Vec<String>, ProvisionError> {
        let failed = |reason: String| self.failed("of any release", reason);
        // The subcommand is experimental, and pip says so on standard error.
        let mut command = pip("index", self.platform()?);
        let output = command.args(["versions", self.package]).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let output = output.map_err(|error| failed(format!("`{}` cannot be started ({error})", python().display())))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.trim().strip_prefix("Available versions:"));
        let ended = || failed(format!("`pip index versions {}` ended with {}", self.package, output.status));
        let all = line.ok_or_else(ended)?.split(',').map(|version| version.trim().to_owned());
        Ok(all.filter(|version| !self.is_too_old(version)).collect())
    }

    fn failed(&self, version: &str, reason: String) -> ProvisionError {
        let (package, variable) = (self.package, self.variable);
        ProvisionError::Pip { package, variable, version: version.to_owned(), reason }
    }

    fn fetch(&self, version: &str, library: &Path) -> Result<(), ProvisionError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| ProvisionError::Io { path, error }
        };
        let platform = self.platform()?;
        let directory = library.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(io(directory))?;
        // On the same file system as its destination, so that the library can be moved there in one step.
        let scratch = tempfile::tempdir_in(directory).map_err(io(directory))?;
        eprintln!("Fetching {} {version} with pip, once; it goes to {}", self.package, directory.display());
        let mut command = pip("download", platform);
        command.args(["--no-deps", "--dest"]).arg(scratch.path()).arg(format!("{}=={version}", self.package));
        run(&mut command, &format!("{} -m pip download", python().display()))
            .map_err(|reason| self.failed(version, reason))?;
        let downloads = fs::read_dir(scratch.path()).map_err(io(scratch.path()))?.flatten().map(|entry| entry.path());
        let file = downloads.into_iter().find(|path| path.extension().is_some_and(|e| e == "whl"));
        let file = file.ok_or_else(|| self.failed(version, "pip left no wheel".to_owned()))?;
        let mut bytes = Vec::new();
        File::open(&file).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io(&file))?;
        let found = sha256(&bytes);
        if version == self.version && found != platform.sha256 {
            return Err(ProvisionError::Sha256 { found, expected: platform.sha256 });
        }
        let unpacked = tempfile::NamedTempFile::new_in(directory).map_err(io(directory))?;
        self.extract(bytes, unpacked.as_file())
            .map_err(|reason| ProvisionError::Wheel { package: self.package, reason })?;
        unpacked.as_file().sync_all().map_err(io(library))?;
        unpacked
            .persist(library)
            .map_err(|error| ProvisionError::Io { path: library.to_owned(), error: error.error })?;
        Ok(())
    }

    /// Copies the one library out of a wheel, which is a zip archive.
    fn extract(&self, wheel: Vec<u8>, mut to: &File) -> Result<(), String> {
        let mut archive = zip::ZipArchive::new(io::Cursor::new(wheel)).map_err(|error| error.to_string())?;
        let is_library = |name: &str| {
            let file = name.strip_prefix(self.folder).unwrap_or("");
            let stem = file.strip_prefix(std::env::consts::DLL_PREFIX).unwrap_or("");
            // Not the libraries of execution providers, whose names go on with an underscore.
            stem.strip_prefix(self.package).is_some_and(|rest| rest.starts_with('.'))
                && file.contains(std::env::consts::DLL_SUFFIX)
        };
        let name = archive.file_names().flatten().find(|name| is_library(name)).map(Cow::into_owned);
        let name = name.ok_or_else(|| format!("it holds no library of {}", self.package))?;
        let mut member = archive.by_name(&name).map_err(|error| error.to_string())?;
        io::copy(&mut member, &mut to).map_err(|error| error.to_string())?;
        Ok(())
    }
}

/// A subcommand of pip for the wheels of a platform.
fn pip(subcommand: &str, platform: &Platform) -> Command {
    let mut command = Command::new(python());
    command.args(["-m", "pip", subcommand, "--only-binary=:all:", "--disable-pip-version-check"]);
    command.args(["--implementation", "cp", "--python-version", PYTHON, "--abi", &format!("cp{PYTHON}")]);
    platform.tags.iter().for_each(|tag| {
        command.args(["--platform", tag]);
    });
    command
}
