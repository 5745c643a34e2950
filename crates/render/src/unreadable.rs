//! The last word on an order whose journal cannot be read.

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
