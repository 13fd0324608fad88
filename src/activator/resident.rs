//! Processes that always run: how many of them are missing, and which connection they are told of.
//!
//! Pure. Kept apart from the arithmetic of activation: a resident application has at least [`wanted`] processes whatever
//! notifications say, and notifications only add to them.

use crate::activator::config::{Application, Config, Kind, NotificationService};
use crate::activator::launch::{Source, Target};
use crate::client::BrokerOptions;

/// How many processes of an application are to run at any time: `min`, at least one, for a resident one; none for others.
pub(super) fn wanted(app: &Application) -> u32 {
    match app.kind {
        Kind::Resident => app.min.max(1).min(app.max),
        Kind::Launch | Kind::Feed(_) => 0,
    }
}

/// What a process that was started without a notification is told: the connection of a notification service, and the queue
/// by its configured names.
pub(super) fn home(config: &Config, app: &Application) -> Source {
    let target = Target {
        server: app.on.server.clone().unwrap_or_default(),
        database: app.on.database.clone(),
        schema: app.on.schema.clone(),
        queue: app.on.queue.clone(),
    };
    Source { listener: listener_for(&config.notifications, &app.on.database), target }
}

/// The first enabled service that is in the database of the queue, else the first enabled one, else the first.
fn listener_for(services: &[NotificationService], database: &str) -> usize {
    let is_there = |service: &NotificationService| {
        let options = BrokerOptions::from_connection_string(service.connection.expose());
        let own = options.ok().and_then(|options| options.database().map(str::to_lowercase));
        own.is_some_and(|own| own == database.to_lowercase())
    };
    let near = services.iter().position(|service| service.enabled && is_there(service));
    near.or_else(|| services.iter().position(|service| service.enabled)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{home, wanted};
    use crate::activator::config::{Config, Resolver, parse};
    use std::io;
    use std::path::Path;

    struct Nothing;

    impl Resolver for Nothing {
        fn environment(&self, _name: &str) -> Option<String> {
            None
        }

        fn file(&self, _path: &Path) -> io::Result<String> {
            Err(io::Error::from(io::ErrorKind::NotFound))
        }
    }

    fn config(services: &str, app: &str) -> Config {
        let text = format!(
            "{services}[[app]]\nname = \"a\"\ncommand = \"/bin/a\"\non = {{ database = \"Db\", schema = \"dbo\", queue = \
             \"q\" }}\n{app}\n"
        );
        parse(Path::new("a.toml"), Path::new("/"), text.as_bytes(), &Nothing).unwrap().config
    }

    fn service(number: u32, database: &str, enabled: bool) -> String {
        format!(
            "[[notification]]\nname = \"//n{number}\"\nenabled = {enabled}\nconnection = \
             \"server=x;database={database};user id=u;password=p\"\n"
        )
    }

    #[test]
    fn only_resident_applications_are_kept_and_at_least_one_process_of_them() {
        for (keys, expected) in [
            ("kind = \"resident\"", 1),
            ("kind = \"resident\"\nmin = 2\nmax = 3", 2),
            ("min = 2\nmax = 3", 0),
            ("kind = \"feed\"\nmin = 1", 0),
        ] {
            let config = config(&service(1, "x", true), keys);
            assert_eq!(wanted(&config.applications[0]), expected, "{keys}");
        }
    }

    #[test]
    fn the_connection_is_that_of_the_queues_database_where_there_is_one() {
        let listener = |services: &[(&str, bool)]| {
            let text: String = services
                .iter()
                .zip(0..)
                .map(|((database, enabled), n)| service(n, database, *enabled))
                .collect();
            let config = config(&text, "");
            home(&config, &config.applications[0]).listener
        };
        assert_eq!(listener(&[("x", true), ("DB", true)]), 1);
        assert_eq!(listener(&[("x", true), ("DB", false)]), 0);
        assert_eq!(listener(&[("x", false), ("y", true)]), 1);
        assert_eq!(listener(&[("x", false)]), 0);
    }

    #[test]
    fn the_queue_has_its_configured_names() {
        let config = config(&service(1, "x", true), "");
        let target = home(&config, &config.applications[0]).target;
        assert_eq!(target.to_string(), "[].[Db].[dbo].[q]");
    }
}
