//! What does not end is said in the log by its name: whoever looks sees what is waited for.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use journeyman_order::Move;

/// How long an effect may take before it is remarkable. What runs agents, tests and setups has limits of its own.
pub(super) fn remarkable_after(r#move: &Move) -> Duration {
    let is_long = matches!(
        r#move,
        Move::RunAgent(_) | Move::RunTests { .. } | Move::Prepare | Move::PrepareEnvironment
    );
    Duration::from_secs(if is_long { 900 } else { 30 })
}

/// Waits for an effect, and says so: after this time, after twice as long, and so on.
pub(super) async fn told_when_slow<T>(
    (order, key): (impl Display, impl Display),
    after: Duration,
    effect: impl Future<Output = T>,
) -> T {
    tokio::pin!(effect);
    let begun = Instant::now();
    let mut pause = after;
    loop {
        match timeout(pause, &mut effect).await {
            Ok(done) => return done,
            Err(_) => {
                let seconds = begun.elapsed().as_secs();
                tracing::warn!(%order, %key, seconds, "has not ended yet");
                pause = begun.elapsed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use tracing::instrument::WithSubscriber as _;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_effect_that_does_not_end_is_named_after_half_a_minute_and_again_less_and_less_often() {
        let log = Log::default();
        let written = log.clone();
        let to_log = tracing_subscriber::fmt()
            .with_writer(move || written.clone())
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .finish();
        async {
            let after = Duration::from_secs(30);
            let quick = tokio::time::sleep(Duration::from_secs(29));
            told_when_slow(("order", "publish/1/pull"), after, quick).await;
            let slow = tokio::time::sleep(Duration::from_secs(130));
            told_when_slow(("order", "implement/1/import"), after, slow).await;
        }
        .with_subscriber(to_log)
        .await;
        let said = String::from_utf8(log.0.lock().expect("nobody panics").clone()).expect("UTF-8");
        let named =
            |seconds| format!(" WARN has not ended yet order=order key=implement/1/import seconds={seconds}");
        assert_eq!(said.lines().collect::<Vec<_>>(), [named(30), named(60), named(120)]);
    }
}
