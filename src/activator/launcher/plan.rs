//! What a handler's process begins with: its program, its environment, what has to be set up for it, what it is fed with.
//!
//! The environment is the daemon's own without the variables that connection strings are taken from, plus the
//! application's variables, plus those that tell the handler what it was launched for. Pure; starts nothing.

use crate::activator::accounts::Identity;
use crate::activator::config::{Config, ConnectionString, NotificationService};
use crate::activator::feed::Assignment;
use crate::activator::listener::Link;
use crate::activator::platform::Program;
use crate::activator::supervisor::LaunchOrder;
use crate::activator::trampoline::Surroundings;
use crate::client::BrokerOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The only variable that holds a secret.
const CONNECTION: &str = "SSBROKER_CONNECTION";
/// How a service manager addresses the daemon: a handler that used them would speak in its name.
const SERVICE_MANAGER: [&str; 6] =
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];

/// What a handler is told about a server.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// The address as the daemon itself uses it: `host,port`.
    address: String,
    options: BrokerOptions,
    /// Exactly as configured. Its database is that of the notification service, which need not be the queue's; that one
    /// is in `SSBROKER_DATABASE`.
    connection: ConnectionString,
}

/// One endpoint for each notification service, in the order of the configuration.
pub(super) fn endpoints(config: &Config, links: &[Link]) -> Vec<Arc<Endpoint>> {
    let services = config.notifications.iter().zip(links);
    let endpoint = |(service, link): (&NotificationService, &Link)| Endpoint {
        address: link.address(),
        options: link.options().clone(),
        connection: service.connection.clone(),
    };
    services.map(endpoint).map(Arc::new).collect()
}

/// What is to be started, and for whom.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) order: LaunchOrder,
    pub(super) endpoint: Arc<Endpoint>,
    /// Variables of the daemon's environment that are not for handlers.
    pub(super) secret_variables: Arc<BTreeSet<String>>,
}

impl Plan {
    /// The handler's own program, for a process that needs nothing set up. A bare name is looked up on the handler's `PATH`
    /// with `is_there`; `None` if it is not there.
    pub(super) fn handler(
        &self,
        environment: &[(OsString, OsString)],
        is_there: impl Fn(&Path) -> bool,
    ) -> Option<Program> {
        let command = &self.order.app.command;
        let name = [OsString::from(command)];
        Some(Program {
            path: if command.is_absolute() {
                command.clone()
            } else {
                look_up(command, environment, is_there)?
            },
            arguments: name
                .into_iter()
                .chain(self.order.arguments().into_iter().map(OsString::from))
                .collect(),
            environment: environment.to_vec(),
            leads_session: true,
        })
    }

    /// The trampoline of `own_program`, which sets up what is needed and goes on as the handler.
    pub(super) fn trampoline(
        &self,
        own_program: &Path,
        surroundings: &Surroundings,
        environment: Vec<(OsString, OsString)>,
    ) -> Program {
        let called = surroundings.call(&self.order.app.command, self.order.arguments());
        Program {
            path: own_program.to_owned(),
            arguments: [OsString::from(own_program)].into_iter().chain(called).collect(),
            environment,
            // It makes the session itself.
            leads_session: false,
        }
    }

    /// The handler's environment, from that of the daemon.
    pub(super) fn environment(
        &self,
        own: impl IntoIterator<Item = (OsString, OsString)>,
        identity: Option<&Identity>,
    ) -> Vec<(OsString, OsString)> {
        let app = &self.order.app;
        let mut all: BTreeMap<OsString, OsString> = own.into_iter().collect();
        all.retain(|name, _| !name.to_str().is_some_and(|name| self.secret_variables.contains(name)));
        if let Some((name, home)) = identity.and_then(|identity| identity.entry.as_ref()) {
            // The daemon's own would be those of another user.
            all.extend([("HOME", home), ("USER", name), ("LOGNAME", name)].map(owned));
        }
        all.extend(app.environment.iter().map(owned));
        all.extend(self.variables().iter().map(|(name, value)| owned((name, value))));
        // The daemon may have got its own connection in the variable that is a handler's.
        SERVICE_MANAGER.iter().chain([&CONNECTION]).for_each(|name| {
            all.remove(&OsString::from(name));
        });
        if app.pass_connection {
            all.extend([owned((CONNECTION, self.endpoint.connection.expose()))]);
        }
        all.into_iter().collect()
    }

