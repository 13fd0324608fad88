//! The keywords of a connection string and what each does to the options.
//!
//! Keywords of ADO.NET that would change what the library does, but that it cannot honour, are refused by name.

use std::time::Duration;

use super::super::error::{Error, Result};
use super::connection_string::{Pair, split};
use super::login::{LoginWords, Secret};
use super::{AddressPreference, BrokerOptions, Encryption};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keyword {
    Server,
    Database,
    User,
    Password,
    Encrypt,
    TrustServerCertificate,
    ServerCertificate,
    HostNameInCertificate,
    ConnectTimeout,
    CommandTimeout,
    ApplicationName,
    ApplicationIntent,
    MultiSubnetFailover,
    PacketSize,
    WorkstationId,
    IntegratedSecurity,
    Authentication,
    MaxPoolSize,
    MinPoolSize,
    ConnectionLifetime,
    ConnectRetryCount,
    ConnectRetryInterval,
    KeepAlive,
    AddressPreference,
    NetworkLibrary,
    ColumnEncryption,
    /// Has no meaning outside ADO.NET's own objects and may stay in the string.
    Ignored,
    /// Would promise something the library does not do.
    Refused(&'static str),
}

/// Lower case, without blanks; all synonyms of ADO.NET.
const KEYWORDS: &[(&str, Keyword)] = &[
    ("server", Keyword::Server),
    ("datasource", Keyword::Server),
    ("addr", Keyword::Server),
    ("address", Keyword::Server),
    ("networkaddress", Keyword::Server),
    ("database", Keyword::Database),
    ("initialcatalog", Keyword::Database),
    ("userid", Keyword::User),
    ("uid", Keyword::User),
    ("user", Keyword::User),
    ("password", Keyword::Password),
    ("pwd", Keyword::Password),
    ("encrypt", Keyword::Encrypt),
    ("trustservercertificate", Keyword::TrustServerCertificate),
    ("servercertificate", Keyword::ServerCertificate),
    ("hostnameincertificate", Keyword::HostNameInCertificate),
    ("connecttimeout", Keyword::ConnectTimeout),
    ("connectiontimeout", Keyword::ConnectTimeout),
    ("timeout", Keyword::ConnectTimeout),
    ("commandtimeout", Keyword::CommandTimeout),
    ("applicationname", Keyword::ApplicationName),
    ("app", Keyword::ApplicationName),
    ("applicationintent", Keyword::ApplicationIntent),
    ("multisubnetfailover", Keyword::MultiSubnetFailover),
    ("packetsize", Keyword::PacketSize),
    ("workstationid", Keyword::WorkstationId),
    ("wsid", Keyword::WorkstationId),
    ("integratedsecurity", Keyword::IntegratedSecurity),
    ("trustedconnection", Keyword::IntegratedSecurity),
    ("trusted_connection", Keyword::IntegratedSecurity),
    ("authentication", Keyword::Authentication),
    ("maxpoolsize", Keyword::MaxPoolSize),
    ("minpoolsize", Keyword::MinPoolSize),
    ("connectionlifetime", Keyword::ConnectionLifetime),
    ("loadbalancetimeout", Keyword::ConnectionLifetime),
    ("connectretrycount", Keyword::ConnectRetryCount),
    ("connectretryinterval", Keyword::ConnectRetryInterval),
    ("keepalive", Keyword::KeepAlive),
    ("ipaddresspreference", Keyword::AddressPreference),
    ("networklibrary", Keyword::NetworkLibrary),
    ("network", Keyword::NetworkLibrary),
    ("net", Keyword::NetworkLibrary),
    ("columnencryptionsetting", Keyword::ColumnEncryption),
    // The password is never given back, whatever this says.
    ("persistsecurityinfo", Keyword::Ignored),
    ("persistsecurity", Keyword::Ignored),
    ("poolblockingperiod", Keyword::Ignored),
    ("asynchronousprocessing", Keyword::Ignored),
    ("async", Keyword::Ignored),
    ("connectionreset", Keyword::Ignored),
    ("typesystemversion", Keyword::Ignored),
    ("transparentnetworkipresolution", Keyword::Ignored),
    ("pooling", Keyword::Refused("connections are always pooled")),
    ("multipleactiveresultsets", Keyword::Refused("a connection carries one request at a time")),
    (
        "failoverpartner",
        Keyword::Refused("database mirroring is not supported; name an availability group listener"),
    ),
    ("failoverpartnerspn", Keyword::Refused("database mirroring is not supported")),
    ("serverspn", Keyword::Refused("the name MSSQLSvc/host:port is always used")),
    ("attachdbfilename", Keyword::Refused("a database file cannot be attached")),
    ("extendedproperties", Keyword::Refused("a database file cannot be attached")),
    ("initialfilename", Keyword::Refused("a database file cannot be attached")),
    ("userinstance", Keyword::Refused("user instances are not supported")),
    ("contextconnection", Keyword::Refused("there is no context connection outside the server")),
    ("currentlanguage", Keyword::Refused("the language of the login is used")),
    ("language", Keyword::Refused("the language of the login is used")),
    ("enlist", Keyword::Refused("distributed transactions are not supported")),
    ("transactionbinding", Keyword::Refused("distributed transactions are not supported")),
    ("replication", Keyword::Refused("replication connections are not supported")),
    ("attestationprotocol", Keyword::Refused("secure enclaves are not supported")),
    ("enclaveattestationurl", Keyword::Refused("secure enclaves are not supported")),
];

/// Reads a connection string into checked options.
pub(super) fn read(text: &str) -> Result<BrokerOptions> {
    let mut server = None;
    let mut settings = Vec::new();
    let mut follows_password = false;
    for pair in split(text)? {
        let keyword = find(&pair.keyword, follows_password)?;
        follows_password = keyword == Keyword::Password;
        match keyword {
            Keyword::Server => server = Some(pair.value),
            Keyword::Ignored => {}
            _ => settings.push((keyword, pair)),
        }
    }
    let server = server.ok_or_else(|| Error::config("connection string: 'Server' is missing"))?;
    let mut options = BrokerOptions::new(&server, "", "")?;
    let mut login = LoginWords::default();
    for (keyword, pair) in settings {
        match keyword {
            Keyword::User | Keyword::Password | Keyword::IntegratedSecurity | Keyword::Authentication => {
                apply_login(&mut login, keyword, pair)?;
            }
            _ => apply(&mut options, keyword, pair)?,
        }
    }
    options.login = login.login()?;
    options.check()
}

/// `follows_password`: an unknown keyword may be the rest of a password that holds a semicolon, and is not named.
fn find(written: &str, follows_password: bool) -> Result<Keyword> {
    let wanted: String =
        written.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    if let Some((_, keyword)) = KEYWORDS.iter().find(|(name, _)| *name == wanted) {
        return Ok(*keyword);
    }
    if follows_password {
        return Err(Error::config(
            "connection string: the keyword after the password is not known (a value that holds ';' must be quoted)",
        ));
    }
    let nearest = KEYWORDS.iter().map(|(name, _)| (edit_distance(&wanted, name), *name)).min();
    let hint = match nearest {
        Some((distance, name)) if distance <= 3 => format!("; did you mean '{name}'?"),
        _ => String::new(),
    };
    Err(Error::config(format!("connection string: the keyword '{written}' is not known{hint}")))
}

fn apply_login(
    login: &mut LoginWords,
    keyword: Keyword,
    Pair { keyword: written, value }: Pair,
) -> Result<()> {
    match keyword {
        Keyword::User => login.user = value,
        Keyword::Password => login.password = Secret::new(value),
        Keyword::IntegratedSecurity => {
            login.integrated = value.eq_ignore_ascii_case("sspi") || flag(&written, &value)?;
        }
        _ => login.token = asks_for_token(&written, &value)?,
    }
    Ok(())
}

fn apply(
    options: &mut BrokerOptions,
    keyword: Keyword,
    Pair { keyword: written, value }: Pair,
) -> Result<()> {
    match keyword {
        Keyword::Database => options.database = Some(value).filter(|name| !name.is_empty()),
        Keyword::Encrypt => options.encryption = encryption(&written, &value)?,
        Keyword::TrustServerCertificate => options.trust_server_certificate = flag(&written, &value)?,
        Keyword::ServerCertificate => options.certificate_authority = Some(value.into()),
        Keyword::HostNameInCertificate => options.host_name_in_certificate = Some(value),
        Keyword::ApplicationName => options.application_name = value,
        Keyword::ApplicationIntent => options.read_only = read_only(&written, &value)?,
        Keyword::PacketSize => options.packet_size = number(&written, &value)?,
        Keyword::WorkstationId => options.workstation = Some(value),
        Keyword::MultiSubnetFailover => options.multi_subnet_failover = flag(&written, &value)?,
        Keyword::AddressPreference => options.address_preference = preference(&written, &value)?,
        Keyword::NetworkLibrary => require_tcp(&written, &value)?,
        Keyword::ColumnEncryption => require_disabled(&written, &value)?,
        Keyword::Refused(reason) => refuse(&written, &value, reason)?,
        _ => apply_number(options, keyword, &written, &value)?,
    }
    Ok(())
}

/// The keywords whose value is a whole number: times in seconds, and counts.
fn apply_number(options: &mut BrokerOptions, keyword: Keyword, written: &str, value: &str) -> Result<()> {
    let count = number(written, value)?;
    let seconds = Duration::from_secs(count.into());
    let unless_zero = (count > 0).then_some(seconds);
    match keyword {
        Keyword::ConnectTimeout => {
            options.connect_timeout = seconds;
            options.acquire_timeout = options.acquire_timeout.max(seconds);
        }
        Keyword::CommandTimeout => options.command_timeout = unless_zero,
        Keyword::KeepAlive => options.tcp_keepalive = unless_zero,
        Keyword::ConnectionLifetime => options.connection_lifetime = unless_zero,
        Keyword::ConnectRetryCount => {
            options.connect_retries = Some(within(written, count, 0..=255)?);
        }
        Keyword::ConnectRetryInterval => {
            within(written, count, 1..=60)?;
            options.connect_retry_interval = Some(seconds);
        }
        Keyword::MaxPoolSize => options.max_pool_size = count.max(1),
        _ => options.min_pool_size = count,
    }
    Ok(())
}

fn wrong(keyword: &str, value: &str, expected: &str) -> Error {
    Error::config(format!("connection string: '{keyword}' is '{value}', expected {expected}"))
}

fn flag(keyword: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" => Ok(true),
        "false" | "no" => Ok(false),
        _ => Err(wrong(keyword, value, "true or false")),
    }
}

