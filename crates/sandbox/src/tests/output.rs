//! Unlimited output, and its cost for us.

use super::*;

/// This process's peak and present memory, in KiB.
fn memory() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let number = |word: &str| {
        let line = status.lines().find(|line| line.starts_with(word)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (number("VmHWM:"), number("VmRSS:"))
}

/// Counts bytes and keeps nothing.
#[derive(Default)]
struct CountingSink(u64);

impl Sink for CountingSink {
    fn stdout(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

const BYTES: &str = "JOURNEYMAN_TEST_OUTPUT_BYTES";

/// A gigabyte in one line; `JOURNEYMAN_TEST_OUTPUT_BYTES` changes the size.
#[tokio::test]
async fn output_without_end_and_lines_without_end_take_no_memory_of_ours() {
    if !is_again() {
        // In its own process, because other tests use memory too.
        let said =
            again("output::output_without_end_and_lines_without_end_take_no_memory_of_ours", false, &[]);
        said.lines().filter(|line| line.contains("memory grew by")).for_each(|line| println!("{line}"));
        return;
    }
    let bytes: u64 = std::env::var(BYTES).map_or(1 << 30, |bytes| bytes.parse().unwrap());
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let (_, before) = memory();
        let begun = Instant::now();
        let mut job = place.job(&["sh", "-c", &format!("head -c {bytes} /dev/zero | tr '\\0' x")]);
        job.most_output = u64::MAX;
        job.timeout = Duration::from_secs(600);
        let mut counted = CountingSink::default();
        let ended = place.sandbox.run(job, &mut counted).await.unwrap();
        assert_eq!((ended.exit, counted.0), (Exit::Code(0), bytes));
        let (most, _) = memory();
        let grown = most.saturating_sub(before);
        println!("{mode}: {bytes} bytes in {:?}: memory grew by {grown} KiB", begun.elapsed());
        assert!(grown < 64 * 1_024, "memory grew by {grown} KiB");
    }
}
