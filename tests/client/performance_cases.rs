//! Cases about performance. What they expect is checked by counting and by what must not wait; times are printed, since they
//! are those of a machine that does other things too.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ssbroker::client::{Body, ConversationState, StopReason, WorkerStats, handler_fn};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::connections::{sessions, waiting_receivers};
use super::objects::Objects;
use super::work::objects;
use crate::support::{Backend, Embedded};

/// What a run of a worker over the target queue came to.
#[derive(Debug)]
struct Run {
    stats: WorkerStats,
    /// Most handlers at the same time.
    most: usize,
    requests: u64,
    /// From the first handler to the end.
    took: Duration,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stats, most, requests, took } = self;
        write!(f, "{took:?}, {requests} requests for {} batches, {most} handlers at once", stats.batches)
    }
}

/// Handles so many messages with so many readers. The first handlers wait until `together` of them run.
async fn run(objects: &Objects, messages: u64, readers: usize, together: usize) -> Run {
    let before = objects.broker.requests_sent();
    let (running, first) = (Arc::<Mutex<(usize, usize)>>::default(), Arc::<AtomicUsize>::default());
    let begun = Arc::new(OnceLock::new());
    let starts = Arc::clone(&begun);
    let (seen, all) = (Arc::clone(&running), Arc::new(Barrier::new(together)));
    let handler = handler_fn(move |_delivery| {
        starts.get_or_init(Instant::now);
        let (seen, all, first) = (Arc::clone(&seen), Arc::clone(&all), Arc::clone(&first));
        Box::pin(async move {
            {
                let mut seen = seen.lock().unwrap();
                seen.0 += 1;
                seen.1 = seen.1.max(seen.0);
            }
            if first.fetch_add(1, Ordering::Relaxed) < together {
                all.wait().await;
            }
            tokio::task::yield_now().await;
            seen.lock().unwrap().0 -= 1;
            Ok(())
        })
    });
    let worker = objects.broker.worker(objects.queue(), handler).readers(readers).max_messages(100);
    let handle = worker.handle();
    let working = tokio::spawn(worker.run_forever());
    while handle.stats().messages < messages {
        assert!(!working.is_finished(), "{:?}", working.await);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = begun.get().expect("messages were handled").elapsed();
    let requests = objects.broker.requests_sent() - before;
    handle.stop();
    assert_eq!(working.await.unwrap().unwrap(), StopReason::Shutdown);
    let most = running.lock().unwrap().1;
    Run { stats: handle.stats(), most, requests, took }
}

/// Case C116: what one conversation holds, one reader handles at a time. The others wait at the server; that they do not ask
/// again and again is counted in requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c116_readers_beyond_the_conversations_idle_without_asking_again() {
    const MESSAGES: u64 = 10_000;
    for readers in [1, 4, 16] {
        let objects = objects().await;
        let builder =
            objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
        builder.begin_with(&objects.messages(MESSAGES as usize)).await.unwrap();
        let run = run(&objects, MESSAGES, readers, 1).await;
        println!("C116: 1 dialog, {readers} readers: {run}");
        assert_eq!((run.most, run.stats.messages, run.stats.failures), (1, MESSAGES, 0));
        // A batch costs one request, or two when the next one goes to another reader; each reader a few to start and wait.
        let allowed = 2 * run.stats.batches + 8 * readers as u64 + 16;
        assert!(run.requests <= allowed, "{run:?}: more than {allowed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c116_sixteen_conversations_keep_sixteen_readers_at_work() {
    const DIALOGS: usize = 16;
    const EACH: usize = 625;
    for readers in [1, 4, DIALOGS] {
        let objects = objects().await;
        for _ in 0..DIALOGS {
            let builder =
                objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
            builder.begin_with(&objects.messages(EACH)).await.unwrap();
        }
        // They wait for each other: only as many readers as that can bring it to its end.
        let run = run(&objects, (DIALOGS * EACH) as u64, readers, readers).await;
        println!("C116: {DIALOGS} dialogs, {readers} readers: {run}");
        assert_eq!((run.most, run.stats.failures), (readers, 0));
    }
}

/// Case C117. The embedded broker has no transport to other servers: what a route sends there waits in the transmission
/// queue. It must hold up nothing else. As its clock stands still, whatever arrives has waited for nothing.
#[tokio::test]
async fn c117_fifty_unreachable_peers_do_not_delay_messages_to_the_reachable_ones() {
    const AWAY: usize = 50;
    const HEALTHY: usize = 5;
    const ROUNDS: usize = 4;
    let backend = Arc::new(Embedded::with_manual_clock().await);
    let objects = Objects::create(Arc::clone(&backend) as Arc<dyn Backend>).await;
    for peer in 0..AWAY {
        let route = format!(
            "CREATE ROUTE [away{peer}] WITH SERVICE_NAME = '//away/{peer}', ADDRESS = 'TCP://10.255.255.1:{}'",
            5_000 + peer
        );
        objects.broker.batch(&route).await.unwrap();
    }
    let begin = async |target: &str| {
        objects.broker.dialog(&*objects.initiator, target).contract(&*objects.contract).begin().await.unwrap()
    };
    let (mut away, mut healthy, mut slowest) = (Vec::new(), Vec::new(), Duration::ZERO);
    for peer in 0..AWAY {
        away.push(begin(&format!("//away/{peer}")).await);
    }
    for _ in 0..HEALTHY {
        healthy.push(begin(&objects.target).await);
    }
    for round in 0..ROUNDS {
        for dialog in &away {
            dialog.send(&*objects.request, Body::utf8("lost")).await.unwrap();
        }
        for dialog in &healthy {
            let begun = Instant::now();
            dialog.send(&*objects.request, Body::utf8(round.to_string())).await.unwrap();
            slowest = slowest.max(begun.elapsed());
        }
        assert_eq!(objects.waiting().await.len(), (round + 1) * HEALTHY, "they have arrived");
    }
    println!(
        "C117: {HEALTHY} healthy peers beside {AWAY} unreachable ones: the slowest message took {slowest:?}"
    );
    for dialog in &away {
        let status = objects.broker.delivery_status(dialog.handle()).await.unwrap();
        assert_eq!(
            (status.state, status.pending),
            (Some(ConversationState::Conversing), Some(ROUNDS as u64))
        );
        assert!(status.is_delivered() == Some(false) && !status.reason.is_empty(), "{status:?}");
    }
}

/// Case C118: idle readers hold a connection each, log in once, and ask once for each wait. As the clock stands still when the
/// message comes, none of them finds it by asking again.
#[tokio::test]
async fn c118_idle_readers_log_in_once_ask_once_per_wait_and_are_woken_by_the_first_message() {
    const READERS: u64 = 10;
    const MINUTES: u64 = 10;
    let backend = Arc::new(Embedded::with_manual_clock().await);
    let objects = Objects::create(Arc::clone(&backend) as Arc<dyn Backend>).await;
    let waiting = waiting_receivers(&objects, READERS as usize).await;
    assert_eq!(sessions(&objects.broker).await, READERS as i32 + 1, "one for everything else");
    let counts = || {
        let counters = backend.emulator.server_counters();
        (counters.logins.load(Ordering::Relaxed), counters.requests.load(Ordering::Relaxed))
    };
    let (logins, requests) = counts();
    for _second in 0..MINUTES * 60 {
        backend.manual_clock().unwrap().advance(Duration::from_secs(1));
        // Lets the answers of this second reach the readers; one that comes later only lowers the count.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }
    let (logins_after, requests_after) = counts();
    let (logins, requests) = (logins_after - logins, requests_after - requests);
    println!("C118: {READERS} idle readers, {MINUTES} minutes: {requests} requests, {logins} logins");
    assert!(requests <= READERS * MINUTES * 2, "at most one request for each wait of 30 s");
    assert!(requests >= READERS, "the waits are renewed");
    assert_eq!(logins, 0);
    let mut readers = JoinSet::new();
    for mut receiver in waiting {
        readers.spawn(async move { receiver.next().await.unwrap().commit().await });
    }
    let dialog = objects.begin_with(&[]).await;
    let mut best = Duration::MAX;
    for _ in 0..READERS {
        let begun = Instant::now();
        dialog.send(&*objects.request, Body::utf8("first")).await.unwrap();
        let woken = tokio::time::timeout(Duration::from_secs(10), readers.join_next()).await.unwrap();
        best = best.min(begun.elapsed());
        woken.unwrap().unwrap().unwrap();
    }
    // The best of a few: what counts is that nothing waits, not what else the machine does.
    println!("C118: a waiting reader has a message {best:?} after the send began");
    assert!(best < Duration::from_millis(50), "{best:?}");
}
