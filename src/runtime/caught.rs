//! Catches the panics of runtimes in Rust: a caught panic is an outcome like any other.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic on this thread will be caught here.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that may panic.
///
/// A panic in it is not printed, and no backtrace is taken. Other panics go to the previous hook.
///
/// # Errors
/// The message of the panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                previous(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    result.map_err(|payload| match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
        (Some(message), _) => message.clone(),
        (None, Some(message)) => (*message).to_owned(),
        (None, None) => "a panic without a message".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_caught_is_the_message() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| panic!("no axis")), Err::<(), _>("no axis".to_owned()));
        assert_eq!(caught(|| panic!("axis {}", 7)), Err::<(), _>("axis 7".to_owned()));
        assert_eq!(caught(|| panic::resume_unwind(Box::new(7))), Err::<(), _>("a panic without a message".to_owned()));
        assert!(!CATCHING.get());
    }
}
