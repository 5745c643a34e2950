//! A server that dies, again and again: guards that nobody drops.

use super::crash_record::{ALONE, BESIDE_OTHERS, LATE};
use super::*;
use journeyman_order::RepositoryId;

fn order(number: u128) -> OrderId {
    OrderId(uuid::Uuid::from_u128(number))
}

fn effect(of: u128) -> CrashSuspect {
    CrashSuspect::Effect(order(of), MoveKey("implement/1/tests".to_owned()))
}

fn started(folder: &Path) -> Quarantine {
    Quarantine::open(folder.join("under-way"))
}

fn granted(admission: Admission) -> CrashGuard {
    match admission {
        Admission::Granted(guard) => guard,
        Admission::NotYet | Admission::Refused(_) => panic!("{admission:?}"),
    }
}

/// The server dies: nobody takes anything away.
fn dies(guards: impl IntoIterator<Item = CrashGuard>) {
    guards.into_iter().for_each(std::mem::forget);
}

/// The server that is started next has lived for a while without what is given up.
async fn lived(folder: &Path) -> Quarantine {
    let server = started(folder);
    assert!(server.is_on() && !server.lets_drive(order(1)) && !server.lift_unless(std::iter::empty()));
    assert!(matches!(server.begin(&effect(1)), Admission::NotYet));
    tokio::time::advance(COUNTER_TEST).await;
    server
}

#[tokio::test(start_paused = true)]
async fn what_kills_the_server_again_and_again_is_given_up_and_what_was_beside_it_is_not() {
    let place = tempfile::tempdir().expect("a folder");
    let [guilty, innocent, third] = [1, 2, 3].map(effect);
    for _ in 0..BESIDE_OTHERS {
        let server = started(place.path());
        assert!(!server.is_on());
        dies([&guilty, &innocent].map(|of| granted(server.begin(of))));
    }

    for _ in 0..ALONE {
        let server = started(place.path());
        assert!(server.is_on() && server.lets_drive(order(1)) && !server.lets_drive(order(3)));
        assert!(matches!(server.begin(&third), Admission::NotYet));
        let alone = granted(server.begin(&guilty));
        assert!(matches!(server.begin(&innocent), Admission::NotYet));
        assert!(!server.lets_drive(order(2)));
        dies([alone]);
    }

    let server = lived(place.path()).await;
    let Admission::Refused(record) = server.begin(&guilty) else { panic!("it may begin") };
    assert_eq!(
        record.to_string(),
        "the server died 5 times while this was under way, 3 times with nothing beside it"
    );
    assert!(server.is_on(), "the other one has not been tried");
    granted(server.begin(&innocent)).ended();
    assert!(!server.is_on());
    granted(server.begin(&third)).ended();
    assert!(matches!(server.begin(&guilty), Admission::Refused(_)), "until that is written down");
    server.settled(&guilty);
    // A person asked for it once more.
    granted(server.begin(&guilty)).ended();
    assert_eq!(std::fs::read_dir(place.path().join("under-way")).expect("a folder").count(), 0);
}

#[tokio::test]
async fn a_server_that_ends_in_order_leaves_nothing_and_forgives_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let suspect = effect(1);
    drop(granted(started(place.path()).begin(&suspect)));
    assert_eq!(std::fs::read_dir(place.path().join("under-way")).expect("a folder").count(), 0);
    for _ in 0..BESIDE_OTHERS {
        dies([granted(started(place.path()).begin(&suspect))]);
        drop(granted(started(place.path()).begin(&suspect)));
    }
    let server = started(place.path());
    assert!(server.is_on(), "it was stopped in between, and had not ended");
    server.rested(order(1), true);
    assert!(!server.is_on() && !started(place.path()).is_on(), "an order that has ended is forgotten");
}