fn number(keyword: &str, value: &str) -> Result<u32> {
    value.parse().map_err(|_| wrong(keyword, value, "a whole number"))
}

fn encryption(keyword: &str, value: &str) -> Result<Encryption> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "mandatory" => Ok(Encryption::Required),
        "false" | "no" | "optional" => Ok(Encryption::LoginOnly),
        "strict" => Ok(Encryption::Strict),
        "danger_plaintext" => Ok(Encryption::Never),
        _ => Err(wrong(keyword, value, "true, false or strict")),
    }
}

fn read_only(keyword: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "readonly" => Ok(true),
        "readwrite" => Ok(false),
        _ => Err(wrong(keyword, value, "ReadOnly or ReadWrite")),
    }
}

fn within(keyword: &str, value: u32, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(wrong(keyword, &value.to_string(), &format!("{} to {}", range.start(), range.end())))
}

fn preference(keyword: &str, value: &str) -> Result<AddressPreference> {
    match value.to_ascii_lowercase().as_str() {
        "ipv4first" => Ok(AddressPreference::V4),
        "ipv6first" => Ok(AddressPreference::V6),
        "useplatformdefault" => Ok(AddressPreference::Platform),
        _ => Err(wrong(keyword, value, "IPv4First, IPv6First or UsePlatformDefault")),
    }
}

