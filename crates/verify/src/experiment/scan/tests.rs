//! Stories of what is code, and what is text.

use super::*;

/// The code of a text, with a dot for every other byte.
fn code(path: &str, text: &str) -> String {
    let scan = SourceScan::of(text, SourceLanguage::of(path, text).unwrap());
    let of = |(at, byte): (usize, u8)| if scan.is_code(at) || byte == b'\n' { char::from(byte) } else { '.' };
    text.bytes().enumerate().map(of).collect()
}

#[test]
fn texts_of_every_language_are_told_from_code() {
    for (path, text, expected) in [
        ("a.py", "a = f'{b['c']} d' # it's\n", "a = ............. ......\n"),
        ("a.py", "a = r'\\'' + '''b\n'c''' + d\n", "a = ..... + ....\n..... + d\n"),
        (
            "a.rs",
            "a('x', \"it's\"); fn b<'a>() {} r#\"\"c\"# /* /* */ ' */ d\n",
            "a(..., ......); fn b<'a>() {} ....... ............. d\n",
        ),
        (
            "a.js",
            "a = /it's [/]/ + `b${c('}')}'` / 2; d('e')\n",
            "a = .......... + ............. / 2; d(...)\n",
        ),
        ("a.go", "a := `it's` + \"b\" + '\\''\n", "a := ...... + ... + ....\n"),
        (
            "a.cpp",
            "#define A \"it's\\\n b\na(R\"(it's \")\", 1'000, 'c');\n",
            "................\n..\na(R.........., 1'000, ...);\n",
        ),
        ("A.java", "a(\"\"\"\n  it's \"b\"\n  \"\"\", 'c');\n", "a(...\n..........\n....., ...);\n"),
        ("A.kt", "fun `it's`() = a(\"${b(\"c\")} d\")\n", "fun ......() = a(.............)\n"),
        (
            "A.cs",
            "#region it's\na($@\"b\"\"{c(\"d\")}\", @\"\\\");\n",
            "............\na(..............., ....);\n",
        ),
        (
            "A.php",
            "it's <?php a('b\\'', \"{$c['d']}\"); // it's\n?> it's <?= e ?>\n",
            ".......... a(....., ...........); .......\n..........= e ..\n",
        ),
        (
            "a.rb",
            "a %w[it's b], ?', :\"c d\", /it's/ # it's\nb = 7 % 3 / 2\n",
            "a .........., ?', :....., ...... ......\nb = 7 % 3 / 2\n",
        ),
        (
            "a.rb",
            "a(<<~B, 1)\n  it's\n  B\nc\n__END__\nit's\n",
            "a(...., 1)\n......\n...\nc\n.......\n....\n",
        ),
        (
            "a.t",
            "my $a = q(it's) . $b{s} =~ s/it's/b/; isn't(1); # it's\n=pod\n\nit's\n\n=cut\nc;\n",
            "my $a = ....... . $b{s} =~ .........; isn't(1); ......\n....\n\n....\n\n....\nc;\n",
        ),
        (
            "a.sh",
            "a \"$(b \"it's\" c)\" d\\'e 'f' # it's\ncat <<B\nit's\nB\ng\n",
            "a ............... d\\'e ... ......\ncat ...\n....\n.\ng\n",
        ),
        ("a_test.exs", "a ~r/it's/, \"#{b(\"c\")}\", ?' # it's\n", "a ........, ..........., ?' ......\n"),
        // What is too deep to be read is text up to the end.
        ("A.kt", "a(\"${{{{{{{{{{b}}}}}}}}}}\")\nc(1)\n", "a(.........................\n....\n"),
        ("a.t", "a{'s'}{'b'} = \"<<C\"; # it's\nd\n", "a{...}{...} = .....; ......\nd\n"),
        ("A.php", "", ""),
    ] {
        assert_eq!(code(path, text), expected, "{path}: {text}");
    }
}

#[test]
fn no_text_takes_long_to_read() {
    let endings = [
        "py", "rs", "js", "go", "cpp", "java", "kt", "cs", "swift", "php", "scala", "dart", "zig", "sh",
        "tcl", "rb", "t", "exs",
    ];
    for part in [
        "'", "\"", "`", "/", "(/[", "<<A ", "<<<A\n", "%w(", "q(", "${", "\"${", "f\"{", "#{\"", "/*", "@\"",
        "r#\"", "R\"(", "=begin", "\\\\", "é'",
    ] {
        let text = format!("<?php {}", part.repeat(10_000));
        for ending in endings {
            let path = format!("a.{ending}");
            let begun = std::time::Instant::now();
            let scan = SourceScan::of(&text, SourceLanguage::of(&path, &text).unwrap());
            assert!(scan.assertions().len() <= 10_000 && begun.elapsed().as_secs() < 5, "{part} in {path}");
        }
    }
}
