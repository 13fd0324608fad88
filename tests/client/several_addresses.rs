//! Case C132: a name with several addresses, of which one swallows every attempt to connect.
//!
//! The name exists in a mount namespace of its own, where a file of ours stands in the place of `/etc/hosts`. Where such a
//! namespace cannot be made, or this machine has no IP version 6, the tests say that they were skipped; how attempts are
//! staggered is also tested beside the code, everywhere.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use ssbroker::client::Broker;
use tempfile::NamedTempFile;
use tokio::process::Command;

use super::connections::number;
use crate::support::{Backend, Embedded};

const NAME: &str = "listener.test";

/// A name for a live server at 127.0.0.1 and a dead one at ::1, both at the same port.
pub(crate) struct Twofold {
    hosts: NamedTempFile,
    _dead: BlackHole,
    port: u16,
}

impl Twofold {
    /// `None` where that cannot be had.
    pub(crate) async fn beside(live: SocketAddr) -> Option<Self> {
        let hosts = NamedTempFile::new().unwrap();
        std::fs::write(hosts.path(), format!("127.0.0.1 localhost\n127.0.0.1 {NAME}\n::1 {NAME}\n")).unwrap();
        let dead = BlackHole::at(format!("[::1]:{}", live.port()).parse().unwrap()).ok()?;
        let twofold = Self { hosts, _dead: dead, port: live.port() };
        let resolved = twofold.command(Path::new("getent")).args(["ahosts", NAME]).output().await.ok()?;
        let addresses = String::from_utf8_lossy(&resolved.stdout).into_owned();
        let is_twofold = addresses.contains("::1 ") && addresses.contains("127.0.0.1 ");
        if !is_twofold {
            println!("skipped: no name can be given two addresses here");
        }
        is_twofold.then_some(twofold)
    }

    /// A program that knows the name.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
        command.args(["-rm", "sh", "-c", script]).arg(self.hosts.path()).arg(program).kill_on_drop(true);
        command
    }

    /// The same server by that name: once the dead address comes first and once the live one, each as a listener of an
    /// availability group is named and as any other server is.
    pub(crate) fn connection_strings(&self, connection_string: &str) -> Vec<String> {
        let address = format!("{NAME},{}", self.port);
        let mut all = Vec::new();
        for first in ["IPv6First", "IPv4First"] {
            for multi in [true, false] {
                let keys =
                    format!("Server={address};IPAddressPreference={first};MultiSubnetFailover={multi}");
                all.push(format!("{connection_string};{keys}"));
            }
        }
        all
    }
}

/// An address that swallows every attempt to connect: a listener whose queue is full.
struct BlackHole {
    _listener: Socket,
    _fillers: Vec<Socket>,
}

impl BlackHole {
    fn at(address: SocketAddr) -> std::io::Result<Self> {
        let listener = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        listener.bind(&address.into())?;
        listener.listen(0)?;
        let mut fillers = Vec::new();
        for _ in 0..3 {
            let filler = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            filler.set_nonblocking(true)?;
            // The first ones fill the queue, the others hang; neither outcome matters.
            let _ = filler.connect(&address.into());
            fillers.push(filler);
        }
        Ok(Self { _listener: listener, _fillers: fillers })
    }
}

const CONNECTION: &str = "SSBROKER_TEST_TWOFOLD_CONNECTION";

#[tokio::test]
async fn c132_the_live_one_of_two_addresses_is_reached_in_both_orders() {
    let embedded = Embedded::start().await;
    let Some(twofold) = Twofold::beside(embedded.emulator.address()).await else { return };
    for connection in twofold.connection_strings(&embedded.connection_string()) {
        let mut child = twofold.command(&std::env::current_exe().unwrap());
        let name = "client::several_addresses::connecting_process";
        child.args([name, "--exact", "--ignored", "--nocapture"]).env(CONNECTION, &connection);
        let output = child.output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let shown = said.lines().find(|line| line.starts_with("C132")).unwrap_or("nothing was said");
        println!("{shown}: {}", connection.split_once(NAME).unwrap().1);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Not a test: the process that knows the name.
#[tokio::test]
#[ignore = "runs as a child process of another test"]
async fn connecting_process() {
    let Ok(connection) = std::env::var(CONNECTION) else { return };
    // The best of a few: what counts is that nothing waits for the dead address, not what else the machine does.
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        let broker = Broker::connect(&connection).await.unwrap();
        best = best.min(begun.elapsed());
        assert_eq!(number(&broker, 7).await, 7);
        if best < Duration::from_secs(1) {
            break;
        }
    }
    println!("\nC132: connected after {best:?}");
    assert!(best < Duration::from_secs(1), "{best:?}");
}