    /// What has to be set up. Pain 17: a handler that runs in another folder than configured.
    pub(super) fn surroundings(&self, identity: Option<&Identity>, standard_error: PathBuf) -> Surroundings {
        let app = &self.order.app;
        Surroundings {
            standard_error,
            work_dir: app.work_dir.clone(),
            uid: identity.map(|identity| identity.uid),
            gid: identity.map(|identity| identity.gid),
            groups: identity.map(|identity| identity.groups.clone()).unwrap_or_default(),
            umask: app.umask,
            memory: app.limits.memory,
            cpu: app.limits.cpu.map(|cpu| cpu.as_secs()),
            files: app.limits.files.map(u64::from),
        }
    }

    /// What the process is to be fed with, if it is to be fed.
    pub(super) fn assignment(&self, owner: Option<(u32, u32)>) -> Option<Assignment> {
        let (app, target) = (&self.order.app, &self.order.target);
        let settings = app.kind.feed()?.clone();
        Some(Assignment {
            app: app.name.clone(),
            launch: self.order.launch,
            options: self.endpoint.options.clone().with_database(&*target.database),
            database: target.database.clone(),
            schema: target.schema.clone(),
            queue: target.queue.clone(),
            settings,
            timeout: app.timeout,
            owner,
            handed_over: Arc::default(),
        })
    }

    /// What tells a handler what it was launched for.
    fn variables(&self) -> [(&'static str, String); 8] {
        let LaunchOrder { launch, app, target, .. } = &self.order;
        [
            ("SSBROKER_SERVER", self.endpoint.address.clone()),
            ("SSBROKER_SERVER_NAME", target.server.clone()),
            ("SSBROKER_DATABASE", target.database.clone()),
            ("SSBROKER_SCHEMA", target.schema.clone()),
            ("SSBROKER_QUEUE", target.queue.clone()),
            ("SSBROKER_APP", app.name.clone()),
            ("SSBROKER_LAUNCH_ID", launch.to_string()),
            ("SSBROKER_KIND", app.kind.name().to_owned()),
        ]
    }
}

/// The first folder of `PATH` that has a program. What is no bare name and no path from the root is left alone.
fn look_up(
    name: &Path,
    environment: &[(OsString, OsString)],
    is_there: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let (_, folders) = environment.iter().find(|(variable, _)| variable == "PATH")?;
    let is_bare = name.components().count() == 1;
    let mut places = std::env::split_paths(folders).map(|folder| folder.join(name));
    places.find(|place| is_bare && place.is_absolute() && is_there(place))
}

fn owned((name, value): (impl AsRef<str>, impl AsRef<str>)) -> (OsString, OsString) {
    (name.as_ref().into(), value.as_ref().into())
}

#[cfg(test)]
mod tests {
    use super::{Plan, endpoints};
    use crate::activator::accounts::Identity;
    use crate::activator::config::{Config, Resolver, parse};
    use crate::activator::daemon::connections;
    use crate::activator::launch::{LaunchId, Target};
    use crate::activator::supervisor::LaunchOrder;
    use std::ffi::OsString;
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    struct Same;

    impl Resolver for Same {
        fn environment(&self, _name: &str) -> Option<String> {
            Some("s3cret".to_owned())
        }

        fn file(&self, _path: &Path) -> io::Result<String> {
            Ok("s3cret".to_owned())
        }
    }

