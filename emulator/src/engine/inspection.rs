//! What views show beyond the state itself: monitors, sessions, and who may look.

use super::activation::{MonitorRow, TaskRow};
use super::definitions::User;
use super::ids::{DatabaseId, SessionId};
use super::security;
use super::sessions::SessionInfo;
use super::tx::Tx;

impl Tx<'_> {
    /// The queue monitors of all databases.
    pub fn monitors(&self) -> Vec<MonitorRow> {
        self.core.monitors()
    }

    /// The activated procedures that run.
    pub fn activated_tasks(&self) -> Vec<TaskRow> {
        self.core.activated_tasks()
    }

    /// The open sessions, each with its count of open transactions.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, &SessionInfo, i32)> {
        self.core.sessions.iter().map(|(id, session)| (*id, &session.info, session.trancount))
    }

    /// Whether the acting principal is a member of db_owner in that database.
    pub fn is_db_owner(&self, database: DatabaseId) -> bool {
        security::is_member(self.state(), self.principal(), database, User::DB_OWNER)
    }
}
