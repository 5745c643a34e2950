//! Forms of other people's secrets: token formats that services published for scanners. Each rule is one form. A form
//! without an unmistakable feature gets no rule, because a false finding costs an agent's round.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::shapes;

/// A further condition on a match.
#[derive(Debug, Clone, Copy)]
enum RuleCheck {
    /// Minimum entropy in bits per character; words and repeated letters have less.
    Entropy(f64),
    /// The last six letters are the checksum of the part after the prefix.
    Checksum,
    /// A web token: the first two parts are JSON.
    WebToken,
    /// A Discord bot token: it begins with the bot's number in base64.
    Snowflake,
}

struct RulePattern {
    name: &'static str,
    pattern: &'static str,
    check: RuleCheck,
    /// It may be published with a warning, because harmless values have the same form.
    may: bool,
}

const fn blocks(name: &'static str, pattern: &'static str, check: RuleCheck) -> RulePattern {
    RulePattern { name, pattern, check, may: false }
}

const fn told(name: &'static str, pattern: &'static str, check: RuleCheck) -> RulePattern {
    RulePattern { name, pattern, check, may: true }
}

/// Length in bytes of the shortest form that blocks publishing.
pub(super) const SHORTEST: usize = 20;

const RANDOM: RuleCheck = RuleCheck::Entropy(3.5);
const HEX: RuleCheck = RuleCheck::Entropy(3.0);

