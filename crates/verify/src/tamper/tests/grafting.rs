//! New tests on old code.

use super::*;

const OLD: &str = "fn f() -> i32 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 1); }\n}\n";
const NEW: &str = "fn f() -> i32 { 2 }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn a() { assert_eq!(f(), 2); }\n}\n";

fn grafted(old: &str, new: &str) -> Option<String> {
    let mixed = graft("src/lib.rs", old.as_bytes(), new.as_bytes()).expect("it can be read");
    mixed.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn the_old_code_gets_the_new_tests() {
    let both = grafted(OLD, NEW).unwrap();
    assert!(both.contains("fn f() -> i32 { 1 }") && both.contains("assert_eq!(f(), 2)"), "{both}");
    assert_eq!(both.matches("mod tests").count(), 1, "{both}");
    assert_eq!(both.matches("#[cfg(test)]").count(), 1, "{both}");
    assert_eq!(grafted(OLD, OLD), None, "the same tests");
}

#[test]
fn a_private_module_of_tests_that_a_feature_enables_too_is_tests_and_other_code_there_is_code() {
    let as_module = |text: &str, module: &str| text.replace("#[cfg(test)]\nmod tests", module);
    let slow = "#[cfg(any(test, feature = \"slow\"))]\nmod tests";
    for slow in [slow, "#[cfg(any(feature = \"slow\", test))]\nmod tests"] {
        let both = grafted(&as_module(OLD, slow), &as_module(NEW, slow)).unwrap();
        assert!(both.contains("fn f() -> i32 { 1 }") && both.contains("assert_eq!(f(), 2)"), "{both}");
        assert!(!both.contains("super::f()"), "{both}");
    }
    // A fix of such code must stay when the base's tests run on it.
    for module in ["mod io", "pub mod tests", "pub(crate) mod test"] {
        let own = slow.replace("mod tests", module);
        assert_eq!(grafted(&as_module(OLD, &own), &as_module(NEW, &own)), None, "{own}");
    }
    let item = |value: u8| format!("#[cfg(any(test, feature = \"std\"))]\nfn tests() -> u8 {{ {value} }}\n");
    assert_eq!(grafted(&item(1), &item(2)), None);
}

#[test]
fn code_without_tests_gets_its_first() {
    let both = grafted("\n\nfn f() -> i32 { 1 }", NEW).unwrap();
    assert!(both.starts_with("\n\nfn f() -> i32 { 1 }\n") && both.contains("assert_eq!(f(), 2)"), "{both}");
    assert_eq!(grafted(NEW, "fn f() -> i32 { 2 }\n").unwrap().trim(), "fn f() -> i32 { 2 }", "its tests go");
    assert_eq!(graft("src/a.py", b"x = 1", b"x = 2"), Ok(None));
}
