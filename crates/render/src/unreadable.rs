//! What is said of an order whose journal cannot be read.

use journeyman_order::PullNumber;

/// The status comment's body. Nothing is known of the order but its pull request.
pub fn unreadable(pull: Option<PullNumber>) -> String {
    let pull = pull.map_or_else(String::new, |pull| {
        format!(" Its pull request #{pull} stays as it is: take it over, or close it.")
    });
    format!(
        "### Ended: the record of this order cannot be read\n\n\
         It is damaged, or was written by another version of Journeyman. Nothing more is done for this order.{pull}\n\n\
         **What you can do**\n\n\
         - Take the label off and add it again to start over.\n\
         - Whoever runs the server finds the reason in its log."
    )
}

/// The status comment's body where a newer version may be able to read it.
pub fn waits_to_be_read() -> String {
    "### Waits: this version of Journeyman cannot read the record of this order\n\n\
     A newer version has written it, or it is damaged. Nothing is lost: the order goes on as soon as a version is started \
     that can read it.\n\n\
     **What you can do**\n\n\
     - Whoever runs the server finds the reason in its log.\n\
     - Take the label off if it is not to go on. Then the order ends, and the label can be added again to start over."
        .to_owned()
}
