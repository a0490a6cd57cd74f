//! The daemon, asked at its socket.
//!
//! Only the daemon can open a ledger that it serves, so other users ask there. The socket lies in the ledger's folder, and
//! the daemon must be of root or of the ledger's owner.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mapa_front::answer::node::{NodeAnswer, NodeQuery, SocketAnswer};
use rustix::fs::OFlags;
use rustix::net::{RecvFlags, recv};

use crate::acquire::refusal_of;
use crate::error::Error;
use crate::memory::peer_of;

/// The end of the socket's name: `ledger.db.sock` answers for `ledger.db`.
const END: &str = ".sock";

/// The most bytes of an answer: an audit may be long.
const ANSWER: usize = 256 << 20;

/// How long the daemon may take to answer. To end a lease takes the longest.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the daemon may take to note that a job leaves.
const MOMENT: Duration = Duration::from_secs(2);

/// The longest path of a socket, as `sockaddr_un` has it with the zero at its end.
const LONGEST: usize = 108;

/// The socket of the daemon of a ledger.
pub(crate) fn socket_of(ledger: &Path) -> PathBuf {
    let mut name = OsString::from(ledger);
    name.push(END);
    name.into()
}

/// A name of a socket that is short enough for the kernel, and what must stay open meanwhile.
///
/// # Errors
/// The folder of the socket cannot be opened.
pub(crate) fn short(socket: &Path) -> io::Result<(PathBuf, Option<File>)> {
    if socket.as_os_str().len() < LONGEST {
        return Ok((socket.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let mut options = OpenOptions::new();
    let flags = (OFlags::PATH | OFlags::DIRECTORY).bits() as i32;
    let folder = options.read(true).custom_flags(flags).open(folder)?;
    let link = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    Ok((link.join(name), Some(folder)))
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum AskError {
    /// The daemon has gone.
    Lost(io::Error),
    /// The daemon says so.
    Told(Error),
}

impl AskError {
    /// The error, for a caller that does not ask again.
    pub(crate) fn told_at(self, socket: &Path) -> Error {
        match self {
            Self::Told(error) => error,
            Self::Lost(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                Error::at(
                    socket.display(),
                    format_args!(
                        "the daemon does not answer within {} s: it may be stopped; expected an administrator to look at it",
                        PATIENCE.as_secs()
                    ),
                )
            }
            Self::Lost(_) => Error::at(
                socket.display(),
                "the daemon has gone: expected it to come again (systemctl status mapa-node)",
            ),
        }
    }
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// A connection to the daemon.
#[derive(Debug)]
pub(crate) struct Client {
    stream: UnixStream,
    /// What has come and is no whole line yet, or was not asked for.
    unread: Vec<u8>,
    /// How much of it has no end of a line.
    searched: usize,
    socket: PathBuf,
}

impl Client {
    /// The daemon that serves this ledger; `None` if no daemon answers.
    ///
    /// # Errors
    /// This user may not ask there; the daemon is neither of root nor of the ledger's owner.
    pub(crate) fn connect(ledger: &Path) -> Result<Option<Self>, Error> {
        let socket = socket_of(ledger);
        let at = |what: &dyn std::fmt::Display| Error::at(socket.display(), what);
        let connected = short(&socket).and_then(|(name, _open)| UnixStream::connect(name));
        let stream = match connected {
            Ok(stream) => stream,
            Err(error) => {
                // There is none, or one that a killed daemon has left. In a folder that this user may not enter, the file
                // of the ledger cannot be opened either.
                let found = fs::metadata(&socket);
                let Some(found) = found
                    .ok()
                    .filter(|_| error.kind() == ErrorKind::PermissionDenied)
                else {
                    return Ok(None);
                };
                return Err(at(&format_args!(
                    "{error}: expected a member of the group {}, who may ask the daemon",
                    found.gid()
                )));
            }
        };
        let (_, uid) = peer_of(&stream).map_err(|error| at(&error))?;
        let is_owner = |file: &Path| {
            let found = file.symlink_metadata();
            found.is_ok_and(|found| found.uid() == uid)
        };
        let own = rustix::process::geteuid().as_raw();
        if uid != 0 && uid != own && !is_owner(ledger) {
            return Err(at(&format_args!(
                "user {uid} answers there: expected a daemon of root, or of the ledger's owner"
            )));
        }
        let patient = stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        patient.map_err(|error| at(&error))?;
        Ok(Some(Self {
            stream,
            unread: Vec::new(),
            searched: 0,
            socket,
        }))
    }

    /// The socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The connection, for a caller that waits for several things at once.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn forward(&self) -> io::Result<OwnedFd> {
        self.stream.as_fd().try_clone_to_owned()
    }

    /// Sends a query.
    ///
    /// # Errors
    /// The daemon has gone.
    pub(crate) fn send(&mut self, query: &NodeQuery) -> Result<(), AskError> {
        let mut text = serde_json::to_vec(query).map_err(io::Error::from)?;
        text.push(b'\n');
        Ok((&self.stream).write_all(&text)?)
    }

    /// The next answer, which is waited for.
    ///
    /// # Errors
    /// The daemon has gone, or says that there is none.
    pub(crate) fn next(&mut self) -> Result<NodeAnswer, AskError> {
        loop {
            if let Some(answer) = self.take()? {
                return Ok(answer);
            }
            self.read(RecvFlags::empty())?;
        }
    }

    /// An answer that is there already.
    ///
    /// # Errors
    /// The daemon has gone, or says that there is none.
    pub(crate) fn ready(&mut self) -> Result<Option<NodeAnswer>, AskError> {
        loop {
            if let Some(answer) = self.take()? {
                return Ok(Some(answer));
            }
            match self.read(RecvFlags::DONTWAIT) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Has something noted.
    ///
    /// # Errors
    /// The daemon has gone, or does not note it.
    pub(crate) fn note(
        &mut self,
        query: &NodeQuery,
        tell: &mut dyn FnMut(String),
    ) -> Result<(), AskError> {
        match self.ask(query, tell)? {
            NodeAnswer::Noted {} => Ok(()),
            _ => Err(AskError::Told(self.unexpected())),
        }
    }

    /// Has something noted, and waits for that no longer than a moment. Other answers are dropped.
    ///
    /// # Errors
    /// The daemon has gone, or does not note it now.
    pub(crate) fn note_soon(&mut self, query: &NodeQuery) -> Result<(), AskError> {
        self.stream.set_read_timeout(Some(MOMENT))?;
        self.send(query)?;
        while !matches!(self.next()?, NodeAnswer::Noted {}) {}
        Ok(())
    }

    /// Asks, and waits for the answer. What the owner of a lease should know is given to `tell`.
    ///
    /// # Errors
    /// The daemon has gone, or says that there is none.
    pub(crate) fn ask(
        &mut self,
        query: &NodeQuery,
        tell: &mut dyn FnMut(String),
    ) -> Result<NodeAnswer, AskError> {
        self.send(query)?;
        loop {
            match self.next()? {
                NodeAnswer::Notice { text } => tell(text),
                answer => return Ok(answer),
            }
        }
    }

    /// The error that an answer is none to this question.
    pub(crate) fn unexpected(&self) -> Error {
        Error::at(
            self.socket.display(),
            "it answers another question: expected `mapa-node` of this release",
        )
    }

    /// The first whole line of what has come, as an answer.
    fn take(&mut self) -> Result<Option<NodeAnswer>, AskError> {
        // Only what is new: a long answer comes in thousands of parts.
        let new = self.unread.get(self.searched..).unwrap_or_default();
        let Some(end) = new.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.unread.len();
            return Ok(None);
        };
        let end = self.searched + end;
        self.searched = 0;
        let line: Vec<u8> = self.unread.drain(..=end).collect();
        let answer: SocketAnswer = serde_json::from_slice(&line).map_err(|error| {
            AskError::Told(Error::at(
                self.socket.display(),
                format_args!("{error}: expected an answer of `mapa-node` of this release"),
            ))
        })?;
        match answer.result {
            NodeAnswer::Refused { kind, reason } => {
                Err(AskError::Told(refusal_of(&format!("{kind}: {reason}"))))
            }
            NodeAnswer::Error { error, failed } => Err(AskError::Told(if failed {
                Error::Failed(error)
            } else {
                Error::Malformed(error)
            })),
            answer => Ok(Some(answer)),
        }
    }

    fn read(&mut self, flags: RecvFlags) -> io::Result<()> {
        let mut part = [0; 32 << 10];
        let length = loop {
            match recv(&self.stream, &mut part[..], flags) {
                Err(rustix::io::Errno::INTR) => {}
                done => break done?.0,
            }
        };
        if length == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if self.unread.len() + length > ANSWER {
            return Err(ErrorKind::InvalidData.into());
        }
        self.unread.extend_from_slice(&part[..length]);
        Ok(())
    }
}
