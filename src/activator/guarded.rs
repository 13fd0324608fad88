//! Tasks that are to outlive a fault of ours: one that panics is told of and begun anew.
//!
//! Knows nothing of what the tasks do. Dropping the future ends the task that runs with it.

use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// Time before a task is begun anew, so that one which fails at once does not fill the log.
const PAUSE: Duration = Duration::from_secs(3);

/// Runs a task until it ends by itself. After a panic `tell` is called, and `begin` again once a pause is over; told to
/// stop meanwhile, it does not begin again.
pub(super) async fn run_again<T>(
    stop: CancellationToken,
    mut begin: impl FnMut() -> T,
    tell: impl Fn(&JoinError),
) where
    T: Future<Output = ()> + Send + 'static,
{
    while let Err(fault) = run_once(begin()).await {
        tell(&fault);
        if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
            return;
        }
    }
}

/// Runs a task to its end; answers its panic as an error.
pub(super) async fn run_once(task: impl Future<Output = ()> + Send + 'static) -> Result<(), JoinError> {
    // A set ends its tasks when it is dropped, which a handle does not.
    let mut tasks = JoinSet::new();
    tasks.spawn(task);
    tasks.join_next().await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::run_again;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio_util::sync::CancellationToken;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_told_of_and_begun_anew_until_it_ends() {
        let (begun, told) = (Arc::new(AtomicU32::new(0)), AtomicU32::new(0));
        let begin = || {
            let begun = Arc::clone(&begun);
            async move { assert_eq!(begun.fetch_add(1, Ordering::Relaxed), 2, "the third one ends well") }
        };
        let tell = |fault: &tokio::task::JoinError| {
            assert!(fault.is_panic());
            told.fetch_add(1, Ordering::Relaxed);
        };
        run_again(CancellationToken::new(), begin, tell).await;
        assert_eq!((begun.load(Ordering::Relaxed), told.load(Ordering::Relaxed)), (3, 2));
    }

    #[tokio::test]
    async fn one_that_is_to_stop_is_not_begun_anew() {
        let stop = CancellationToken::new();
        stop.cancel();
        let begun = AtomicU32::new(0);
        let begin = || {
            begun.fetch_add(1, Ordering::Relaxed);
            async { panic!("a fault of ours") }
        };
        run_again(stop, begin, |_| {}).await;
        assert_eq!(begun.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn dropped_it_ends_its_task() {
        let (held, mut gone) = tokio::sync::oneshot::channel::<()>();
        let held = std::sync::Mutex::new(Some(held));
        let begin = || {
            let held = held.lock().unwrap().take();
            async move {
                let _held = held;
                std::future::pending::<()>().await;
            }
        };
        {
            let running = run_again(CancellationToken::new(), begin, |_| {});
            tokio::select! {
                () = running => panic!("it waits for ever"),
                () = tokio::task::yield_now() => {}
            }
        }
        assert!((&mut gone).await.is_err());
    }
}
