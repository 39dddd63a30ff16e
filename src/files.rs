//! Writes files whole or not at all, reads texts of limited size, computes checksums, and quotes commands for a shell.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Quotes a text as one word of a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command that runs a case again, ready to paste into a shell.
pub fn reproduce(case: &str) -> String {
    format!("crosscheck run {}", quoted(case))
}

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The largest file written by people that is read, in bytes: more than any of them holds, and little enough to hold in
/// memory.
const MOST: u64 = 64 << 20;

/// Reads a text file of at most 64 MiB.
///
/// # Errors
/// If it cannot be read, is too large, or is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {} MiB", MOST >> 20)));
    }
    Ok(text)
}

/// Reads the next line, without its line end; `None` at the end of the input. Of a line longer than `most` bytes, only the
/// first `most` + 1 bytes are given.
///
/// # Errors
/// If the input fails or is not UTF-8.
pub fn read_line(from: &mut impl BufRead, most: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let length = Read::take(&mut *from, most as u64 + 1).read_until(b'\n', &mut line)?;
    if length == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if length > most {
        from.skip_until(b'\n')?;
        // The cut may be inside a character.
        return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
    }
    String::from_utf8(line).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes a file in one step. Creates the folders above it if they are missing.
///
/// # Errors
/// If a folder or the file cannot be written. A file that was there before is then unchanged.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    // With the usual permissions. Those of a temporary file are for its owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(contents)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_takes_no_memory_and_the_next_one_is_read() {
        let mut text = io::Cursor::new([&b"short\n"[..], &[b'x'; 100], b"\nlast"].concat());
        let mut next = || read_line(&mut text, 10).unwrap();
        assert_eq!(next().as_deref(), Some("short"));
        assert_eq!(next().map(|line| line.len()), Some(11));
        assert_eq!(next().as_deref(), Some("last"));
        assert_eq!(next(), None);
        assert!(read_line(&mut &b"\xff\n"[..], 10).is_err());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MOST).unwrap();
        assert!(read_text(file.path()).is_ok());
        file.as_file().set_len(MOST + 1).unwrap();
        assert!(read_text(file.path()).unwrap_err().to_string().contains("larger than 64 MiB"));
    }

    #[test]
    fn a_reproducing_command_survives_the_shell() {
        assert_eq!(reproduce("Shape@28 float[]"), "crosscheck run 'Shape@28 float[]'");
        assert_eq!(reproduce(r#"Shape@28 string[1]{"it's"}"#), r#"crosscheck run 'Shape@28 string[1]{"it'\''s"}'"#);
    }
}
