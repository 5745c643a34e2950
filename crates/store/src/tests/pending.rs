//! Pending deliveries: how many are in memory at once.

use super::*;

async fn keep(store: &Store, name: &str, body: Vec<u8>) {
    let new = store.save_delivery(NewDelivery { body, ..delivery(name) }).await.unwrap();
    assert_eq!(new, DeliverySaveOutcome::New);
}

/// The body lengths of each page, from first to last.
async fn pages(store: &Store, limit: u32, most: (usize, usize)) -> Vec<Vec<usize>> {
    let (mut pages, mut after) = (Vec::new(), 0);
    loop {
        let page = store.pending_within(after, limit, most).await.unwrap();
        after = page.deliveries.last().map_or(after, |last| last.id);
        pages.push(page.deliveries.iter().map(|one| one.body.len()).collect());
        if page.is_last {
            return pages;
        }
    }
}

#[tokio::test]
async fn deliveries_that_wait_are_read_by_their_bytes_and_at_least_one() {
    for TestStore { store, .. } in homes().await {
        let (same, of_the_disk) = ((1_000, 1_000), (900, usize::MAX));
        assert_eq!(pages(&store, 10, same).await, [[0_usize; 0]; 1]);
        // The first three are stored uncompressed; each of the others takes some dozen bytes.
        for (name, body) in [
            ("a", noise(5_000)),
            ("b", noise(400)),
            ("c", noise(500)),
            ("d", vec![b' '; 900]),
            ("e", vec![b' '; 9_000]),
            ("f", vec![b' '; 10]),
            ("g", Vec::new()),
        ] {
            keep(&store, name, body).await;
        }
        let whole: [&[usize]; 5] = [&[5_000], &[400, 500], &[900], &[9_000], &[10, 0]];
        assert_eq!(pages(&store, 10, same).await, whole);
        let read: [&[usize]; 3] = [&[5_000], &[400, 500], &[900, 9_000, 10, 0]];
        assert_eq!(pages(&store, 10, of_the_disk).await, read);
        assert_eq!(pages(&store, 1, same).await.len(), 8, "after a page that was full is another look");
        assert_eq!(pages(&store, 10, (20_000, 20_000)).await.len(), 1);
    }
}

#[tokio::test]
async fn bodies_that_were_packed_well_are_not_all_unpacked_at_once() {
    for TestStore { store, .. } in homes().await {
        for name in ["a", "b", "c"] {
            keep(&store, name, vec![b' '; 20 << 20]).await;
        }
        assert_eq!(store.pending_deliveries(0, 200).await.unwrap().len(), 1);
        let page = store.pending_page(0, 200).await.unwrap();
        assert_eq!((page.deliveries.len(), page.is_last), (1, false));
    }
}
