//! A manager for the tests of clients: it grants what is below a limit, and can hang up.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use mapa_case::message::{LENGTH, Op, Reply, Request, Status};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, accept, bind, listen, recv,
    send, socket,
};

/// The most that it grants, bytes.
pub(crate) const LIMIT: u64 = 1 << 30;

pub(crate) struct Manager {
    folder: tempfile::TempDir,
    pub(crate) heard: Arc<Mutex<Vec<Request>>>,
}

impl Manager {
    /// A manager that hangs up after every `patience` requests, before it answers the last.
    pub(crate) fn new(patience: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fd = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        let path = folder.path().join("case.sock");
        bind(&fd, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&fd, 64).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = heard.clone();
        thread::spawn(move || {
            while let Ok(connection) = accept(&fd) {
                let all = all.clone();
                thread::spawn(move || serve(&connection, &all, patience));
            }
        });
        Self { folder, heard }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("case.sock")
    }

    pub(crate) fn requests(&self, op: Op) -> Vec<Request> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|own| own.op == op).copied().collect()
    }
}

fn serve(connection: &OwnedFd, heard: &Mutex<Vec<Request>>, patience: usize) {
    for turn in 1.. {
        let mut bytes = [0; LENGTH];
        match recv(connection, bytes.as_mut_slice(), RecvFlags::empty()) {
            Ok((_, LENGTH)) => {}
            _ => return,
        }
        let request = Request::decode(&bytes).unwrap();
        heard.lock().unwrap().push(request);
        if turn == patience {
            return;
        }
        let status = if request.bytes > LIMIT {
            Status::OutOfMemory
        } else {
            Status::Done
        };
        let mut reply = Reply::to(&request, status);
        if matches!(request.op, Op::Begin | Op::Extend) && status == Status::Done {
            reply.instance = 1;
        }
        let mut message = reply.encode().to_vec();
        if request.op == Op::Describe {
            writeln!(message, "MIG-7\n/run/mps").unwrap();
        }
        if send(connection, &message, SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}
