//! Comments of ours that newer ones have taken the place of: folded away, not deleted.

use serde::Deserialize;
use serde_json::json;

use crate::endpoints::InstalledRepository;
use crate::error::{ErrorKind, Result};
use crate::gate::WritePriority;
use crate::identity::Writer;
use crate::permissions::TokenPermissions;
use crate::service::GitHub;
use journeyman_order::{OrderId, PullNumber};

/// The most ids that GitHub takes in one question.
const AT_ONCE: usize = 100;

const LOOK: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { id isMinimized } } }";

const MINIMIZE: &str = "mutation($id: ID!) {
  minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } }
}";

/// A comment of ours on a pull request, of which there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundComment<'a> {
    /// For a round of review.
    Review {
        stage: &'a str,
        /// The round, from 1.
        round: u32,
    },
    /// For an answer to people.
    Answer(
        /// The which-th, from 1.
        u32,
    ),
}

impl RoundComment<'_> {
    /// The name in the comment's marker.
    pub(crate) fn name(self, order: OrderId) -> String {
        match self {
            // A stage's name may have two hyphens, and no full stop.
            Self::Review { stage, round } => format!("review:{order}:{}:{round}", stage.replace('-', ".")),
            Self::Answer(answer) => format!("answer:{order}:{answer}"),
        }
    }
}

#[derive(Deserialize)]
struct RoundCommentWire {
    node_id: String,
    body: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Deserialize)]
struct MinimizedQueryData {
    nodes: Vec<Option<MinimizableWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MinimizableWire {
    id: Option<String>,
    #[serde(default)]
    is_minimized: bool,
}

impl GitHub {
    /// Folds away what an order said of rounds of review and in answers on a pull request, but for these. What is
    /// folded already stays as it is, and what cannot be folded stays open: it is no more than untidy.
    ///
    /// # Errors
    /// Only such that the same may succeed later.
    pub async fn minimize_others(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        order: OrderId,
        keep: &[RoundComment<'_>],
    ) -> Result<()> {
        let route = at.route(&format!("/issues/{pull}/comments"));
        let comments: Vec<RoundCommentWire> = self.list(at, TokenPermissions::Converse, &route).await?;
        let kept: Vec<String> = keep.iter().map(|one| marker(&one.name(order))).collect();
        let ours = [format!("<!-- journeyman:review:{order}:"), format!("<!-- journeyman:answer:{order}:")];
        let is_old = |comment: &RoundCommentWire| {
            let body = comment.body.as_deref().unwrap_or_default().trim_start();
            ours.iter().any(|beginning| body.starts_with(beginning))
                && !kept.iter().any(|line| body.starts_with(line))
        };
        let mut old = Vec::new();
        for comment in comments.into_iter().filter(is_old) {
            if self.wrote(&comment.writer).await? {
                old.push(comment.node_id);
            }
        }
        for ids in old.chunks(AT_ONCE) {
            for id in self.not_minimized(at, ids).await? {
                self.minimize(at, &id).await?;
            }
        }
        Ok(())
    }

    async fn not_minimized(&self, at: &InstalledRepository, ids: &[String]) -> Result<Vec<String>> {
        let what = "tell which comments are folded away";
        let looked = self.query(at, TokenPermissions::Converse, what, LOOK, json!({"ids": ids})).await;
        match looked {
            Ok(MinimizedQueryData { nodes }) => {
                let open = nodes.into_iter().flatten().filter(|node| !node.is_minimized);
                Ok(open.filter_map(|node| node.id).collect())
            }
            // One of them was deleted meanwhile, and nothing is told of the others: folding twice is harmless.
            Err(error) if error.kind == ErrorKind::NotFound => Ok(ids.to_vec()),
            Err(error) => Err(error),
        }
    }

    async fn minimize(&self, at: &InstalledRepository, id: &str) -> Result<()> {
        let variables = (json!({"id": id}), WritePriority::Ordinary);
        match self.mutate(at, TokenPermissions::Converse, "fold a comment away", MINIMIZE, variables).await {
            Ok(()) => Ok(()),
            Err(error) => match error.kind {
                ErrorKind::Unavailable { .. } | ErrorKind::Conflict | ErrorKind::Unexpected => Err(error),
                ErrorKind::Unauthorized | ErrorKind::Forbidden | ErrorKind::NotFound | ErrorKind::Invalid => {
                    tracing::warn!(comment = id, %error, "a comment stays unfolded");
                    Ok(())
                }
            },
        }
    }
}

fn marker(name: &str) -> String {
    format!("<!-- journeyman:{name} -->")
}