/// The first group of a pattern is the secret; without a group, the whole match is.
const FORMS: &[RulePattern] = &[
    // Code and packages.
    blocks("github-token", r"gh[pousr]_[A-Za-z0-9]{36}\b", RuleCheck::Checksum),
    blocks(
        "github-app-token",
        r"ghs_[0-9]+_eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
        RANDOM,
    ),
    blocks("github-fine-grained-token", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b", RANDOM),
    blocks("gitlab-token", r"gl(?:pat|ptt|dt|rt|rtr|cbt|soat|imt|agent|ffct|oas)-[A-Za-z0-9_-]{20,}", RANDOM),
    blocks("bitbucket-token", r"ATCTT3[A-Za-z0-9_=-]{50,}", RANDOM),
    blocks("npm-token", r"npm_[A-Za-z0-9]{36}\b", RuleCheck::Checksum),
    blocks("pypi-token", r"pypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{50,}", RANDOM),
    blocks("crates-io-token", r"\bcio[A-Za-z0-9]{32}\b", RuleCheck::Entropy(3.9)),
    blocks("rubygems-token", r"rubygems_[0-9a-f]{48}\b", HEX),
    blocks("nuget-key", r"\boy2[a-z0-9]{43}\b", RANDOM),
    blocks("docker-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}", RANDOM),
    blocks("artifactory-key", r"\bAKCp[A-Za-z0-9]{69,}", RANDOM),
    // Clouds.
    blocks("aws-access-key", r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b", RuleCheck::Entropy(3.0)),
    blocks(
        "aws-secret-key",
        r#"(?i:aws.{0,20}(?:secret|sk).{0,20}?)[\s:=>"']{1,6}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        RuleCheck::Entropy(4.2),
    ),
    blocks("google-api-key", r"\bAIza[0-9A-Za-z_-]{35}", RANDOM),
    blocks("google-oauth-secret", r"GOCSPX-[A-Za-z0-9_-]{28}", RANDOM),
    blocks("google-oauth-token", r"\bya29\.[A-Za-z0-9_-]{60,}", RANDOM),
    blocks("azure-storage-key", r"AccountKey=([A-Za-z0-9+/]{86}==)", RuleCheck::Entropy(4.5)),
    blocks("azure-client-secret", r"\b[A-Za-z0-9_.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", RANDOM),
    blocks("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}\b", HEX),
    blocks("heroku-token", r"HRKU-[A-Za-z0-9_-]{58,}", RANDOM),
    blocks("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", RANDOM),
    blocks("vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}", RANDOM),
    blocks("doppler-token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}", RANDOM),
    blocks("planetscale-token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}", RANDOM),
    blocks("supabase-token", r"\bsbp_[0-9a-f]{40}\b", HEX),
    blocks("databricks-token", r"\bdapi[0-9a-f]{32}(?:-[0-9])?\b", HEX),
    blocks("tailscale-key", r"tskey-[a-z]+-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}", RANDOM),
    // Models.
    blocks("openai-key", r"\bsk-[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}", RANDOM),
    blocks("anthropic-key", r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{60,}", RANDOM),
    blocks("openrouter-key", r"sk-or-v1-[0-9a-f]{64}\b", HEX),
    blocks("groq-key", r"\bgsk_[A-Za-z0-9]{52}\b", RANDOM),
    blocks("xai-key", r"\bxai-[A-Za-z0-9]{80}\b", RANDOM),
    blocks("hugging-face-token", r"\bhf_[A-Za-z]{34}\b", RANDOM),
    blocks("replicate-token", r"\br8_[A-Za-z0-9]{37}\b", RANDOM),
    blocks("perplexity-key", r"\bpplx-[A-Za-z0-9]{48}\b", RANDOM),
    // Chat and mail.
    blocks("slack-token", r"\bxox[abeoprs](?:\.xox[bp])?-[0-9A-Za-z-]{20,}", RANDOM),
    blocks("slack-app-token", r"\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[0-9a-f]{40,}", HEX),
    blocks(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(T[A-Z0-9]{7,}/[A-Z0-9]{7,}/[A-Za-z0-9]{20,})",
        RANDOM,
    ),
    blocks(
        "discord-bot-token",
        r"\b([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})",
        RuleCheck::Snowflake,
    ),
    blocks("discord-webhook", r"discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,})", RANDOM),
    blocks("telegram-bot-token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b", RANDOM),
    blocks("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", RANDOM),
    blocks("mailgun-key", r"\bkey-[0-9a-f]{32}\b", HEX),
    blocks("mailchimp-key", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b", HEX),
    blocks("twilio-key", r"\bSK[0-9a-f]{32}\b", HEX),
    // Payments, shops, work tools.
    blocks("stripe-key", r"\b[rs]k_live_[0-9A-Za-z]{20,}", RANDOM),
    blocks("stripe-webhook-secret", r"\bwhsec_[A-Za-z0-9+/=]{32,}", RANDOM),
    blocks("square-token", r"\bsq0(?:csp|atp)-[A-Za-z0-9_-]{22,}", RANDOM),
    blocks("shopify-token", r"\bshp(?:at|ca|pa|ss|tka)_[0-9A-Fa-f]{32}\b", HEX),
    blocks("atlassian-token", r"\bATATT3[A-Za-z0-9_=-]{100,}", RANDOM),
    blocks("linear-key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{40,}", RANDOM),
    blocks("notion-token", r"\bntn_[A-Za-z0-9]{40,}", RANDOM),
    blocks("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b", RANDOM),
    blocks("figma-token", r"\bfigd_[A-Za-z0-9_-]{40,}", RANDOM),
    blocks("postman-key", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b", HEX),
    blocks("grafana-token", r"\bglsa_[A-Za-z0-9]{32}_[0-9a-f]{8}\b", RANDOM),
    blocks("grafana-cloud-token", r"\bglc_eyJ[A-Za-z0-9+/=]{60,}", RANDOM),
    blocks("new-relic-key", r"\bNRAK-[A-Z0-9]{27}\b", RANDOM),
    blocks("sentry-token", r"\bsntr(?:ys_eyJ[A-Za-z0-9+/=_]{60,}|yu_[0-9a-f]{64})", HEX),
    // Not tied to a service.
    blocks(
        "private-key",
        r#"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s"'+,\\nr#/*-]{0,8}((?:[A-Za-z0-9+/=:, -]|[\s"'+\\]){64,400})"#,
        RuleCheck::Entropy(4.0),
    ),
    blocks("age-key", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", RANDOM),
    told(
        "web-token",
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}",
        RuleCheck::WebToken,
    ),
    told(
        "password-in-address",
        r#"\b[a-z][a-z0-9+.-]{2,20}://[^\s/@:"'<>`$\{]{1,80}:([^\s/@:"'<>`$\{]{8,80})@[A-Za-z0-9]"#,
        RuleCheck::Entropy(3.0),
    ),
];

pub(super) struct SecretRule {
    pub(super) name: &'static str,
    /// Whether it may be published.
    pub(super) may: bool,
    pattern: Regex,
    check: RuleCheck,
}

impl SecretRule {
    /// The positions of such secrets in these bytes.
    pub(super) fn matches<'a>(
        &'a self,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
        self.pattern.captures_iter(bytes).filter_map(|found| {
            let secret = found.get(1).or_else(|| found.get(0))?;
            self.holds(secret.as_bytes()).then(|| secret.range())
        })
    }

    fn holds(&self, secret: &[u8]) -> bool {
        if shapes::is_placeholder(secret) {
            return false;
        }
        match self.check {
            RuleCheck::Entropy(least) => shapes::entropy(secret) >= least,
            RuleCheck::Checksum => shapes::has_checksum(secret),
            RuleCheck::WebToken => shapes::is_web_token(secret),
            RuleCheck::Snowflake => shapes::begins_with_number(secret),
        }
    }
}

fn compiled(form: &RulePattern) -> Option<SecretRule> {
    let pattern = RegexBuilder::new(form.pattern).unicode(false).build().ok()?;
    Some(SecretRule { name: form.name, may: form.may, pattern, check: form.check })
}

/// All rules. Each runs in linear time on any input.
pub(super) fn all() -> &'static [SecretRule] {
    static RULES: LazyLock<Vec<SecretRule>> = LazyLock::new(|| FORMS.iter().filter_map(compiled).collect());
    &RULES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic letters and digits as in a token.
    pub(super) fn random(alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        let mut state = 0x2545_f491_u64;
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                letters[usize::try_from(state >> 33).unwrap() % letters.len()]
            })
            .collect()
    }

    fn found(text: &str) -> Vec<&'static str> {
        all()
            .iter()
            .filter(|rule| rule.matches(text.as_bytes()).next().is_some())
            .map(|rule| rule.name)
            .collect()
    }

    const ANY: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const LOW: &str = "0123456789abcdef";
    const HIGH: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

    fn any(length: usize) -> String {
        random(ANY, length)
    }

    fn hex(length: usize) -> String {
        random(LOW, length)
    }

    fn signed(prefix: &str) -> String {
        let secret = any(30);
        format!("{prefix}{secret}{}", shapes::checksum(secret.as_bytes()))
    }

    #[test]
    fn every_rule_is_one_and_has_a_name_of_its_own() {
        assert_eq!(all().len(), FORMS.len(), "a pattern does not compile");
        let names: std::collections::BTreeSet<_> = FORMS.iter().map(|form| form.name).collect();
        assert_eq!(names.len(), FORMS.len());
    }

    /// Generated here, so that secret scanners do not report this file.
    fn one_of_each() -> Vec<(&'static str, String)> {
        let jwt =
            |text: &str| base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, text);
        let token = format!(
            "{}.{}.{}",
            jwt(r#"{"alg":"RS256","typ":"JWT"}"#),
            jwt(r#"{"iss":"7","exp":1900000000}"#),
            any(43)
        );
        vec![
            ("github-token", signed("ghs_")),
            ("github-app-token", format!("ghs_17_{token}")),
            ("github-fine-grained-token", format!("github_pat_{}_{}", any(22), any(59))),
            ("gitlab-token", format!("glpat-{}", any(20))),
            ("bitbucket-token", format!("ATCTT3{}", any(60))),
            ("npm-token", signed("npm_")),
            ("pypi-token", format!("pypi-AgEIcHlwaS5vcmc{}", any(80))),
            ("crates-io-token", format!("cio{}", any(32))),
            ("rubygems-token", format!("rubygems_{}", hex(48))),
            ("nuget-key", format!("oy2{}", random("abcdefghijklmnopqrstuvwxyz234567", 43))),
            ("docker-token", format!("dckr_pat_{}", any(27))),
            ("artifactory-key", format!("AKCp{}", any(69))),
            ("aws-access-key", format!("AKIA{}", random(HIGH, 16))),
            ("aws-secret-key", format!("aws_secret_access_key = \"{}\"", any(40))),
            ("google-api-key", format!("AIza{}", any(35))),
            ("google-oauth-secret", format!("GOCSPX-{}", any(28))),
            ("google-oauth-token", format!("ya29.{}", any(80))),
            ("azure-storage-key", format!("AccountKey={}==", any(86))),
            ("azure-client-secret", format!("a1B8Q~{}", any(34))),
            ("digitalocean-token", format!("dop_v1_{}", hex(64))),
            ("heroku-token", format!("HRKU-{}", any(60))),
            ("terraform-token", format!("{}.atlasv1.{}", any(14), any(67))),
            ("vault-token", format!("hvs.{}", any(90))),
            ("doppler-token", format!("dp.pt.{}", any(43))),
            ("planetscale-token", format!("pscale_tkn_{}", any(43))),
            ("supabase-token", format!("sbp_{}", hex(40))),
            ("databricks-token", format!("dapi{}", hex(32))),
            ("tailscale-key", format!("tskey-auth-{}-{}", any(12), any(30))),
            ("openai-key", format!("sk-proj-{}T3BlbkFJ{}", any(74), any(74))),
            ("anthropic-key", format!("sk-ant-api03-{}AA", any(93))),
            ("openrouter-key", format!("sk-or-v1-{}", hex(64))),
            ("groq-key", format!("gsk_{}", any(52))),
            ("xai-key", format!("xai-{}", any(80))),
            ("hugging-face-token", format!("hf_{}", random(&ANY[..52], 34))),
            ("replicate-token", format!("r8_{}", any(37))),
            ("perplexity-key", format!("pplx-{}", any(48))),
            ("slack-token", format!("xoxb-{}-{}", random("0123456789", 12), any(24))),
            ("slack-app-token", format!("xapp-1-A0B1C2D3E4F-1234567890123-{}", hex(64))),
            ("slack-webhook", format!("https://hooks.slack.com/services/T0A1B2C3D/B0A1B2C3D/{}", any(24))),
            ("discord-bot-token", format!("{}.{}.{}", jwt("135792468013579246"), any(6), any(38))),
            ("discord-webhook", format!("https://discord.com/api/webhooks/135792468013579246/{}", any(68))),
            ("telegram-bot-token", format!("123456789:AA{}", any(33))),
            ("sendgrid-key", format!("SG.{}.{}", any(22), any(43))),
            ("mailgun-key", format!("key-{}", hex(32))),
            ("mailchimp-key", format!("{}-us12", hex(32))),
            ("twilio-key", format!("SK{}", hex(32))),
            ("stripe-key", format!("sk_live_{}", any(24))),
            ("stripe-webhook-secret", format!("whsec_{}", any(32))),
            ("square-token", format!("sq0csp-{}", any(43))),
            ("shopify-token", format!("shpat_{}", hex(32))),
            ("atlassian-token", format!("ATATT3{}", any(186))),
            ("linear-key", format!("lin_api_{}", any(40))),
            ("notion-token", format!("ntn_{}", any(46))),
            ("airtable-token", format!("pat{}.{}", any(14), hex(64))),
            ("figma-token", format!("figd_{}", any(40))),
            ("postman-key", format!("PMAK-{}-{}", hex(24), hex(34))),
            ("grafana-token", format!("glsa_{}_{}", any(32), hex(8))),
            ("grafana-cloud-token", format!("glc_eyJ{}", any(80))),
            ("new-relic-key", format!("NRAK-{}", random(HIGH, 27))),
            ("sentry-token", format!("sntryu_{}", hex(64))),
            ("private-key", format!("-----BEGIN {}KEY-----\n{}\n{}\n", "PRIVATE ", any(64), any(64))),
            ("age-key", format!("AGE-SECRET-KEY-1{}", random("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
            ("web-token", token),
            ("password-in-address", format!("postgres://app:{}@db.example.org/app", any(16))),
        ]
    }

    #[test]
    fn every_form_is_found_in_code_and_by_its_own_rule() {
        let samples = one_of_each();
        assert_eq!(samples.len(), FORMS.len(), "a form without a sample");
        assert!(samples.iter().all(|(_, sample)| sample.len() >= SHORTEST));
        let texts = samples.into_iter().flat_map(|(name, sample)| {
            [sample.clone(), format!("const KEY: &str = \"{sample}\";\n"), format!("K={sample}\n")]
                .map(|text| (name, text))
        });
        let texts: Vec<_> = texts.collect();
        let got_through: Vec<_> = texts.iter().filter(|(name, text)| !found(text).contains(name)).collect();
        journeyman_test_support::tally::tell("forms of secrets", texts.len(), &got_through);
    }

    /// Texts that almost match, repeated, are the worst case for a search.
    #[test]
    fn near_misses_without_end_take_their_time_and_no_more() {
        let mut slowest = (std::time::Duration::ZERO, "");
        for (name, sample) in one_of_each() {
            let miss = &sample[..sample.len() * 9 / 10];
            let text: Vec<u8> = miss.bytes().chain([b'!']).cycle().take(256 << 10).collect();
            let began = std::time::Instant::now();
            for rule in all() {
                rule.matches(&text).count();
            }
            slowest = slowest.max((began.elapsed(), name));
        }
        println!("the slowest quarter of a megabyte: {slowest:?}");
        assert!(slowest.0 < std::time::Duration::from_secs(5), "{slowest:?}");
    }

    #[test]
    fn what_only_looks_like_a_secret_is_none() {
        let pem = "PRIVATE KEY-----";
        for text in [
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            format!("ghp_{}", "x".repeat(36)),
            format!("ghp_{}", any(36)),
            format!("npm_{}", any(36)),
            format!("sk_live_{}", "0".repeat(24)),
            format!("sk-ant-api03-{}", "your-key-here".repeat(8)),
            "glpat-xxxxxxxxxxxxxxxxxxxx".into(),
            "xoxb-your-token-goes-right-here".into(),
            format!("-----BEGIN {pem}\n...\n-----END {pem}"),
            format!("if text.starts_with(\"-----BEGIN {pem}\") {{ return Err(Secret); }}"),
            "postgres://user:password@localhost/db".into(),
            "https://user:${PASSWORD}@example.org".into(),
            "SK00000000000000000000000000000000".into(),
            "key-ffffffffffffffffffffffffffffffff".into(),
            format!("eyJ{}.eyJ{}.{}", any(30), any(30), any(40)),
            format!("{}.{}.{}", "Mabcdefghijklmnopqrstuvw", "abcdef", "a".repeat(30)),
            format!("sha1 {} sha256 {}", hex(40), hex(64)),
            format!("integrity sha512-{}==", any(86)),
            random(ANY, 20_000),
            random(LOW, 20_000),
        ] {
            assert_eq!(found(&text), Vec::<&str>::new(), "{}", &text[..text.len().min(200)]);
        }
    }
}
