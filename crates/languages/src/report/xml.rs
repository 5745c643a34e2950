//! What the readers of XML reports share.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use journeyman_order::byte_order_mark;

/// Shows each element with its depth: its tag where it begins, nothing where it ends. Whether the report is whole.
/// `None` if its root is none of `roots`.
pub(super) fn visit(
    xml: &[u8],
    roots: &[&str],
    see: &mut dyn FnMut(usize, Option<&BytesStart<'_>>),
) -> Option<bool> {
    let text = text(xml);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().expand_empty_elements = true;
    let (mut depth, mut has_root) = (0_usize, false);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                has_root |= roots.contains(&tag.name().as_ref());
                if !has_root {
                    return None;
                }
                see(depth, Some(&tag));
                depth += 1;
            }
            Ok(Event::End(_)) => {
                depth = depth.saturating_sub(1);
                see(depth, None);
            }
            Ok(Event::Eof) => return has_root.then_some(depth == 0),
            Err(_) => return has_root.then_some(false),
            Ok(
                Event::Empty(_)
                | Event::Text(_)
                | Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_)
                | Event::GeneralRef(_),
            ) => {}
        }
    }
}

/// The value of an attribute.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let value = tag.try_get_attribute(name).ok()??.value;
    Some(unescape(&value).map_or_else(|_| value.to_string(), |text| text.into_owned()))
}

/// A report as text, without the declaration of its encoding.
fn text(xml: &[u8]) -> String {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    let all = match xml {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(xml).into_owned(),
    };
    let body = byte_order_mark::strip(&all).trim_start();
    match body.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        Some((_, rest)) => rest.to_owned(),
        None => body.to_owned(),
    }
}
