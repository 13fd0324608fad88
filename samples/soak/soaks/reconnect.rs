//! Goal L9: a receiver whose server was away is back within a second of its return.

use std::time::{Duration, Instant};

use super::proxy::Proxy;
use super::random::Random;
use super::stage::{Stage, target_queue};
use super::{Answer, Budget, ensure};

/// Takes the server away for up to `longest`, again and again, and measures how long the first message after its return
/// takes.
pub(crate) async fn run(budget: Budget, longest: Duration) -> Answer {
    let stage = Stage::set().await?;
    let mut proxy = Proxy::start(stage.emulator.address()).await?;
    let port = proxy.address().port();
    let text = format!("{};Server=tcp:127.0.0.1,{port}", stage.emulator.connection_string("msdb"));
    let broker = ssbroker::client::Broker::connect(&text).await?;
    let mut receiver = broker.receive(target_queue()?).open().await?;
    let mut random = Random::new(0x9E7);
    let (mut outages, mut slowest, mut away) = (0, Duration::ZERO, Duration::ZERO);
    while budget.has_left(outages) {
        ensure(
            receiver.next_within(Duration::from_millis(20)).await?.is_none(),
            "a message came from nowhere",
        )?;
        proxy.cut();
        let outage = longest.mul_f64((1 + random.below(10)) as f64 / 10.0);
        ensure(receiver.next_within(outage).await?.is_none(), "a message came through a cut network")?;
        stage.begin(&[outages.to_string()], false).await?;
        proxy.restore().await?;
        let returned = Instant::now();
        let batch = receiver.next().await?;
        slowest = slowest.max(returned.elapsed());
        away += outage;
        batch.commit().await?;
        outages += 1;
    }
    let numbers =
        format!("L9: {outages} outages of {away:?} together, back within {slowest:?} of the return at most");
    ensure(slowest <= Duration::from_secs(1), format!("too slow: {numbers}"))?;
    Ok(numbers)
}
