//! The keywords of a connection string and what each does to the options.
//!
//! Keywords of ADO.NET that would change what the library does, but that it cannot honour, are refused by name.

use std::time::Duration;

use super::super::error::{Error, ErrorKind, Result};
use super::connection_string::{Pair, split};
use super::{BrokerOptions, Encryption};

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
    ("persistsecurityinfo", Keyword::Ignored),
    ("persistsecurity", Keyword::Ignored),
    ("poolblockingperiod", Keyword::Ignored),
    ("ipaddresspreference", Keyword::Ignored),
    ("connectretrycount", Keyword::Ignored),
    ("connectretryinterval", Keyword::Ignored),
    ("pooling", Keyword::Refused("connections are always pooled")),
    ("multipleactiveresultsets", Keyword::Refused("a connection carries one request at a time")),
    ("failoverpartner", Keyword::Refused("database mirroring is not supported")),
    ("attachdbfilename", Keyword::Refused("a database file cannot be attached")),
    ("contextconnection", Keyword::Refused("there is no context connection outside the server")),
    ("currentlanguage", Keyword::Refused("the language of the login is used")),
    ("enlist", Keyword::Refused("distributed transactions are not supported")),
    ("columnencryptionsetting", Keyword::Refused("always encrypted columns are not supported")),
];

/// Reads a connection string into checked options.
pub(super) fn read(text: &str) -> Result<BrokerOptions> {
    let mut server = None;
    let mut settings = Vec::new();
    for pair in split(text)? {
        let keyword = find(&pair.keyword)?;
        match keyword {
            Keyword::Server => server = Some(pair.value),
            Keyword::Ignored => {}
            _ => settings.push((keyword, pair)),
        }
    }
    let server = server.ok_or_else(|| Error::config("connection string: 'Server' is missing"))?;
    let mut options = BrokerOptions::new(&server, "", "")?;
    for (keyword, pair) in settings {
        apply(&mut options, keyword, pair)?;
    }
    if options.user.is_empty() {
        return Err(Error::config("connection string: 'User ID' is missing; only SQL logins are supported"));
    }
    options.check()
}

fn find(written: &str) -> Result<Keyword> {
    let wanted: String =
        written.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    if let Some((_, keyword)) = KEYWORDS.iter().find(|(name, _)| *name == wanted) {
        return Ok(*keyword);
    }
    let nearest = KEYWORDS.iter().map(|(name, _)| (edit_distance(&wanted, name), *name)).min();
    let hint = match nearest {
        Some((distance, name)) if distance <= 3 => format!("; did you mean '{name}'?"),
        _ => String::new(),
    };
    Err(Error::config(format!("connection string: the keyword '{written}' is not known{hint}")))
}

fn apply(
    options: &mut BrokerOptions,
    keyword: Keyword,
    Pair { keyword: written, value }: Pair,
) -> Result<()> {
    match keyword {
        Keyword::Database => options.database = Some(value).filter(|name| !name.is_empty()),
        Keyword::User => options.user = value,
        Keyword::Password => options.password.0 = value,
        Keyword::Encrypt => options.encryption = encryption(&written, &value)?,
        Keyword::TrustServerCertificate => options.trust_server_certificate = flag(&written, &value)?,
        Keyword::ServerCertificate => options.certificate_authority = Some(value.into()),
        Keyword::HostNameInCertificate => options.host_name_in_certificate = Some(value),
        Keyword::ConnectTimeout => {
            options.connect_timeout = Duration::from_secs(number(&written, &value)?.into());
            options.acquire_timeout = options.acquire_timeout.max(options.connect_timeout);
        }
        Keyword::CommandTimeout => {
            let seconds = number(&written, &value)?;
            options.command_timeout = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
        }
        Keyword::ApplicationName => options.application_name = value,
        Keyword::ApplicationIntent => options.read_only = read_only(&written, &value)?,
        Keyword::MultiSubnetFailover => options.multi_subnet_failover = flag(&written, &value)?,
        Keyword::PacketSize => options.packet_size = number(&written, &value)?,
        Keyword::WorkstationId => options.workstation = Some(value),
        Keyword::IntegratedSecurity => refuse_integrated_security(&written, &value)?,
        Keyword::Authentication => require_sql_password(&written, &value)?,
        Keyword::MaxPoolSize => options.max_pool_size = number(&written, &value)?.max(1),
        Keyword::MinPoolSize => options.min_pool_size = number(&written, &value)?,
        Keyword::Refused(reason) => refuse(&written, &value, reason)?,
        Keyword::Server | Keyword::Ignored => {}
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

fn refuse_integrated_security(keyword: &str, value: &str) -> Result<()> {
    if !value.eq_ignore_ascii_case("sspi") && !flag(keyword, value)? {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "connection string: '{keyword}' needs Kerberos or NTLM, which is not built in: use 'User ID' and 'Password'"
        ),
    ))
}

fn require_sql_password(keyword: &str, value: &str) -> Result<()> {
    let plain: String = value.chars().filter(|c| !c.is_whitespace()).collect();
    if plain.eq_ignore_ascii_case("sqlpassword") || plain.eq_ignore_ascii_case("notspecified") {
        return Ok(());
    }
    Err(Error::config(format!("connection string: '{keyword}' is '{value}', only SqlPassword is built in")))
}

/// The value that asks for nothing is accepted.
fn refuse(keyword: &str, value: &str, reason: &str) -> Result<()> {
    let pooling = keyword.eq_ignore_ascii_case("pooling");
    match flag(keyword, value) {
        Ok(asked) if asked == pooling => Ok(()),
        _ => Err(Error::config(format!("connection string: '{keyword}' cannot be honoured: {reason}"))),
    }
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
