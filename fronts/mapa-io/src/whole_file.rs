//! Files that are written.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::input::is_stream;

/// Writes a file, as [`WholeFile`] does.
///
/// # Errors
/// If it cannot be written. The message lacks the file's name.
///
/// # Examples
/// ```
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("picture.svg");
/// mapa_io::write(&file, "<svg/>")?;
/// assert_eq!(std::fs::read_to_string(&file)?, "<svg/>");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = WholeFile::at(path)?;
    file.write_all(contents.as_ref())?;
    file.finish()
}

/// A file that is written in one step: whoever reads it sees the old contents, or all of the new ones.
///
/// - A link is followed: the file that it leads to is written, and the link stays.
/// - A regular file is written to a draft beside it, which has its mode and, where root writes, its owner, is brought to disk and then renamed. The draft's random name ends in
///   `.draft`. A killed process leaves its draft behind; one that is dropped unfinished is deleted.
/// - What is no regular file (a device, a FIFO that is read, a stream such as `/dev/stdout`) is written through, and stays what it is.
/// - So is a file whose folder may not be written, or that is mounted by itself: it cannot be replaced in one step.
#[derive(Debug)]
pub struct WholeFile {
    to: To,
}

#[derive(Debug)]
enum To {
    Draft {
        target: PathBuf,
        draft: BufWriter<NamedTempFile>,
    },
    Through(BufWriter<File>),
}

impl WholeFile {
    /// A draft of the file at this path, which stays as it is for now.
    ///
    /// # Errors
    /// If it cannot be written: it is a folder, its folder does not exist or may not be written, or nothing reads the FIFO.
    pub fn at(path: &Path) -> io::Result<Self> {
        if is_stream(path) {
            // The stream may be a file that something else writes too, so nothing of it is cut off.
            let stream = OpenOptions::new().append(true).open(path)?;
            return Ok(Self::through(stream));
        }
        let target = target(path)?;
        let before = match fs::metadata(&target) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(before) = &before {
            if before.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "is a folder, expected a file to write",
                ));
            }
            if !before.is_file() {
                return Ok(Self::through(open_through(&target)?));
            }
        }
        match draft_in(folder_of(&target), before.as_ref()) {
            Ok(draft) => Ok(Self {
                to: To::Draft {
                    target,
                    draft: BufWriter::new(draft),
                },
            }),
            Err(error) => match in_place(&error, &target) {
                Some(file) => Ok(Self::through(file)),
                None => Err(without_draft(&error, folder_of(&target))),
            },
        }
    }

    fn through(file: File) -> Self {
        Self {
            to: To::Through(BufWriter::new(file)),
        }
    }

    /// The draft, if there is one: who ends the process removes it.
    #[must_use]
    pub fn draft(&self) -> Option<&Path> {
        match &self.to {
            To::Draft { draft, .. } => Some(draft.get_ref().path()),
            To::Through(_) => None,
        }
    }

    /// Puts what was written in the place of the file.
    ///
    /// # Errors
    /// If it cannot be written: then the file is as it was, unless it is written through.
    pub fn finish(self) -> io::Result<()> {
        match self.to {
            To::Through(file) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                // Only a file has anything to bring to disk.
                if file.metadata().is_ok_and(|file| file.is_file()) {
                    file.sync_all()?;
                }
                Ok(())
            }
            To::Draft { target, draft } => {
                let draft = draft.into_inner().map_err(io::IntoInnerError::into_error)?;
                // The bytes come first: a rename that reaches the disk before them would name an empty file.
                draft.as_file().sync_all()?;
                if let Err(failed) = draft.persist(&target) {
                    // A file that is mounted by itself cannot be renamed over.
                    if failed.error.kind() != io::ErrorKind::ResourceBusy {
                        return Err(failed.error);
                    }
                    let mut file = File::create(&target)?;
                    io::copy(&mut failed.file.reopen()?, &mut file)?;
                    return file.sync_all();
                }
                // The new name is on disk once its folder is. Some systems cannot sync a folder.
                let _ = File::open(folder_of(&target)).and_then(|folder| folder.sync_all());
                Ok(())
            }
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Draft { draft, .. } => draft.write(bytes),
            To::Through(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Draft { draft, .. } => draft.flush(),
            To::Through(file) => file.flush(),
        }
    }
}

/// Where a path leads, links followed. The last link may lead to nothing yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    // As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = folder_of(&path).join(next),
            // No link, or nothing at all.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links, expected a file to write"))
}

/// What is no regular file, opened to be written. A FIFO that nothing reads is an error: it would be waited for.
fn open_through(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;

        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
        let file = options.open(path).map_err(|error| {
            if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
                io::Error::new(error.kind(), "nothing reads this FIFO, expected a reader")
            } else {
                error
            }
        })?;
        // A slow reader is waited for.
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// The file itself, emptied, where only its folder is in the way of a draft.
fn in_place(error: &io::Error, target: &Path) -> Option<File> {
    let forbidden = matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    );
    let open = || OpenOptions::new().write(true).truncate(true).open(target);
    forbidden.then(open)?.ok()
}

/// The error without the random name of the draft, which is nobody's file.
fn without_draft(error: &io::Error, folder: &Path) -> io::Error {
    match fs::metadata(folder) {
        Ok(_) => io::Error::from(error.kind()),
        Err(plain) => plain,
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// An empty file beside the one it will replace, so that renaming it stays on one file system.
fn draft_in(folder: &Path, before: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let mut draft = tempfile::Builder::new();
    draft.suffix(".draft");
    // Temporary files are private by default, but results are shared like any other new file.
    #[cfg(unix)]
    draft.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let draft = draft.tempfile_in(folder)?;
    if let Some(before) = before {
        // Root may give it to the owner of before; whoever else may not, owns it as any new file.
        let _ = fchown(draft.as_file(), Some(before.uid()), Some(before.gid()));
        // After the owner, which takes some bits of the mode away.
        draft.as_file().set_permissions(before.permissions())?;
    }
    Ok(draft)
}
