//! The program by the name of its package, for `uvx onnx-crosscheck` and the like: it runs `crosscheck`, which stands beside it.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let name = format!("crosscheck{}", std::env::consts::EXE_SUFFIX);
    let program = std::env::current_exe().unwrap_or_default().with_file_name(name);
    let mut command = Command::new(&program);
    command.args(std::env::args_os().skip(1));
    let error = match run(&mut command) {
        Ok(code) => return code,
        Err(error) => error,
    };
    eprintln!("error: {}: {error}", program.display());
    ExitCode::from(2)
}

/// Becomes the program, so that signals reach it.
#[cfg(unix)]
fn run(command: &mut Command) -> std::io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn run(command: &mut Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
