//! What real runs of PHPUnit printed and reported.

use super::read;
use super::tests::{agreed, fixture, output, shown};
use journeyman_order::TestCounts;

#[test]
fn phpunit_names_every_test_and_a_risky_one_passes() {
    let (counts, names) = agreed("phpunit-9-fail.txt", "phpunit-9.xml");
    assert_eq!(counts, TestCounts { passed: 9, failed: 5, skipped: 3 });
    for name in [
        "+ App.Tests.CalcTest.testParam with data set #0",
        "- App.Tests.CalcTest.testParam with data set \"named \"row\"\"",
        "+ App.Tests.CalcTest.testRisky",
        "/ App.Tests.CalcTest.testIncomplete",
        "- App.Tests.CalcTest.testNotice",
        "+ SetupTest.testOne",
    ] {
        assert!(names.iter().any(|shown| shown == name), "{name}");
    }
    let (counts, names) = agreed("phpunit-11-fail.txt", "phpunit-11.xml");
    assert_eq!(counts, TestCounts { passed: 11, failed: 3, skipped: 3 });
    for name in [
        "+ App.Tests.CalcTest.testRisky",
        "+ App.Tests.CalcTest.testNotice",
        "/ App.Tests.CalcTest.testDepends",
    ] {
        assert!(names.iter().any(|shown| shown == name), "{name}");
    }
    // This run ended with 0. A class without tests is a warning, which goes once it has some.
    let risky = read(&output("phpunit-9-risky.txt"), Some(&fixture("phpunit-9-risky.xml")));
    let expected = ["+ RiskyTest.testMock", "+ RiskyTest.testObj", "+ RiskyTest.testRisky", "/ Warning"];
    assert_eq!(shown(&risky), expected);
    assert_eq!(risky.counts.map(|counts| counts.failed), Some(0));
}

#[test]
fn pest_names_every_test_by_its_title() {
    let (counts, names) = agreed("pest-2-fail.txt", "pest-2.xml");
    assert_eq!(counts, TestCounts { passed: 9, failed: 2, skipped: 2 }, "a test with a warning passes");
    for name in [
        "+ Tests.Unit.ClassicTest.Adds two",
        "- Tests.Unit.ExampleTest.is wrong 1.5",
        "+ Tests.Unit.ExampleTest.it takes with data set \"(1)\"",
        "/ Tests.Unit.ExampleTest.it later",
        "+ Tests.Unit.ExampleTest.`group` → it is inside",
    ] {
        assert!(names.iter().any(|shown| shown == name), "{name}: {names:?}");
    }
    let failing = ["Tests\\Unit\\ExampleTest > is wrong 1.5", "Tests\\Unit\\ExampleTest > it takes with (2)"];
    assert_eq!(read(&output("pest-2-fail.txt"), None).failing, failing);
}

#[test]
fn a_file_that_php_cannot_load_is_named() {
    for name in ["phpunit-9-unloaded.txt", "phpunit-11-unloaded.txt"] {
        let reading = read(&output(name), None);
        assert_eq!((reading.unloaded, reading.counts), (vec!["BrokenTest.php".to_owned()], None), "{name}");
    }
    let died = "E\nPHP Fatal error:  Uncaught Error: Class \"A\" not found in /project/tests/ATest.php:3\n";
    assert!(read(died, None).unloaded.is_empty(), "a test ran");
}
