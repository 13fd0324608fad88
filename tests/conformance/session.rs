//! One connection that a vector keeps to itself, for transactions that stay open across requests.
//!
//! It uses the driver directly, since the client lends its connections for one request each. It must not know vectors.

use futures_util::TryStreamExt;
use ssbroker::client::{ResultSet, Row, SqlValue};
use tiberius::{Client, ColumnData, Config, QueryStream, ToSql};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};
use uuid::Uuid;

use super::sql::{Refusal, Sql, fill_in};

/// A connection of its own.
pub(crate) struct Session {
    id: String,
    client: Mutex<Client<Compat<TcpStream>>>,
}

impl Session {
    /// Connects to that database, or to the one the connection string names.
    pub(crate) async fn open(connection_string: &str, database: Option<&str>, id: &str) -> Self {
        let mut config = Config::from_ado_string(connection_string).unwrap();
        // The client, which reads the same text, has checked the certificate if it was told to.
        config.trust_cert();
        if let Some(database) = database {
            config.database(database);
        }
        let stream = TcpStream::connect(config.get_addr()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let client = Client::connect(config, stream.compat_write()).await.unwrap();
        Self { id: id.to_owned(), client: Mutex::new(client) }
    }

    pub(crate) async fn begin_transaction(&self) {
        self.run("BEGIN TRANSACTION", &[]).await;
    }

    pub(crate) async fn commit(&self) {
        self.run("COMMIT TRANSACTION", &[]).await;
    }

    pub(crate) async fn roll_back(&self) {
        self.run("ROLLBACK TRANSACTION", &[]).await;
    }
}

impl Sql for Session {
    fn id(&self) -> &str {
        &self.id
    }

    async fn attempt(&self, sql: &str, values: &[Uuid]) -> Result<Vec<Row>, Refusal> {
        let sql = fill_in(sql, &self.id);
        let mut client = self.client.lock().await;
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let answer = match values.is_empty() {
            true => client.simple_query(sql).await,
            false => client.query(sql, &values).await,
        };
        read_to_the_end(answer.map_err(refusal)?).await
    }
}

/// The driver reports the first error of the server after it has read the whole answer.
async fn read_to_the_end(mut answer: QueryStream<'_>) -> Result<Vec<Row>, Refusal> {
    let mut rows = Vec::new();
    while let Some(item) = answer.try_next().await.map_err(refusal)? {
        rows.extend(item.into_row().map(translate));
    }
    Ok(rows)
}

fn refusal(error: tiberius::error::Error) -> Refusal {
    match &error {
        tiberius::error::Error::Server(token) => {
            Refusal { number: token.code(), text: token.message().to_owned() }
        }
        other => panic!("the connection failed: {other}"),
    }
}

fn translate(row: tiberius::Row) -> Row {
    let columns = row.columns().iter().map(|column| column.name().to_owned()).collect();
    let mut set = ResultSet::new(columns);
    set.push(row.into_iter().map(value).collect());
    set.into_rows().remove(0)
}

fn value(data: ColumnData<'static>) -> SqlValue {
    match data {
        ColumnData::U8(value) => value.map(i32::from).into(),
        ColumnData::I16(value) => value.map(i32::from).into(),
        ColumnData::I32(value) => value.into(),
        ColumnData::I64(value) => value.into(),
        ColumnData::Bit(value) => value.into(),
        ColumnData::Guid(value) => value.into(),
        ColumnData::String(value) => value.map(|text| text.into_owned()).into(),
        ColumnData::Binary(value) => value.map(|bytes| bytes.into_owned()).into(),
        other => panic!("no vector reads such a value: {other:?}"),
    }
}
