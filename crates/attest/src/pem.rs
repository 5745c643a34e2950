//! Keys as text: one or more blocks between `BEGIN` and `END`, of base64 (RFC 7468). What stands between blocks is
//! explanation and is passed over.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(super) fn encode(label: &str, der: &[u8]) -> String {
    let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(label, der), lines)
}

/// What is in the blocks of this label; none where a block of it is broken.
pub(super) fn decode(label: &str, text: &str) -> Option<Vec<Vec<u8>>> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        match open.take() {
            None if line == begin => open = Some(String::new()),
            None => {}
            Some(block) if line == end => blocks.push(STANDARD.decode(block).ok()?),
            Some(mut block) => {
                block.push_str(line);
                open = Some(block);
            }
        }
    }
    open.is_none().then_some(blocks)
}
