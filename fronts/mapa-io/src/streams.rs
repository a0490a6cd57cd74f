//! The streams of a program.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use anstream::{AutoStream, ColorChoice};

use crate::printable::printable;
use crate::start::standard_output_was_closed;

/// Standard output, which tells what it could not write. Rust's own counts a closed stream as written.
///
/// # Examples
/// ```
/// use std::io::Write;
///
/// let mut output = mapa_io::StandardOutput::new();
/// writeln!(output, "GPU0,GPU3")?;
/// output.flush()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct StandardOutput(Result<BufWriter<File>, io::ErrorKind>);

impl StandardOutput {
    /// Standard output with a buffer of its own: [`flush`](Write::flush) it before the program ends.
    #[must_use]
    pub fn new() -> Self {
        Self(opened().map(BufWriter::new).map_err(|error| error.kind()))
    }
}

impl Default for StandardOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Ok(file) => file.write(bytes),
            Err(_) => Err(closed()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Ok(file) => file.flush(),
            // Nothing was written, so nothing is lost.
            Err(_) => Ok(()),
        }
    }
}

/// Whether a stream shows colours: it is a terminal, and neither `NO_COLOR` nor `CLICOLOR_FORCE` says otherwise.
#[must_use]
pub fn shows_colours(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// A text that may quote what a user typed: with its colours if they are shown and it has nothing to escape, else
/// plain, as [`printable`] has it.
#[must_use]
pub fn coloured(plain: &str, in_colours: &str, are_shown: bool) -> String {
    match printable(plain) {
        Cow::Borrowed(_) if are_shown => in_colours.to_owned(),
        escaped => escaped.into_owned(),
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "is closed")
}

#[cfg(unix)]
fn opened() -> io::Result<File> {
    use std::os::fd::AsFd;

    if standard_output_was_closed() {
        return Err(closed());
    }
    // A descriptor of its own: Rust's writer takes `EBADF` for success.
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn opened() -> io::Result<File> {
    use std::os::windows::io::AsHandle;

    if standard_output_was_closed() {
        return Err(closed());
    }
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// Standard error. What cannot be written there cannot be told anywhere, so it is dropped; `eprintln!` would panic.
#[derive(Clone, Copy, Debug)]
pub struct StandardError;

impl StandardError {
    /// Writes a line.
    pub fn line(self, line: &str) {
        // One call, so that lines of several threads do not mix.
        let _ = io::stderr()
            .lock()
            .write_all(format!("{line}\n").as_bytes());
    }
}

impl Write for StandardError {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().lock().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
