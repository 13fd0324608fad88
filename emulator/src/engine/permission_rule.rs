//! The rule that turns grants, denials, ownership and fixed roles into yes or no (spec 1.11).
//!
//! Pure reading of the state. It must not know who asks or why.

use std::collections::BTreeSet;

use super::definitions::{GrantState, Login, Permission, PermissionKey, Securable, ServerRole, User};
use super::ids::PrincipalId;
use super::security::{identities, is_sysadmin, login_at_server, user_in};
use super::state::State;
use super::tx::Principal;

/// Whether the principal has the permission on the securable, as the server decides it: sysadmin and `dbo` have all;
/// owners control what they own; a denial to the principal or one of its roles beats every grant; permissions on a
/// container and CONTROL imply those below.
pub(super) fn has_permission(
    state: &State,
    principal: &Principal,
    permission: Permission,
    securable: Securable,
) -> bool {
    if is_sysadmin(state, principal) {
        return true;
    }
    match securable.database() {
        None => has_server_permission(state, principal, permission, securable),
        Some(database) => {
            let Some(user) = user_in(state, principal, database) else { return false };
            if user == User::DBO {
                return true;
            }
            let identities = identities(state, database, user);
            if owner_of(state, securable).is_some_and(|owner| identities.contains(&owner)) {
                return true;
            }
            let wanted = implied_by(state, permission, securable);
            let grants = Grants { state, identities: &identities };
            !grants.any(&denied_by(permission, &wanted), true)
                && (grants.any(&wanted, false) || fixed_role_allows(&identities, permission, securable))
        }
    }
}

/// Whether the principal may see that the securable exists: it owns it or has some permission that covers it.
pub fn can_see(state: &State, principal: &Principal, securable: Securable) -> bool {
    const TELLING: [Permission; 10] = [
        Permission::ViewDefinition,
        Permission::Alter,
        Permission::Receive,
        Permission::Send,
        Permission::Select,
        Permission::References,
        Permission::Execute,
        Permission::Insert,
        Permission::Update,
        Permission::Delete,
    ];
    TELLING.into_iter().any(|permission| has_permission(state, principal, permission, securable))
}

fn owner_of(state: &State, securable: Securable) -> Option<PrincipalId> {
    let database = state.database(securable.database()?)?;
    match securable {
        Securable::Server | Securable::Login(_) | Securable::Database(_) => None,
        Securable::Schema(_, id) => Some(database.schemas.get(id)?.owner),
        Securable::Object(_, id) => {
            let object = database.objects.get(id)?;
            object.owner.or_else(|| Some(database.schemas.get(object.schema)?.owner))
        }
        Securable::MessageType(_, id) => Some(database.message_types.get(id)?.owner),
        Securable::Contract(_, id) => Some(database.contracts.get(id)?.owner),
        Securable::Service(_, id) => Some(database.services.get(id)?.owner),
        Securable::Route(_, id) => Some(database.routes.get(id)?.owner),
        Securable::Binding(_, id) => Some(database.bindings.get(id)?.owner),
        Securable::User(_, id) => database.users.get(id)?.owner,
    }
}

type Wanted = (Permission, Securable);

/// The permissions each of which is enough: the permission itself and CONTROL, here and on all that contains it.
fn implied_by(state: &State, permission: Permission, securable: Securable) -> Vec<Wanted> {
    let mut wanted = vec![(permission, securable), (Permission::Control, securable)];
    if let Securable::Object(database, id) = securable
        && let Some(object) = state.database(database).and_then(|it| it.objects.get(id))
    {
        let schema = Securable::Schema(database, object.schema);
        wanted.extend([(permission, schema), (Permission::Control, schema)]);
    }
    let Some(database) = securable.database() else { return wanted };
    let whole = Securable::Database(database);
    if securable != whole {
        wanted.extend([(permission, whole), (Permission::Control, whole)]);
    }
    if matches!(permission, Permission::Alter) {
        wanted.extend(alter_any(securable).map(|any| (any, whole)));
    }
    if is_ddl(permission) {
        wanted.push((Permission::Alter, whole));
    }
    wanted
}

/// The permissions whose denial is enough: those asked for, but a denied ALTER leaves what it would have implied.
fn denied_by(permission: Permission, wanted: &[Wanted]) -> Vec<Wanted> {
    let counts = |denied: Permission| denied == permission || denied == Permission::Control;
    wanted.iter().copied().filter(|(denied, _)| counts(*denied)).collect()
}

