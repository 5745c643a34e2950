//! A repository's preconditions for work: what the App was granted, whether anything can be pushed, and what is
//! forbidden on a branch.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, Result};
use super::permissions::TokenPermissions;
use super::queries::percent_encoded;
use super::service::GitHub;
use super::transport::GitHubRequest;
use journeyman_order::bounds::LONGEST_LINE;
use journeyman_order::{InstallationId, RepositoryName};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InstallationGrants {
    pub(super) id: InstallationId,
    /// By GitHub's name of each permission: `read` or `write`.
    #[serde(default)]
    permissions: BTreeMap<String, String>,
    /// `None` unless it is suspended.
    suspended_at: Option<String>,
    /// The page where a person can change it.
    #[serde(default)]
    pub html_url: String,
}

impl InstallationGrants {
    /// Whether write access was granted.
    pub fn may_write(&self, permission: &str) -> bool {
        self.permissions.get(permission).is_some_and(|level| matches!(level.as_str(), "write" | "admin"))
    }

    /// Whether any access was granted.
    pub fn may_read(&self, permission: &str) -> bool {
        self.permissions.contains_key(permission)
    }

    pub fn is_suspended(&self) -> bool {
        self.suspended_at.is_some()
    }
}

/// Why a repository is read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnlyReason {
    Archived,
    Disabled,
    /// It mirrors a repository elsewhere.
    Mirror,
}

/// The effect of a rule on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchRestriction {
    /// A push would be refused. The text continues "a ruleset of the repository …".
    Forbids(String),
    /// Some pushes may be refused. The text continues likewise.
    MayForbid(String),
    /// Only accepts commits with a verified signature.
    RequiresSignatures,
}

/// A rule that applies to a branch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct BranchRuleWire {
    r#type: String,
    #[serde(default)]
    parameters: Value,
    ruleset_id: Option<u64>,
}

impl GitHub {
    /// The installation's permissions in a repository.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the App is not installed there.
    pub async fn grants(&self, repository: &RepositoryName) -> Result<InstallationGrants> {
        let route = format!("/repos/{}/{}/installation", repository.owner(), repository.name());
        self.ask_as_app(&GitHubRequest::get(route)).await?.json()
    }

    /// Why a repository is read-only; `None` if it is not.
    pub async fn read_only(&self, at: &InstalledRepository) -> Result<Option<ReadOnlyReason>> {
        #[derive(Deserialize)]
        struct Wire {
            #[serde(default)]
            archived: bool,
            #[serde(default)]
            disabled: bool,
            mirror_url: Option<String>,
        }
        let wire: Wire = self.read(at, TokenPermissions::ReadMetadata, "").await?;
        Ok(match wire {
            Wire { archived: true, .. } => Some(ReadOnlyReason::Archived),
            Wire { disabled: true, .. } => Some(ReadOnlyReason::Disabled),
            Wire { mirror_url: Some(_), .. } => Some(ReadOnlyReason::Mirror),
            Wire { .. } => None,
        })
    }

    /// The rules that block pushes to a branch, existing or not, and that the App may not bypass. `merges`: whether
    /// merge commits may occur on it.
    pub async fn branch_restrictions(
        &self,
        at: &InstalledRepository,
        branch: &str,
        merges: bool,
    ) -> Result<Vec<BranchRestriction>> {
        let route = at.route(&format!("/rules/branches/{}", percent_encoded(branch)));
        let rules: Vec<BranchRuleWire> = self.list(at, TokenPermissions::ReadMetadata, &route).await?;
        let mut bypasses: BTreeMap<u64, bool> = BTreeMap::new();
        let mut found = Vec::new();
        for rule in rules {
            let Some(hindrance) = rule.restriction(branch, merges) else { continue };
            if let Some(id) = rule.ruleset_id {
                let known = match bypasses.get(&id) {
                    Some(known) => *known,
                    None => self.may_bypass(at, id).await?,
                };
                bypasses.insert(id, known);
                if known {
                    continue;
                }
            }
            if !found.contains(&hindrance) {
                found.push(hindrance);
            }
        }
        Ok(found)
    }

