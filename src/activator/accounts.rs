//! Users and groups of handlers: from the names in the configuration to the numbers the system works with.
//!
//! Names are looked up in `/etc/passwd` and `/etc/group`, as they are at each launch; accounts of a directory service have
//! to be given by number. Changes nothing: the switch is the trampoline's.

use crate::activator::config::{Account, Application, Config};
use std::error::Error;
use std::fmt;
use std::fs;
use std::io;

/// Who a handler runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// All its groups, `gid` among them.
    pub(super) groups: Vec<u32>,
    /// Name and home folder, where the user has an entry.
    pub(super) entry: Option<(String, String)>,
}

/// Why an application cannot have the account it asks for.
#[derive(Debug)]
pub enum AccountError {
    /// There is no user of this name or number, and a group that would do without is not given.
    NoUser(Account),
    /// There is no group of this name.
    NoGroup(String),
    /// Only root may run handlers as somebody else.
    NotRoot {
        /// The user the daemon runs as.
        own: u32,
        /// The one that is wanted.
        wanted: u32,
    },
    /// The accounts cannot be read.
    Unreadable(io::Error),
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUser(user @ Account::Name(_)) => write!(f, "there is no user {user} in /etc/passwd"),
            Self::NoUser(user @ Account::Id(_)) => {
                write!(f, "user {user} is not in /etc/passwd, so a group has to be given with it")
            }
            Self::NoGroup(group) => write!(f, "there is no group {group} in /etc/group"),
            Self::NotRoot { own, wanted } => write!(
                f,
                "the activator runs as user {own}, and only root can run handlers as another one (user {wanted})"
            ),
            Self::Unreadable(_) => f.write_str("/etc/passwd or /etc/group cannot be read"),
        }
    }
}

impl Error for AccountError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable(source) => Some(source),
            _ => None,
        }
    }
}

/// The first application whose account cannot be had, and why.
pub(super) fn check(config: &Config) -> Result<(), (String, AccountError)> {
    for app in config.applications.iter().filter(|app| app.enabled) {
        of(app).map_err(|error| (app.name.clone(), error))?;
    }
    Ok(())
}

/// Who the processes of an application are to run as; `None` if that is the daemon's own user and group.
pub(super) fn of(app: &Application) -> Result<Option<Identity>, AccountError> {
    if app.user.is_none() && app.group.is_none() {
        return Ok(None);
    }
    let read = |path: &str| fs::read_to_string(path).map_err(AccountError::Unreadable);
    let accounts = Accounts { passwd: read("/etc/passwd")?, group: read("/etc/group")? };
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    accounts.identity(app.user.as_ref(), app.group.as_ref(), own)
}

/// The contents of the two files.
struct Accounts {
    passwd: String,
    group: String,
}

/// A line of `/etc/passwd`.
struct User<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
    home: &'a str,
}

impl Accounts {
    /// `own` is the user and group of the daemon.
    fn identity(
        &self,
        user: Option<&Account>,
        group: Option<&Account>,
        own: (u32, u32),
    ) -> Result<Option<Identity>, AccountError> {
        let entry = user.map(|user| self.user(user).ok_or(user));
        let gid = group.map(|group| self.gid(group)).transpose()?;
        let (uid, entry) = match (entry, user) {
            (None, _) => (own.0, None),
            (Some(Ok(entry)), _) => (entry.uid, Some(entry)),
            (Some(Err(_)), Some(Account::Id(uid))) if gid.is_some() => (*uid, None),
            (Some(Err(unknown)), _) => return Err(AccountError::NoUser(unknown.clone())),
        };
        let gid = gid.or(entry.as_ref().map(|entry| entry.gid)).unwrap_or(own.1);
        if (uid, gid) == own && own.0 != 0 {
            return Ok(None);
        }
        if own.0 != 0 {
            return Err(AccountError::NotRoot { own: own.0, wanted: uid });
        }
        let mut groups = entry.as_ref().map_or_else(Vec::new, |entry| self.memberships(entry.name));
        groups.insert(0, gid);
        groups.dedup();
        let entry = entry.map(|entry| (entry.name.to_owned(), entry.home.to_owned()));
        Ok(Some(Identity { uid, gid, groups, entry }))
    }

