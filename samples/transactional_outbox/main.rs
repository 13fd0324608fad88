//! Business data and a message in one transaction, on a connection of the program's own: both happen or neither.
//!
//! A shop takes a piece from its stock and tells dispatch. With a message queue beside the database that takes an outbox
//! table and a program that empties it; here the SEND is part of the shop's transaction. Three sales show what that means:
//! one is rolled back, one is committed, and of one nobody knows whether its commit happened. The last is simply done again
//! under the same id, which says whether it was.
//!
//! `cargo run --example transactional_outbox [-- CONNECTION_STRING]`

#![expect(clippy::print_stdout, reason = "a sample says what it does")]

#[path = "../common/mod.rs"]
mod common;

use std::error::Error;
use std::time::Duration;

use ssbroker::client::outbox::Joined;
use ssbroker::client::{
    Body, Broker, Destination, DialogPool, MessageKind, MessageTypeName, OutgoingMessage, PoolOptions,
    QueueName, SendOnce,
};
use tiberius::{Client, Config};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};
use uuid::Uuid;

use common::Server;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The shop's own connection. The library neither makes it nor decides about its transactions.
type Database = Client<Compat<TcpStream>>;

/// What somebody wants to buy. Its id is chosen once, before the first attempt, and stays.
struct Sale {
    id: Uuid,
    item: &'static str,
}

/// How the shop reaches dispatch.
struct Shop {
    pool: DialogPool,
    dispatch: Destination,
    sold: MessageTypeName,
}

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server::from_arguments().await?;
    let broker = server.prepare(include_str!("objects.sql")).await?;
    server.prepare(include_str!("../../sql/07-sending.sql")).await?;
    let shop = Shop {
        pool: broker.dialog_pool(PoolOptions::default())?,
        dispatch: Destination::new("//outbox/shop", "//outbox/dispatch")?.contract("//outbox/contract")?,
        sold: MessageTypeName::new("//outbox/sold")?,
    };
    let mut database = connect(&server).await?;
    let sale = || Sale { id: Uuid::new_v4(), item: "teapot" };
    report("at first", &broker).await?;

    // The card is refused: the piece stays in stock, and dispatch never hears of it.
    let joined = shop.sell(&mut database, &sale()).await?.ok_or("a new sale")?;
    run(&mut database, "ROLLBACK TRANSACTION").await?;
    joined.rolled_back();
    report("after the roll back", &broker).await?;

    // The card is good.
    let joined = shop.sell(&mut database, &sale()).await?.ok_or("a new sale")?;
    run(&mut database, "COMMIT TRANSACTION").await?;
    joined.committed();
    report("after the commit", &broker).await?;

    // This time the connection breaks during the commit. Here the answer is thrown away instead.
    let doubtful = sale();
    let joined = shop.sell(&mut database, &doubtful).await?.ok_or("a new sale")?;
    run(&mut database, "COMMIT TRANSACTION").await?;
    drop((joined, database));

    // Was it committed? The shop does all of it again, with the id of the first attempt.
    let mut database = connect(&server).await?;
    match shop.sell(&mut database, &doubtful).await? {
        None => println!("the commit had happened"),
        Some(joined) => {
            run(&mut database, "COMMIT TRANSACTION").await?;
            joined.committed();
        }
    }
    report("after the repeated sale", &broker).await?;
    shop.pool.close().await?;
    pack(&broker).await
}

impl Shop {
    /// Does everything but the commit: takes a piece from stock and sends the message, in one transaction. `None` if an
    /// earlier attempt was committed; then this one is rolled back, or the piece would be taken twice.
    async fn sell(&self, database: &mut Database, sale: &Sale) -> Result<Option<Joined>> {
        run(database, "BEGIN TRANSACTION").await?;
        database
            .execute("UPDATE [dbo].[Stock] SET pieces = pieces - 1 WHERE item = @P1", &[&sale.item])
            .await?;
        let message = OutgoingMessage::new(self.sold.clone(), Body::utf8(sale.item));
        let outbox = self.pool.outbox(&self.dispatch).await?;
        let (joined, mut outcomes) = outbox.send_once(database, &[(sale.id, message)]).await?;
        match outcomes.remove(0) {
            SendOnce::Sent => Ok(Some(joined)),
            other => {
                run(database, "ROLLBACK TRANSACTION").await?;
                joined.rolled_back();
                if let SendOnce::Failed(error) = other { Err(error.into()) } else { Ok(None) }
            }
        }
    }
}

/// What anybody else sees: the stock, and what has reached dispatch.
async fn report(when: &str, broker: &Broker) -> Result<()> {
    let query = "SELECT (SELECT pieces FROM [dbo].[Stock] WHERE item = N'teapot') AS pieces, \
                 (SELECT COUNT(*) FROM [dbo].[DispatchQueue]) AS told";
    let results = broker.execute(query, &[]).await?;
    let row = results.first_row().ok_or("no answer")?;
    let (pieces, told): (i32, i32) = (row.get("pieces")?, row.get("told")?);
    println!("{when}: {pieces} in stock, dispatch has been told of {told}");
    Ok(())
}

/// The other side, when the shop has closed.
async fn pack(broker: &Broker) -> Result<()> {
    let mut receiver = broker.receive(QueueName::new("dbo.DispatchQueue")?).open().await?;
    while let Some(mut batch) = receiver.next_within(Duration::from_millis(300)).await? {
        for message in batch.take_messages() {
            match message.kind {
                MessageKind::User => println!("dispatch packs a {}", message.body.to_utf8()?),
                _ => batch.end(message.conversation).await?,
            }
        }
        batch.commit().await?;
    }
    Ok(())
}

async fn connect(server: &Server) -> Result<Database> {
    let mut config = Config::from_ado_string(&server.connection_string)?;
    if server.is_embedded() {
        // It makes its certificate when it starts, so nobody can know it.
        config.trust_cert();
    }
    let socket = TcpStream::connect(config.get_addr()).await?;
    socket.set_nodelay(true)?;
    Ok(Client::connect(config, socket.compat_write()).await?)
}

async fn run(database: &mut Database, sql: &str) -> Result<()> {
    database.simple_query(sql).await?.into_results().await?;
    Ok(())
}