#[tokio::test(start_paused = true)]
async fn others_wait_ten_minutes_at_most_and_what_takes_longer_has_company_from_then_on() {
    let place = tempfile::tempdir().expect("a folder");
    let [slow, other] = [1, 2].map(effect);
    for _ in 0..BESIDE_OTHERS {
        dies([granted(started(place.path()).begin(&slow))]);
    }
    for _ in 0..LATE {
        let server = started(place.path());
        let mut changes = server.changes();
        let alone = granted(server.begin(&slow));
        tokio::time::advance(LONGEST).await;
        assert!(!server.is_on());
        assert!(changes.has_changed().expect("it is there"), "{:?}", changes.borrow_and_update());
        let beside = granted(server.begin(&other));
        beside.ended();
        dies([alone]);
    }
    let Admission::Refused(record) = lived(place.path()).await.begin(&slow) else { panic!("it may begin") };
    assert_eq!(
        record.to_string(),
        "the server died 22 times while this was under way, 0 times with nothing beside it"
    );
}

#[tokio::test(start_paused = true)]
async fn what_takes_long_comes_after_what_kills_at_once() {
    let place = tempfile::tempdir().expect("a folder");
    let [slow, guilty] = [1, 2].map(effect);
    for _ in 0..BESIDE_OTHERS {
        let server = started(place.path());
        dies([&slow, &guilty].map(|of| granted(server.begin(of))));
    }
    let server = started(place.path());
    let alone = granted(server.begin(&slow));
    tokio::time::advance(LONGEST).await;
    dies([alone, granted(server.begin(&guilty))]);

    for _ in 0..ALONE {
        let server = started(place.path());
        assert!(!server.lets_drive(order(1)) && matches!(server.begin(&slow), Admission::NotYet));
        dies([granted(server.begin(&guilty))]);
    }
    let server = lived(place.path()).await;
    assert!(matches!(server.begin(&guilty), Admission::Refused(_)));
    granted(server.begin(&slow)).ended();
}

#[tokio::test(start_paused = true)]
async fn where_the_server_dies_with_nothing_under_way_nothing_is_given_up() {
    let place = tempfile::tempdir().expect("a folder");
    let innocent = effect(1);
    for _ in 0..BESIDE_OTHERS + ALONE {
        dies([granted(started(place.path()).begin(&innocent))]);
    }
    // It dies of something else, once more.
    let _never_dropped = std::mem::ManuallyDrop::new(started(place.path()));
    dies([granted(started(place.path()).begin(&innocent))]);
    let server = started(place.path());
    granted(server.begin(&innocent)).ended();
    assert!(!server.is_on());
}

#[tokio::test]
async fn a_machine_that_ends_is_nobody_s_fault() {
    let place = tempfile::tempdir().expect("a folder");
    let suspect = effect(1);
    for _ in 0..ALONE + BESIDE_OTHERS {
        let server = started(place.path());
        assert!(!server.is_on());
        dies([granted(server.begin(&suspect))]);
        let path = suspect.file(&place.path().join("under-way"));
        let mut record = CrashRecord::read(&path).expect("a record");
        record.boot = "the machine's start before".to_owned();
        record.write(&place.path().join("under-way")).expect("it is written");
    }
}

#[tokio::test]
async fn nobody_waits_for_a_delivery_that_is_concluded_already() {
    let place = tempfile::tempdir().expect("a folder");
    let delivery = CrashSuspect::Delivery("concluded".parse().expect("a GUID"));
    for _ in 0..BESIDE_OTHERS {
        let server = started(place.path());
        dies([CrashSuspect::Intake, delivery.clone()].map(|of| granted(server.begin(&of))));
    }
    let server = started(place.path());
    granted(server.begin(&CrashSuspect::Intake)).ended();
    assert!(server.is_on());
    server.taken_in();
    assert!(!server.is_on() && !started(place.path()).is_on());
}

