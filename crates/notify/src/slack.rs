//! The format of Slack's incoming webhooks, which other services accept too.

use super::{Notification, NotificationEvent};
use journeyman_order::bounds::LONGEST_LINE;

/// The text of the message.
pub(super) fn text(of: &Notification) -> String {
    let sign = match of.event {
        NotificationEvent::NeedsPerson => ":raising_hand:",
        NotificationEvent::Done => ":white_check_mark:",
    };
    let issue = link(&of.issue_url, &format!("{}#{}", of.repository, of.issue));
    let mut text = format!("{sign} {issue} {}: {}", plain(&of.title), plain(&of.headline));
    if let Some(because) = &of.because {
        text += &format!("\n{}", plain(because));
    }
    if let Some(pull) = &of.pull_request_url {
        text += &format!("\n{}", link(pull, "Pull request"));
    }
    text
}

/// Escapes `&`, `<` and `>`, which Slack uses for links and channel mentions. A single line cannot start a quote.
fn plain(text: &str) -> String {
    let short: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_LINE).collect();
    short.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn link(url: &str, text: &str) -> String {
    match url.is_empty() || url.contains(['|', '<', '>']) {
        true => plain(text),
        false => format!("<{url}|{}>", plain(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_calls_nobody_and_links_nowhere() {
        let said = text(&Notification {
            event: NotificationEvent::NeedsPerson,
            order: "1".to_owned(),
            repository: "acme/app".to_owned(),
            issue: 7,
            title: "<!channel> <https://evil.example|click>\n> & more".to_owned(),
            issue_url: "https://github.com/acme/app/issues/7".to_owned(),
            state: "escalated".to_owned(),
            headline: "Needs a person".to_owned(),
            because: None,
            pull_request_url: Some("https://x|<!here>".to_owned()),
        });
        assert_eq!(
            said,
            ":raising_hand: <https://github.com/acme/app/issues/7|acme/app#7> &lt;!channel&gt; \
             &lt;https://evil.example|click&gt; &gt; &amp; more: Needs a person\nPull request"
        );
    }
}