    fn user(&self, wanted: &Account) -> Option<User<'_>> {
        let is_it = |user: &User<'_>| match wanted {
            Account::Name(name) => user.name == name,
            Account::Id(uid) => user.uid == *uid,
        };
        self.passwd.lines().filter_map(User::parse).find(is_it)
    }

    fn gid(&self, wanted: &Account) -> Result<u32, AccountError> {
        let name = match wanted {
            Account::Id(gid) => return Ok(*gid),
            Account::Name(name) => name,
        };
        let found = self.groups().find(|(group, _, _)| group == name).map(|(_, gid, _)| gid);
        found.ok_or_else(|| AccountError::NoGroup(name.clone()))
    }

    /// The groups that name a user as a member.
    fn memberships(&self, user: &str) -> Vec<u32> {
        let is_member = |members: &str| members.split(',').any(|member| member == user);
        self.groups().filter(|(_, _, members)| is_member(members)).map(|(_, gid, _)| gid).collect()
    }

    /// Name, number and members of every group.
    fn groups(&self) -> impl Iterator<Item = (&str, u32, &str)> {
        self.group.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let gid = fields.nth(1)?.parse().ok()?;
            Some((name, gid, fields.next().unwrap_or_default()))
        })
    }
}

impl<'a> User<'a> {
    /// `name:password:uid:gid:comment:home:shell`.
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Self { name, uid, gid, home: fields.nth(1).unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountError, Accounts, Identity};
    use crate::activator::config::Account;

    fn accounts() -> Accounts {
        Accounts {
            passwd: "root:x:0:0:root:/root:/bin/sh\n# odd line\norders:x:1001:1002:Orders,,,:/srv/orders:/bin/false\n"
                .to_owned(),
            group: "root:x:0:\norders:x:1002:\nmail:x:8:postfix,orders\nspool:x:9:orders\n".to_owned(),
        }
    }

    fn name(text: &str) -> Account {
        Account::Name(text.to_owned())
    }

    fn as_root(user: Option<Account>, group: Option<Account>) -> Result<Option<Identity>, AccountError> {
        accounts().identity(user.as_ref(), group.as_ref(), (0, 0))
    }

    #[test]
    fn a_user_brings_its_groups_and_its_home() {
        let entry = Some(("orders".to_owned(), "/srv/orders".to_owned()));
        let expected = Identity { uid: 1001, gid: 1002, groups: vec![1002, 8, 9], entry };
        assert_eq!(as_root(Some(name("orders")), None).unwrap(), Some(expected.clone()));
        assert_eq!(as_root(Some(Account::Id(1001)), None).unwrap(), Some(expected));
    }

    #[test]
    fn a_group_can_be_given_alone_or_with_a_user() {
        let of = |user, group| as_root(user, Some(group)).unwrap().map(|one| (one.uid, one.gid, one.groups));
        assert_eq!(of(None, name("mail")), Some((0, 8, vec![8])));
        assert_eq!(of(Some(name("orders")), name("mail")), Some((1001, 8, vec![8, 9])));
        assert_eq!(of(Some(Account::Id(5000)), Account::Id(6000)), Some((5000, 6000, vec![6000])));
    }

    #[test]
    fn what_is_unknown_is_told_by_name() {
        let told = |user, group| as_root(user, group).unwrap_err().to_string();
        assert_eq!(told(Some(name("nobody")), None), "there is no user nobody in /etc/passwd");
        assert!(told(Some(Account::Id(5000)), None).contains("a group has to be given"));
        assert_eq!(told(None, Some(name("wheel"))), "there is no group wheel in /etc/group");
    }

    #[test]
    fn only_root_can_be_somebody_else() {
        let as_orders = |user: &str| accounts().identity(Some(&name(user)), None, (1001, 1002));
        assert_eq!(as_orders("orders").unwrap(), None);
        assert!(matches!(as_orders("root"), Err(AccountError::NotRoot { own: 1001, wanted: 0 })));
    }
}
