//! Wrong usage is reported before anything runs.

use super::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn wrong_usage_ends_with_2_and_names_what_to_change() {
    let bench = Bench::new();
    let case = |suite: &str, without: &str| {
        for (name, text) in [
            ("issue.md", "# It is wrong\n"),
            ("case.yaml", "test: \"true\"\n"),
            ("repository/file", "text\n"),
        ] {
            if name != without {
                bench.write(&format!("{suite}/cases/one/{name}"), text);
            }
        }
    };
    case("sound", "");
    case("no-issue", "issue.md");
    case("no-case", "case.yaml");
    case("no-repository", "repository/file");
    case("odd-case", "case.yaml");
    bench.write("odd-case/cases/one/case.yaml", "test: \"true\"\ntime: 3\n");
    case("odd-suite", "");
    bench.write("odd-suite/suite.yaml", "title: no\n");
    bench.write("empty/cases/.gitkeep", "");
    bench.write("pipe.yaml", "name: x\nversion: 1\nstages: []\n");
    bench.write("kept/something", "");

    let cases: &[(&[&str], &str)] = &[
        (&[], "--suite"),
        (&["--suite", "sound", "--simulate", "35"], "cannot be used with"),
        (&["--simulate", "35,200"], "percentages of 0 to 100"),
        (&["--simulate", "35", "--cases", "0"], "--cases"),
        (&["--simulate", "35", "--agent", "claude"], "cannot be used with"),
        (&["--suite", "sound", "--guidance"], "cannot be used with"),
        (&["--suite", "sound", "--cases", "3"], "cannot be used with"),
        (&["--suite", "nowhere"], "a suite has a folder `cases`"),
        (&["--suite", "empty"], "there are no cases"),
        (&["--suite", "no-issue"], "no-issue/cases/one/issue.md"),
        (&["--suite", "no-case"], "no-case/cases/one/case.yaml"),
        (&["--suite", "no-repository"], "no-repository/cases/one/repository"),
        (&["--suite", "odd-case"], "time"),
        (&["--suite", "odd-suite"], "odd-suite/suite.yaml"),
        (&["--suite", "sound", "--agent", "bob"], "known are claude, "),
        (&["--suite", "sound", "--pipeline", "tube"], "issue-to-pr"),
        (&["--suite", "sound", "--pipeline", "pipe.yaml"], "pipe.yaml: line 3: a pipeline has 1 to"),
        (&["--suite", "sound", "--json", "nowhere/r.json"], "--json nowhere/r.json"),
        (&["--suite", "sound", "--keep", "kept"], "--keep kept"),
    ];
    for (arguments, says) in cases {
        let ended = bench.eval(arguments).await;
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.said);
        assert!(ended.said.contains(says), "{arguments:?} does not say {says:?}: {}", ended.said);
        assert!(!ended.said.contains("panicked"), "{}", ended.said);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_help_shows_what_people_need_and_hides_the_simulated_agent() {
    let help = Bench::new().eval(&["--help"]).await;
    assert_eq!(help.code, Some(0));
    for word in ["--suite", "--simulate", "--guidance", "--html", "--json", "2 wrong usage", "evals/small"] {
        assert!(help.printed.contains(word), "{word:?} is not in {}", help.printed);
    }
    assert!(!help.printed.contains("simulated-agent"), "{}", help.printed);
}
