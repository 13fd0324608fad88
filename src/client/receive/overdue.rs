//! Notices that something takes long. Nothing here knows what that is.

use std::future::Future;
use std::time::Duration;

/// Awaits `work`; calls `notice` once if that takes longer than `limit`.
pub(super) async fn noticed<T>(limit: Duration, work: impl Future<Output = T>, notice: impl FnOnce()) -> T {
    tokio::pin!(work);
    match tokio::time::timeout(limit, &mut work).await {
        Ok(done) => done,
        Err(_elapsed) => {
            notice();
            work.await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn notices_after(span: Duration) -> u32 {
        let mut notices = 0;
        let limit = Duration::from_secs(30);
        assert_eq!(
            noticed(
                limit,
                async {
                    tokio::time::sleep(span).await;
                    7
                },
                || notices += 1
            )
            .await,
            7
        );
        notices
    }

    #[tokio::test(start_paused = true)]
    async fn c039_what_takes_longer_than_its_limit_is_noticed_once() {
        assert_eq!(notices_after(Duration::from_secs(29)).await, 0);
        assert_eq!(notices_after(Duration::from_secs(31)).await, 1);
        assert_eq!(notices_after(Duration::from_secs(3600)).await, 1);
    }
}
