//! The orders that are killed.

use std::collections::BTreeMap;

use super::world::{Agent, World};
use crate::world::judges::diagnoses;
use crate::world::setting::PLAN;
use crate::world::team;

/// Which world a story is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Tested in no time; with a round of tests and a round of review that are lost.
    Median,
    Demo,
    /// Three attempts are wrong, and the tech lead guides the fourth.
    Stuck,
    /// Two stages side by side, and whole files as an artifact.
    Team,
}

const TITLE: &str = "Answer with 42";
const BODY: &str = "It should be 42.";

/// Says what it found in words that differ from answer to answer.
const TESTS: &str = "\
echo 1..1
found=$(cat answer)
if [ \"$found\" = 42 ]; then echo 'ok 1 - right'; else echo 'not ok 1 - right'; echo \"# $found\"; exit 1; fi
";

impl Sample {
    pub async fn world(self) -> World {
        match self {
            Self::Median => World::new(Agent::Quick).await,
            Self::Demo => World::demo().await,
            Self::Stuck => {
                let files = files(&[
                    ("answer", "some\n"),
                    ("test.sh", TESTS),
                    (".github/journeyman.yml", "test: sh test.sh\nprove: bugs\nexamine: never\n"),
                ]);
                World::of(files, TITLE, BODY, &stuck()).await
            }
            Self::Team => {
                let files = files(&[
                    ("answer.sh", "echo 41\n"),
                    ("test.sh", team::TESTS),
                    (
                        ".github/journeyman.yml",
                        "test: sh test.sh\nprove: bugs\nexamine: never\npipeline: software-team\n",
                    ),
                ]);
                World::of(files, TITLE, BODY, &together()).await
            }
        }
    }

    /// Whether a second agent may be at work whenever one is.
    pub fn is_side_by_side(self) -> bool {
        match self {
            Self::Team => true,
            Self::Median | Self::Demo | Self::Stuck => false,
        }
    }
}

fn files(list: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    list.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn stuck() -> String {
    let attempt = |(round, word): (u32, &str)| {
        format!(
            "
- stage: implement
  role: developer
  round: {round}
  usd: 0.05
  run: |
    echo {word} > answer
    git commit -q -a -m 'Give the answer {word}' && git push -q origin HEAD
  say: It is {word}.
"
        )
    };
    let attempts: String =
        [(1, "many"), (2, "lots"), (3, "plenty"), (4, "42")].into_iter().map(attempt).collect();
    attempts + &diagnoses("implement", "guide", "It answers in words.", "Write digits.") + PLAN
}

fn together() -> String {
    let artifact = team::artifact("echo 42 # the answer", &["US-002"]);
    let review = crate::world::judges::finds("tech_lead", "tech_lead", None, &[]);
    team::analysts() + &team::engineer(&[artifact]) + &review + PLAN
}
