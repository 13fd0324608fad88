//! Nodes back to text, each with the namespaces it needs.

use roxmltree::Node;

use super::select::Item;
use crate::value::Text;

/// Name of the element around the node of a row of `.nodes()`.
pub(super) const CONTEXT: &str = "_.context";

/// The node as a value of its own.
pub(super) fn serialized(item: &Item<'_, '_>) -> String {
    let mut text = String::new();
    match item {
        Item::Attribute(_, attribute) => text.push_str(&escaped(attribute.value())),
        Item::Node(node) => write_node(*node, true, &mut text),
    }
    text
}

/// The node in the form in which rows of `.nodes()` keep it.
pub(super) fn as_context(item: &Item<'_, '_>) -> Text {
    let text = match item {
        Item::Attribute(_, attribute) => {
            format!("<{CONTEXT} {}=\"{}\"/>", attribute.name(), escaped(attribute.value()))
        }
        node @ Item::Node(_) => format!("<{CONTEXT}>{}</{CONTEXT}>", serialized(node)),
    };
    Text::unicode(&text)
}

fn write_node(node: Node<'_, '_>, is_outermost: bool, text: &mut String) {
    if node.is_text() {
        text.push_str(&escaped(node.text().unwrap_or_default()));
        return;
    }
    if node.is_comment() {
        text.push_str(&format!("<!--{}-->", node.text().unwrap_or_default()));
        return;
    }
    // What stands for the document has no tag of its own.
    let is_document = node.is_root() || matches!(node.tag_name().name(), "_" | CONTEXT);
    if is_document {
        node.children().for_each(|child| write_node(child, true, text));
        return;
    }
    let name = qualified(node, node.tag_name().namespace(), node.tag_name().name());
    text.push('<');
    text.push_str(&name);
    write_namespaces(node, is_outermost, text);
    for attribute in node.attributes() {
        let name = qualified(node, attribute.namespace(), attribute.name());
        text.push_str(&format!(" {name}=\"{}\"", escaped(attribute.value()).replace('"', "&quot;")));
    }
    if !node.has_children() {
        text.push_str("/>");
        return;
    }
    text.push('>');
    node.children().for_each(|child| write_node(child, false, text));
    text.push_str(&format!("</{name}>"));
}

/// Declares what the element adds to its parent's namespaces; the outermost one declares all it sees.
fn write_namespaces(node: Node<'_, '_>, is_outermost: bool, text: &mut String) {
    let inherited = node.parent().filter(|_| !is_outermost);
    for namespace in node.namespaces() {
        let known = inherited
            .is_some_and(|parent| parent.lookup_namespace_uri(namespace.name()) == Some(namespace.uri()));
        if known || namespace.name() == Some("xml") {
            continue;
        }
        let uri = escaped(namespace.uri());
        match namespace.name() {
            None => text.push_str(&format!(" xmlns=\"{uri}\"")),
            Some(prefix) => text.push_str(&format!(" xmlns:{prefix}=\"{uri}\"")),
        }
    }
}

fn qualified(node: Node<'_, '_>, namespace: Option<&str>, local: &str) -> String {
    match namespace.and_then(|uri| node.lookup_prefix(uri)) {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}:{local}"),
        _ => local.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
