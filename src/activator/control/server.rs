//! The answering side of the control socket.

use super::protocol::{Answer, Request, Versioned, read_request};
use super::socket_path;
use crate::activator::event_loop::EventLoop;
use crate::activator::history::History;
use crate::activator::inbox::{EventSender, Until};
use crate::activator::nearest::nearest;
use crate::activator::reconcile::Looks;
use crate::activator::reload::{ReloadHandle, Reloaded};
use crate::activator::status::Board;
use crate::activator::supervisor::Event;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Longest request.
const LONGEST: u64 = 64 * 1024;
/// How long a client may take to say something, and to take its answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(10);
/// How long the status waits for a look at the queues.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);
/// Pause after a failure to accept, which is most likely a want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Clients at one time.
const CLIENTS: usize = 32;

/// Answers on the control socket.
#[derive(Debug, Clone)]
pub(in crate::activator) struct ControlServer {
    board: Board,
    history: History,
    events: EventSender,
    looks: Looks,
    reload: ReloadHandle,
}

/// A socket that is removed with its server.
#[derive(Debug)]
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlServer {
    /// A server that asks this loop.
    pub(in crate::activator) fn new(
        event_loop: &EventLoop,
        events: EventSender,
        reload: ReloadHandle,
    ) -> Self {
        let (board, history) = (event_loop.board.clone(), event_loop.history.clone());
        Self { board, history, events, looks: event_loop.listeners.looks(), reload }
    }

    /// Answers until dropped. A socket that cannot be made costs the commands, not the daemon.
    pub(in crate::activator) async fn run(self, state_dir: PathBuf) {
        let path = socket_path(&state_dir);
        match Socket::open(&path) {
            Ok(socket) => self.serve(&socket).await,
            Err(error) => tracing::error!(
                target: "activator",
                "cannot listen on {}, so status, kick, pause and reload do not work: {error}", path.display()
            ),
        }
    }

    async fn serve(self, socket: &Socket) {
        let (server, places) = (Arc::new(self), Arc::new(Semaphore::new(CLIENTS)));
        let mut clients = JoinSet::new();
        loop {
            let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
            match socket.accept().await {
                Ok(stream) => {
                    let server = Arc::clone(&server);
                    clients.spawn(async move {
                        server.converse(stream).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(target: "activator", "a client of the control socket is turned away: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
            while clients.try_join_next().is_some() {}
        }
    }

    /// One request after the other, until the client goes or takes too long.
    async fn converse(&self, stream: UnixStream) {
        let (input, mut output) = stream.into_split();
        let mut input = BufReader::new(input);
        loop {
            let mut line = String::new();
            let mut limited = (&mut input).take(LONGEST);
            match tokio::time::timeout(CLIENT_PATIENCE, limited.read_line(&mut line)).await {
                Ok(Ok(length)) if length > 0 => {}
                _ => return,
            }
            let answer = match read_request(&line) {
                Ok(request) => self.answer(request).await,
                Err(reason) => Answer::Error(reason),
            };
            let text =
                serde_json::to_string(&Versioned::new(answer)).expect("an answer is plain data") + "\n";
            let sent = tokio::time::timeout(CLIENT_PATIENCE, output.write_all(text.as_bytes())).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
    }

    async fn answer(&self, request: Request) -> Answer {
        let outcome = match request {
            Request::Status => Ok(self.status().await),
            Request::History { app, count } => {
                self.known(&app).map(|()| Answer::History(self.history.last(&app, count)))
            }
            Request::Kick { app } => self.kick(app).await,
            Request::Pause { app } => self.each(app, |app| Event::Paused { app }, "paused").await,
            Request::Resume { app } => self.each(app, |app| Event::Resumed { app }, "resumed").await,
            Request::Reload => self.reload().await,
        };
        outcome.unwrap_or_else(Answer::Error)
    }

    async fn status(&self) -> Answer {
        // A server that is slow must not make the status slow.
        let _ = tokio::time::timeout(LOOK_PATIENCE, self.looks.now()).await;
        Answer::Status(Box::new(self.board.status()))
    }

    async fn kick(&self, app: String) -> Result<Answer, String> {
        self.known(&app)?;
        let before = self.board.handlers(&app);
        let on = self.board.address(&app).ok_or_else(|| format!("{app} is not enabled"))?;
        let (listener, target) = self.board.place(&app).unwrap_or((self.board.first_listener(), on));
        self.act(Event::Kicked { app: app.clone(), listener, target }).await?;
        let after = self.board.handlers(&app);
        let started = after.launches.saturating_sub(before.launches);
        Ok(Answer::Done(match (started, after.pending) {
            (0, true) => format!("{app}: remembered, to be started as soon as it may"),
            (0, false) => format!("{app}: nothing started"),
            (started, _) => format!("{app}: started {started}, {} running", after.running),
        }))
    }

    async fn each(
        &self,
        app: Option<String>,
        event: impl Fn(String) -> Event,
        word: &str,
    ) -> Result<Answer, String> {
        let apps = match app {
            Some(app) => self.known(&app).map(|()| vec![app])?,
            None => self.board.app_names(),
        };
        for app in &apps {
            self.act(event(app.clone())).await?;
        }
        Ok(Answer::Done(format!("{word}: {}", apps.join(", "))))
    }

    async fn reload(&self) -> Result<Answer, String> {
        match self.reload.reload().await {
            Reloaded::Unchanged => Ok(Answer::Done("the configuration means the same as before".to_owned())),
            Reloaded::Applied => Ok(Answer::Done("the changed configuration is in effect".to_owned())),
            Reloaded::Refused(faults) => Err(faults.join("; ")),
        }
    }

    /// Hands an event to the loop and waits until it is acted on.
    async fn act(&self, event: Event) -> Result<(), String> {
        let acted = async { self.events.send(event, Until::Done).await?.await };
        acted.await.map_err(|error| error.to_string())
    }

    fn known(&self, app: &str) -> Result<(), String> {
        let names = self.board.app_names();
        if names.iter().any(|name| name == app) {
            return Ok(());
        }
        let near = nearest(app, names.iter().map(String::as_str));
        let near = near.map(|name| format!("; the nearest is {name}")).unwrap_or_default();
        Err(format!("there is no application {app}{near}"))
    }
}

impl Socket {
    /// The state folder is locked by this daemon, so a socket that is there belongs to nobody any more.
    fn open(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// The next client that is root or this user: the mode of the socket came after its making.
    async fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept().await?;
        let client = stream.peer_cred()?.uid();
        if client != 0 && client != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("user {client} may not use it"),
            ));
        }
        Ok(stream)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // One that stays is removed by the next daemon.
        let _ = fs::remove_file(&self.path);
    }
}