#[tokio::test]
async fn what_is_not_wanted_any_more_is_not_waited_for() {
    let place = tempfile::tempdir().expect("a folder");
    let suspect = effect(1);
    for _ in 0..BESIDE_OTHERS {
        dies([granted(started(place.path()).begin(&suspect))]);
    }
    let server = started(place.path());
    granted(server.begin(&CrashSuspect::Journal(order(1)))).ended();
    assert!(server.is_on() && !server.lift_unless(std::iter::once(order(1))));
    server.keep_only(order(1), std::iter::empty());
    assert!(!server.is_on());
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_kills_the_server_is_refused_and_not_those_before_it() {
    let place = tempfile::tempdir().expect("a folder");
    let delivery = |name: &str| CrashSuspect::Delivery(name.parse().expect("a GUID"));
    for _ in 0..BESIDE_OTHERS {
        let server = started(place.path());
        assert!(!server.is_suspected(&CrashSuspect::Intake));
        dies([granted(server.begin(&CrashSuspect::Intake))]);
    }
    for _ in 0..ALONE {
        let server = started(place.path());
        assert!(server.is_suspected(&CrashSuspect::Intake) && !server.lift_unless(std::iter::empty()));
        let intake = granted(server.begin(&CrashSuspect::Intake));
        assert!(matches!(server.begin(&effect(1)), Admission::NotYet));
        granted(server.begin(&delivery("harmless"))).ended();
        dies([intake, granted(server.begin(&delivery("poison")))]);
    }

    let server = lived(place.path()).await;
    let intake = granted(server.begin(&CrashSuspect::Intake));
    granted(server.begin(&delivery("harmless"))).ended();
    assert!(matches!(server.begin(&delivery("poison")), Admission::Refused(_)));
    server.settled(&delivery("poison"));
    intake.ended();
    assert!(!server.is_on() && !server.is_suspected(&CrashSuspect::Intake));
}

#[test]
fn what_is_no_record_is_taken_away() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("under-way");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("torn"), "{\"of\":").expect("a file");
    Quarantine::open(folder.clone());
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
}

#[tokio::test]
async fn a_page_is_waited_for_by_nobody_and_left_out_after_three_deaths() {
    let place = tempfile::tempdir().expect("a folder");
    let (page, beside) = (CrashSuspect::page("/orders/1"), effect(1));
    for death in 0..=BESIDE_OTHERS {
        let server = started(place.path());
        if death == BESIDE_OTHERS {
            assert!(
                matches!(server.begin(&page), Admission::NotYet),
                "what it was beside is tried without it"
            );
            granted(server.begin(&beside)).ended();
        }
        assert!(!server.is_on());
        let begun = [granted(server.begin(&page)), granted(server.begin(&page))];
        if death < BESIDE_OTHERS {
            dies([granted(server.begin(&beside))]);
        }
        let [one, other] = begun;
        one.ended();
        dies([other]);
    }
    let server = started(place.path());
    assert!(!server.is_on(), "nobody waits for it");
    assert!(matches!(server.begin(&page), Admission::Refused(_)));
    let together = [1, 2].map(|number| CrashSuspect::page(&format!("/orders/{number}/runs")));
    for _ in 0..BESIDE_OTHERS {
        let server = started(place.path());
        dies(together.each_ref().map(|of| granted(server.begin(of))));
    }
    let server = started(place.path());
    let [one, other] = &together;
    let shown = granted(server.begin(one));
    assert!(matches!(server.begin(other), Admission::NotYet), "one of them after the other");
    shown.ended();
    granted(server.begin(other)).ended();
    granted(server.begin(&CrashSuspect::page("/orders/2"))).ended();
    let a_day_ago = std::time::SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    let record = page.file(&place.path().join("under-way"));
    std::fs::File::options()
        .append(true)
        .open(record)
        .and_then(|file| file.set_modified(a_day_ago))
        .expect("set");
    granted(server.begin(&page)).ended();
}

#[tokio::test]
async fn what_is_gone_through_is_not_waited_for_where_it_did_not_come_to_what_was_cut_off() {
    let place = tempfile::tempdir().expect("a folder");
    let (missed, trace) = (CrashSuspect::MissedEvents(RepositoryId(1)), CrashSuspect::Trace(order(1)));
    for _ in 0..BESIDE_OTHERS {
        let server = started(place.path());
        dies([&missed, &trace].map(|of| granted(server.begin(of))));
    }
    let server = started(place.path());
    granted(server.begin(&CrashSuspect::RepositoryList(None))).ended();
    granted(server.begin(&CrashSuspect::MissedEvents(RepositoryId(2)))).ended();
    // The look comes after the comparison.
    let before = granted(server.begin(&CrashSuspect::DeliveryList));
    assert!(matches!(server.begin(&missed), Admission::NotYet), "it is to be alone");
    before.ended();
    granted(server.begin(&missed)).ended();
    server.passed(BackgroundPass::MissedEvents);
    assert!(server.is_on());
    server.passed(BackgroundPass::Traces);
    assert!(!server.is_on());
    granted(server.begin(&CrashSuspect::DeliveryList)).ended();
}