    /// Whether the App may bypass a ruleset. `false` if it cannot see the ruleset.
    async fn may_bypass(&self, at: &InstalledRepository, ruleset: u64) -> Result<bool> {
        #[derive(Deserialize)]
        struct Wire {
            current_user_can_bypass: Option<String>,
        }
        let route = format!("/rulesets/{ruleset}?includes_parents=true");
        match self.read::<Wire>(at, TokenPermissions::ReadMetadata, &route).await {
            Ok(wire) => Ok(matches!(wire.current_user_can_bypass.as_deref(), Some("always" | "exempt"))),
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Forbidden) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl BranchRuleWire {
    fn restriction(&self, branch: &str, merges: bool) -> Option<BranchRestriction> {
        let forbids = |what: &str| Some(BranchRestriction::Forbids(what.to_owned()));
        let may = |what: &str| Some(BranchRestriction::MayForbid(what.to_owned()));
        match self.r#type.as_str() {
            "creation" => forbids("forbids creating it"),
            "update" => forbids("forbids pushing to it"),
            "pull_request" => forbids("allows changes to it only through pull requests"),
            "required_status_checks" if self.is_off_on_creation() => {
                may("requires status checks before further pushes")
            }
            "required_status_checks" => forbids("requires status checks before a push"),
            "required_deployments" => forbids("requires deployments before a push"),
            "merge_queue" => forbids("lets only its merge queue push to it"),
            "required_signatures" => Some(BranchRestriction::RequiresSignatures),
            "required_linear_history" if merges => {
                may("requires a linear history, so the base branch cannot be merged into it")
            }
            "non_fast_forward" => may("forbids overwriting it, so an attempt cannot replace an earlier one"),
            "branch_name_pattern" => self.of_name(branch),
            "commit_message_pattern"
            | "commit_author_email_pattern"
            | "committer_email_pattern"
            | "file_path_restriction"
            | "file_extension_restriction"
            | "max_file_path_length"
            | "max_file_size" => may(&self.as_it_is()),
            "workflows" => may("requires workflows to pass before a push"),
            _ => None,
        }
    }

    fn is_off_on_creation(&self) -> bool {
        self.parameters.get("do_not_enforce_on_create").and_then(Value::as_bool) == Some(true)
    }

    fn text(&self, name: &str) -> &str {
        self.parameters.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn as_it_is(&self) -> String {
        let parameters: String = self.parameters.to_string().chars().take(LONGEST_LINE).collect();
        format!("has the rule {}: {parameters}", self.r#type)
    }

    /// The restriction if the branch's name violates the rule.
    fn of_name(&self, branch: &str) -> Option<BranchRestriction> {
        let pattern = self.text("pattern");
        let hit = match self.text("operator") {
            "starts_with" => Some(branch.starts_with(pattern)),
            "ends_with" => Some(branch.ends_with(pattern)),
            "contains" => Some(branch.contains(pattern)),
            // GitHub's regular expressions are similar to ours; one that does not parse has no effect.
            "regex" => Regex::new(pattern).ok().map(|pattern| pattern.is_match(branch)),
            _ => None,
        };
        let negated = self.parameters.get("negate").and_then(Value::as_bool) == Some(true);
        match hit {
            Some(hit) if hit == negated => Some(BranchRestriction::Forbids(self.as_it_is())),
            Some(_) => None,
            None => Some(BranchRestriction::MayForbid(self.as_it_is())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(kind: &str, parameters: Value, merges: bool) -> Option<bool> {
        let wire = BranchRuleWire { r#type: kind.to_owned(), parameters, ruleset_id: None };
        wire.restriction("journeyman/issue-7-fix", merges)
            .map(|one| !matches!(one, BranchRestriction::MayForbid(_)))
    }

    #[test]
    fn a_rule_is_told_with_its_pattern() {
        let parameters = json!({"operator": "regex", "pattern": "^JM-"});
        let wire =
            BranchRuleWire { r#type: "commit_message_pattern".to_owned(), parameters, ruleset_id: None };
        let told = r#"has the rule commit_message_pattern: {"operator":"regex","pattern":"^JM-"}"#;
        assert_eq!(wire.restriction("x", false), Some(BranchRestriction::MayForbid(told.to_owned())));
    }

    #[test]
    fn every_rule_forbids_may_forbid_or_is_no_matter() {
        let none = Value::Null;
        let name = |operator: &str, pattern: &str, negate: bool| json!({"operator": operator, "pattern": pattern, "negate": negate});
        for (kind, parameters, merges, expected) in [
            ("creation", none.clone(), false, Some(true)),
            ("update", json!({"update_allows_fetch_and_merge": false}), false, Some(true)),
            ("pull_request", none.clone(), false, Some(true)),
            ("required_signatures", none.clone(), false, Some(true)),
            ("required_status_checks", none.clone(), false, Some(true)),
            ("required_status_checks", json!({"do_not_enforce_on_create": true}), false, Some(false)),
            ("required_linear_history", none.clone(), false, None),
            ("required_linear_history", none.clone(), true, Some(false)),
            ("non_fast_forward", none.clone(), false, Some(false)),
            ("deletion", none.clone(), false, None),
            ("code_scanning", none.clone(), false, None),
            ("a_rule_of_tomorrow", none, false, None),
            ("branch_name_pattern", name("starts_with", "journeyman/", false), false, None),
            ("branch_name_pattern", name("starts_with", "journeyman/", true), false, Some(true)),
            ("branch_name_pattern", name("regex", "^(feature|fix)/", false), false, Some(true)),
            ("branch_name_pattern", name("regex", "^journeyman/[a-z0-9-]+$", false), false, None),
            ("branch_name_pattern", name("regex", "(?<!x", false), false, Some(false)),
            ("branch_name_pattern", name("contains", "issue", false), false, None),
            ("branch_name_pattern", name("ends_with", "/", false), false, Some(true)),
        ] {
            assert_eq!(of(kind, parameters.clone(), merges), expected, "{kind} {parameters}");
        }
    }
}
