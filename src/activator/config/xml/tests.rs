//! What of the old format is accepted and how it is understood; refusals are shown by `activator-config/invalid/`.

use super::super::{LoadError, Loaded, LogLevel, Resolver, parse};
use super::NAMESPACE;
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

/// The form in which the old product's files were published, with Windows paths.
fn published(filter: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<Activator xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
           xsi:schemaLocation="{NAMESPACE} EAServiceConfig.xsd">
  <NotificationServiceList>
    <NotificationService name="TrackingNotificationService" id="100" enabled="true">
      <Description></Description>
      <ConnectionString>
        <!-- no user id, no password -->
        <Unencrypted>server=HOST;database=Source &amp; more;Integrated Security=true;</Unencrypted>
      </ConnectionString>
    </NotificationService>
  </NotificationServiceList>
  <ApplicationServiceList>
    <ApplicationService name="App" enabled="1">
      <OnNotification>
        <ServerName>HOST</ServerName>
        <DatabaseName>Source</DatabaseName>
        <SchemaName>dbo</SchemaName>
        <QueueName>
          A&amp;B &lt;queue&gt;
        </QueueName>
      </OnNotification>
      <LaunchInfo>
        <ImagePath>C:\App\App.exe</ImagePath>
        <CmdLineArgs>"C:\some dir\x" {{0}} %QUEUE%</CmdLineArgs>
        <WorkDir>C:\App</WorkDir>
      </LaunchInfo>
      <Concurrency min="01" max=" 4 " />
    </ApplicationService>
  </ApplicationServiceList>
  <LogSettings><LogFilter>{filter}</LogFilter></LogSettings>
</Activator>
"#
    )
}

fn parsed(text: &str) -> Result<Loaded, LoadError> {
    parse(Path::new("EAService.config"), Path::new("/etc/ea"), text.as_bytes(), &Nothing)
}

#[test]
fn a_published_file_is_accepted_and_doubts_are_warnings() {
    let loaded = parsed(&published("<TraceFlag> All   Levels </TraceFlag>")).unwrap();
    let app = &loaded.config.applications[0];
    assert_eq!(app.on.queue, "A&B <queue>");
    assert_eq!((app.enabled, app.min, app.max), (true, 1, 4));
    assert_eq!(app.command, Path::new("C:\\App\\App.exe"));
    assert_eq!(app.arguments.len(), 3);
    assert!(loaded.config.notifications[0].connection.expose().contains("Source & more"));
    let warnings: Vec<_> = loaded.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(warnings, if cfg!(unix) { vec![24, 26] } else { vec![] });
}

#[test]
fn prefixes_are_as_good_as_a_default_namespace() {
    let text = published("").replace(&format!("xmlns=\"{NAMESPACE}\""), &format!("xmlns:e=\"{NAMESPACE}\""));
    let text = text.replace("</", "</e:").replace("<", "<e:");
    let text = text.replace("<e:/e:", "</e:").replace("<e:?", "<?").replace("<e:!", "<!");
    assert_eq!(parsed(&text).unwrap().config, parsed(&published("")).unwrap().config);
}

#[test]
fn the_most_talkative_trace_flag_sets_the_level() {
    for (flags, level) in [
        (&[][..], LogLevel::Info),
        (&["Error"], LogLevel::Error),
        (&["Error", "Verbose", "Warning"], LogLevel::Debug),
        (&["All Modules"], LogLevel::Info),
    ] {
        let filter: String = flags.iter().map(|flag| format!("<TraceFlag>{flag}</TraceFlag>")).collect();
        assert_eq!(parsed(&published(&filter)).unwrap().config.log.level, level, "{flags:?}");
    }
}

#[test]
fn a_narrower_trace_flag_is_answered_with_a_warning() {
    let loaded = parsed(&published("<TraceFlag>Recovery Log</TraceFlag>")).unwrap();
    assert!(loaded.warnings.iter().any(|warning| warning.message.contains("'Recovery Log'")));
}

#[test]
fn a_declared_encoding_that_is_not_the_real_one_is_a_fault() {
    let text = published("").replace("encoding=\"utf-8\"", "encoding=\"windows-1252\"");
    let message = parsed(&text).unwrap_err().to_string();
    assert!(
        message.starts_with("EAService.config:1: the file declares encoding 'windows-1252'"),
        "{message}"
    );
}

#[test]
fn comments_may_stand_anywhere_but_text_may_not() {
    assert!(parsed(&published("<!-- none -->")).is_ok());
    let message = parsed(&published("Error")).unwrap_err().to_string();
    assert_eq!(message, "EAService.config:31: <LogFilter> holds elements only, no text");
}
