//! Files that are read.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// A file that is read: a regular one, or a stream that was named as such.
#[derive(Debug)]
pub struct Input(File);

impl Read for Input {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

/// Opens a file, or standard input for `-`. A file must be a regular one: a FIFO, a device or a socket could hold
/// the program up for ever, or never end. Streams are read where they are named as such: `-`, `/dev/stdin`, and
/// `/dev/fd/N`, as shells write it for `<(command)`. `/dev/null` is an empty file.
///
/// # Errors
/// If there is no such file, it may not be read, or is not a regular one: the message says what it is. It lacks the file's name.
///
/// # Examples
/// ```
/// let error = mapa_io::open("/dev/zero").unwrap_err();
/// assert_eq!(error.to_string(), "is a device, expected a regular file, or - for standard input");
/// ```
pub fn open(file: impl AsRef<Path>) -> io::Result<Input> {
    let path = file.as_ref();
    if path == Path::new("-") {
        return standard_input().map(Input);
    }
    if is_stream(path) {
        return File::open(path).map(Input);
    }
    // A device may do something when it is opened, so its kind is asked before, and again of what was opened.
    regular(&std::fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, not_waiting());
    let file = options.open(path)?;
    regular(&file.metadata()?)?;
    Ok(Input(file))
}

/// The bytes of a file, or of standard input for `-`, as [`open`] has it; at most so many.
///
/// # Errors
/// As [`open`]; or if there are more bytes: no more than `most` are read. The message lacks the file's name.
///
/// # Examples
/// ```
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("machine.toml");
/// std::fs::write(&file, "name = \"mine\"")?;
/// assert_eq!(mapa_io::read(&file, 1 << 20)?, b"name = \"mine\"");
/// let error = mapa_io::read(&file, 4).unwrap_err();
/// assert_eq!(error.to_string(), "has more than 4 bytes: expected at most 4 bytes");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read(file: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let input = open(file)?;
    // The length may be wrong, as that of /proc is, so it is a hint only.
    let hint = input.0.metadata().map_or(0, |file| file.len());
    if input.0.metadata().is_ok_and(|file| file.is_file()) && hint > most {
        return Err(too_long(most));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(hint.min(most)).unwrap_or(0));
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_long(most));
    }
    Ok(bytes)
}

fn too_long(most: u64) -> io::Error {
    let most = match most >> 20 {
        0 => format!("{most} bytes"),
        mib => format!("{mib} MiB"),
    };
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("has more than {most}: expected at most {most}"),
    )
}

/// Whether a path is that of a stream of this process, by the names that shells use.
pub(crate) fn is_stream(path: &Path) -> bool {
    let names = ["/dev/stdin", "/dev/stdout", "/dev/stderr"].map(Path::new);
    let folders = ["/dev/fd", "/proc/self/fd"].map(Path::new);
    names.contains(&path)
        || path
            .parent()
            .is_some_and(|folder| folders.contains(&folder))
}

/// An error for what is not a regular file. `/dev/null` counts as an empty one.
fn regular(file: &Metadata) -> io::Result<()> {
    if file.is_file() || is_null(file) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "is a {}, expected a regular file, or - for standard input",
            kind(file)
        ),
    ))
}

#[cfg(unix)]
pub(crate) fn kind(file: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    let kind = file.file_type();
    if kind.is_dir() {
        "folder"
    } else if kind.is_fifo() {
        "FIFO"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

#[cfg(not(unix))]
pub(crate) fn kind(file: &Metadata) -> &'static str {
    if file.is_dir() { "folder" } else { "device" }
}

#[cfg(unix)]
fn is_null(file: &Metadata) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    // Linux has given it this number for ever; macOS has 3, 2.
    let null = if cfg!(target_os = "linux") {
        rustix::fs::makedev(1, 3)
    } else {
        rustix::fs::makedev(3, 2)
    };
    file.file_type().is_char_device() && file.rdev() == null as u64
}

#[cfg(not(unix))]
fn is_null(_: &Metadata) -> bool {
    false
}

/// A FIFO in the place of the file is not waited for, and no terminal becomes that of this process.
#[cfg(unix)]
fn not_waiting() -> i32 {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    flags.bits() as i32
}

#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;

    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;

    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}