/// `dbmssocn` is the old name of TCP.
fn require_tcp(keyword: &str, value: &str) -> Result<()> {
    if ["dbmssocn", "tcp"].iter().any(|tcp| value.eq_ignore_ascii_case(tcp)) {
        return Ok(());
    }
    Err(wrong(keyword, value, "dbmssocn: only tcp connections are supported"))
}

fn require_disabled(keyword: &str, value: &str) -> Result<()> {
    if value.eq_ignore_ascii_case("disabled") {
        return Ok(());
    }
    Err(refusal(keyword, "always encrypted columns are not supported"))
}

fn asks_for_token(keyword: &str, value: &str) -> Result<bool> {
    let plain: String = value.chars().filter(|c| !c.is_whitespace()).collect();
    match plain.to_ascii_lowercase().as_str() {
        "sqlpassword" | "notspecified" => Ok(false),
        "accesstoken" => Ok(true),
        method if method.starts_with("activedirectory") => Err(refusal(
            keyword,
            "get the token yourself: write 'AccessToken' and call BrokerOptions::with_token_provider",
        )),
        _ => Err(wrong(keyword, value, "SqlPassword or AccessToken")),
    }
}

fn refusal(keyword: &str, reason: &str) -> Error {
    Error::config(format!("connection string: '{keyword}' cannot be honoured: {reason}"))
}

/// The value that asks for nothing is accepted.
fn refuse(keyword: &str, value: &str, reason: &str) -> Result<()> {
    let pooling = keyword.eq_ignore_ascii_case("pooling");
    let asks_for_nothing = value.is_empty() || flag(keyword, value).is_ok_and(|asked| asked == pooling);
    if asks_for_nothing { Ok(()) } else { Err(refusal(keyword, reason)) }
}

/// Levenshtein distance, for naming the keyword that was probably meant.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, character) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(character != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