/// The database permission that lets one alter every securable of the kind.
fn alter_any(securable: Securable) -> Option<Permission> {
    match securable {
        Securable::Schema(..) => Some(Permission::AlterAnySchema),
        Securable::MessageType(..) => Some(Permission::AlterAnyMessageType),
        Securable::Contract(..) => Some(Permission::AlterAnyContract),
        Securable::Service(..) => Some(Permission::AlterAnyService),
        Securable::Route(..) => Some(Permission::AlterAnyRoute),
        Securable::Binding(..) => Some(Permission::AlterAnyRemoteServiceBinding),
        Securable::User(..) => Some(Permission::AlterAnyUser),
        _ => None,
    }
}

/// Whether ALTER on the database implies the permission.
fn is_ddl(permission: Permission) -> bool {
    permission == Permission::Alter
        || permission.name().starts_with("CREATE ")
        || permission.name().starts_with("ALTER ANY ")
}

struct Grants<'a> {
    state: &'a State,
    identities: &'a BTreeSet<PrincipalId>,
}

impl Grants<'_> {
    /// Whether one of the permissions is denied (`denied`) or granted (not `denied`) to one of the identities.
    fn any(&self, wanted: &[Wanted], denied: bool) -> bool {
        wanted.iter().any(|(permission, securable)| {
            self.identities.iter().any(|identity| {
                let key =
                    PermissionKey { securable: *securable, grantee: identity.0, permission: *permission };
                let grant = self.state.permissions.get(&key);
                grant.is_some_and(|grant| (grant.state == GrantState::Deny) == denied)
            })
        })
    }
}

/// What the fixed database roles may do (spec 1.11: db_ddladmin makes and alters everything but may not RECEIVE).
fn fixed_role_allows(
    identities: &BTreeSet<PrincipalId>,
    permission: Permission,
    securable: Securable,
) -> bool {
    let is = |role| identities.contains(&role);
    let object = matches!(securable, Securable::Object(..) | Securable::Schema(..) | Securable::Database(_));
    is(User::DB_OWNER)
        || (is(User::DB_DDLADMIN) && ddl_admin_allows(permission, securable))
        || (is(User::DB_DATAREADER) && object && permission == Permission::Select)
        || (is(User::DB_DATAWRITER)
            && object
            && matches!(permission, Permission::Insert | Permission::Update | Permission::Delete))
        || (is(User::DB_ACCESSADMIN) && matches!(permission, Permission::AlterAnyUser | Permission::Connect))
        || (is(User::DB_SECURITYADMIN)
            && matches!(permission, Permission::AlterAnyRole | Permission::CreateRole))
}

fn ddl_admin_allows(permission: Permission, securable: Securable) -> bool {
    let administrative =
        matches!(permission, Permission::AlterAnyUser | Permission::AlterAnyRole | Permission::CreateRole);
    let subject = !matches!(securable, Securable::User(..));
    let on_whole_database = permission == Permission::Alter && matches!(securable, Securable::Database(_));
    subject
        && !administrative
        && !on_whole_database
        && (is_ddl(permission) || matches!(permission, Permission::References | Permission::ViewDefinition))
}

fn has_server_permission(
    state: &State,
    principal: &Principal,
    permission: Permission,
    securable: Securable,
) -> bool {
    let login = login_at_server(state, principal).and_then(|login| state.logins.get(login));
    let Some(login) = login else { return false };
    let covering = [
        (permission, securable),
        (Permission::Control, securable),
        (permission, Securable::Server),
        (Permission::ControlServer, Securable::Server),
    ];
    let find = |denied: bool| {
        covering.iter().any(|(permission, securable)| {
            [login.id, Login::PUBLIC].into_iter().any(|grantee| {
                let key =
                    PermissionKey { securable: *securable, grantee: grantee.0, permission: *permission };
                state.permissions.get(&key).is_some_and(|grant| (grant.state == GrantState::Deny) == denied)
            })
        })
    };
    !find(true) && (find(false) || server_role_allows(&login.roles, permission))
}

fn server_role_allows(roles: &BTreeSet<ServerRole>, permission: Permission) -> bool {
    let creates = matches!(
        permission,
        Permission::CreateAnyDatabase | Permission::CreateDatabase | Permission::AlterAnyDatabase
    );
    roles.contains(&ServerRole::SysAdmin)
        || (roles.contains(&ServerRole::SecurityAdmin) && permission == Permission::AlterAnyLogin)
        || (roles.contains(&ServerRole::DbCreator) && creates)
}
