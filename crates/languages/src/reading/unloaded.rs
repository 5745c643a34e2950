//! Detects what could not be compiled or loaded, so that none of its tests ran.
//!
//! A test may print the same words. They can only revoke a pass: callers check the exit as well.

/// Crates, packages and files, by the names in compilers' and runners' output.
pub(super) fn read(lines: &[&str]) -> Vec<String> {
    let named = [
        pattern!(r"^error: could not compile `([^`]+)`"),
        pattern!(r"^_+ ERROR collecting (\S.*) _+$"),
        pattern!(r"^ERROR: \S+ \((unittest\.loader\._FailedTest[^)]*)\)"),
        pattern!(r"^FAIL\t(\S+) \[(?:build|setup) failed\]$"),
        // Vitest prints the name twice if a file did not load: `a.test.ts [ a.test.ts ]`.
        pattern!(r"^ FAIL +(?:\|[^|]+\| )?(\S+) \[ \S+ \]$"),
        pattern!(r"^(\S[^(]*\.[cm]?tsx?)\(\d+,\d+\): error TS\d+: "),
        pattern!(r"^(\S[^:]*\.[cm]?tsx?):\d+:\d+ - error TS\d+: "),
        pattern!(r"^\S*?\b(src/\S+?\.java):\d+: error: "),
        pattern!(r"^e: \S*?\b(src/\S+?\.kts?):\d+:\d+"),
        pattern!(r"^An error occurred while loading (?:\./)?(\S+?)\.$"),
    ];
    // Style checkers name lines of files in the same way as Maven's compiler.
    let of_maven = pattern!(r"^\[ERROR\] \S*?\b(src/\S+?\.java):\[\d+,\d+\] ");
    let maven_failed = lines.iter().any(|line| line.trim_end() == "[ERROR] COMPILATION ERROR :");
    // PHP says the same of a file that a test loads.
    let php_file =
        pattern!(r"^(?:(?:PHP )?Fatal error: +Uncaught .* in |Location: )/(?:\S+/)?(\S+\.php):\d+$");
    let php_found_none = lines.iter().any(|line| line.contains(r"PHPUnit\Framework\TestSuite->addTestFile"));
    let jest_file = pattern!(r"^FAIL (\S+)");
    let mut jest = None;
    let mut unloaded = Vec::new();
    for line in lines {
        let found = named.iter().find_map(|pattern| pattern.captures(line)?.get(1));
        if let Some(name) = found {
            // Names from unittest and jest follow below; the others are complete.
            let name = name.as_str();
            let is_class_only = name == "unittest.loader._FailedTest";
            let test = line.strip_prefix("ERROR: ").and_then(|rest| rest.split(' ').next());
            unloaded.push(match test.filter(|_| is_class_only) {
                Some(test) => format!("{name}.{test}"),
                None => name.to_owned(),
            });
        } else if maven_failed && let Some(file) = of_maven.captures(line).and_then(|found| found.get(1)) {
            unloaded.push(file.as_str().to_owned());
        } else if php_found_none && let Some(file) = php_file.captures(line).and_then(|found| found.get(1)) {
            unloaded.push(file.as_str().to_owned());
        } else if let Some(file) = jest_file.captures(line).and_then(|found| found.get(1)) {
            jest = Some(file.as_str());
        } else if *line == "  ● Test suite failed to run" {
            unloaded.extend(jest.map(str::to_owned));
        }
    }
    unloaded.extend(crate::counts::native::bun_unloaded(lines));
    unloaded
}