    fn plan(app: &str) -> Plan {
        let text = format!(
            "[[notification]]\nname = \"//n\"\nconnection = \"server=x;user id=u;password=${{env:EA_PW}}\"\n\
             [[app]]\nname = \"a\"\n{app}\non = {{ database = \"D\", schema = \"s\", queue = \"q\" }}\n"
        );
        let config: Config =
            parse(Path::new("a.toml"), Path::new("/"), text.as_bytes(), &Same).unwrap().config;
        let target =
            Target { server: "S".into(), database: "D".into(), schema: "s".into(), queue: "q".into() };
        let app = Arc::clone(&config.applications[0]);
        Plan {
            order: LaunchOrder { launch: LaunchId::from_u128(1), app, listener: 0, target },
            endpoint: endpoints(&config, &connections(&config).unwrap()).remove(0),
            secret_variables: Arc::new(config.secret_variables),
        }
    }

    fn environment(plan: &Plan, own: &[(&str, &str)], identity: Option<&Identity>) -> Vec<String> {
        let own = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let all = plan.environment(own, identity);
        all.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect()
    }

    #[test]
    fn the_environment_is_the_daemons_without_secrets_and_with_what_the_handler_is_told() {
        let plan = plan("command = \"/bin/a\"\nenv = { TZ = \"UTC\", LANG = \"C\" }");
        let own = [
            ("EA_PW", "s3cret"),
            ("LANG", "de"),
            ("NOTIFY_SOCKET", "/run/n"),
            ("PATH", "/bin"),
            ("SSBROKER_CONNECTION", "server=y"),
            ("SSBROKER_APP", "outer"),
        ];
        let expected = [
            "LANG=C",
            "PATH=/bin",
            "SSBROKER_APP=a",
            "SSBROKER_DATABASE=D",
            "SSBROKER_KIND=launch",
            "SSBROKER_LAUNCH_ID=00000000-0000-0000-0000-000000000001",
            "SSBROKER_QUEUE=q",
            "SSBROKER_SCHEMA=s",
            "SSBROKER_SERVER=x,1433",
            "SSBROKER_SERVER_NAME=S",
            "TZ=UTC",
        ];
        assert_eq!(environment(&plan, &own, None), expected);
    }

    #[test]
    fn a_handler_that_asks_for_it_gets_the_connection_and_one_of_another_user_that_users_home() {
        let plan = plan("command = \"/bin/a\"\npass_connection = true");
        let entry = Some(("ea".to_owned(), "/home/ea".to_owned()));
        let identity = Identity { uid: 7, gid: 7, groups: vec![7], entry };
        let all = environment(&plan, &[("HOME", "/root")], Some(&identity));
        for expected in ["HOME=/home/ea", "USER=ea", "SSBROKER_CONNECTION=server=x;user id=u;password=s3cret"]
        {
            assert!(all.iter().any(|one| one == expected), "{all:?}");
        }
    }

    #[test]
    fn a_program_is_started_by_its_path_and_a_bare_name_is_looked_up_on_the_path_of_the_handler() {
        let by_path = plan("command = \"/bin/a\"\nargs = [\"%queue%\"]").handler(&[], |_| false).unwrap();
        assert_eq!((by_path.path.as_path(), by_path.leads_session), (Path::new("/bin/a"), true));
        assert_eq!(by_path.arguments, ["/bin/a", "q"]);

        let by_name = plan("command = \"a\"");
        let environment = [(OsString::from("PATH"), OsString::from("here:/opt/x:/usr/bin"))];
        let found = by_name.handler(&environment, |place| place.starts_with("/usr")).unwrap();
        assert_eq!((found.path.as_path(), &*found.arguments), (Path::new("/usr/bin/a"), &["a".into()][..]));
        assert!(by_name.handler(&environment, |_| false).is_none());
        assert!(by_name.handler(&[], |_| true).is_none());
    }

    #[test]
    fn only_what_every_start_can_do_is_plain() {
        let is_plain = |keys: &str| {
            plan(&format!("command = \"/bin/a\"\n{keys}")).surroundings(None, "/e".into()).are_plain()
        };
        assert!(is_plain("") && is_plain("env = { A = \"b\" }\ntimeout = \"1m\""));
        for keys in ["work_dir = \"/tmp\"", "umask = \"027\"", "limits = { files = 64 }"] {
            assert!(!is_plain(keys), "{keys}");
        }
    }
}
