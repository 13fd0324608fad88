//! Structure of the old format: which children in which order and how often, which attributes, and plain text.
//!
//! Knows how a schema sequence works, not what the elements of this one mean.

use super::super::fault::Report;
use super::super::raw::Located;
use super::NAMESPACE;
use crate::activator::nearest::nearest;
use crate::activator::xml_tree::{Attribute, Element};

/// Namespace of `xsi:schemaLocation`, which is allowed on every element whatever the schema says.
const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// One place in a sequence: an element and how often it may stand there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    name: &'static str,
    required: bool,
    repeated: bool,
    may_be_empty: bool,
}

impl Slot {
    /// Exactly once.
    pub(super) fn once(name: &'static str) -> Self {
        Self { name, required: true, repeated: false, may_be_empty: false }
    }

    /// The same place, whose element says nothing if it is empty: a lenient reading does without it.
    pub(super) fn may_be_empty(mut self) -> Self {
        self.may_be_empty = true;
        self
    }

    /// At least once.
    pub(super) fn one_or_more(name: &'static str) -> Self {
        Self { name, required: true, repeated: true, may_be_empty: false }
    }

    /// Any number of times, also never.
    pub(super) fn any_number(name: &'static str) -> Self {
        Self { name, required: false, repeated: true, may_be_empty: false }
    }
}

/// The children of `parent` for each place of the sequence; everything that does not fit is reported.
pub(super) fn sequence<'a, const N: usize>(
    report: &mut Report,
    parent: &'a Element,
    slots: [Slot; N],
) -> [Vec<&'a Element>; N] {
    refuse_text(report, parent);
    let mut found: [Vec<&Element>; N] = std::array::from_fn(|_| Vec::new());
    let mut furthest = 0;
    for child in &parent.children {
        if let Some(place) = place_of(report, parent, child, &slots) {
            check_place(report, parent, child, &slots, furthest, place, found[place].is_empty());
            furthest = furthest.max(place);
            found[place].push(child);
        }
    }
    for (slot, elements) in slots.iter().zip(&found) {
        if slot.required && elements.is_empty() {
            let message = format!("<{}> lacks <{}>", parent.name, slot.name);
            if slot.may_be_empty {
                report.deviation(parent.line, message);
            } else {
                report.fault(parent.line, message);
            }
        }
    }
    found
}

/// The text of an element that holds nothing else, on the line where it begins.
///
/// White space around it is dropped: none of the values may begin or end with it, and editors that indent put it there.
pub(super) fn string(report: &mut Report, element: &Element) -> Located<String> {
    let [] = attributes(report, element, []);
    for child in &element.children {
        report.deviation(child.line, format!("<{}> holds text only, not <{}>", element.name, child.name));
    }
    Located { value: element.text.trim().to_owned(), line: element.text_line.unwrap_or(element.line) }
}

/// Reports anything inside an element that must be empty.
pub(super) fn empty(report: &mut Report, element: &Element) {
    for child in &element.children {
        report.deviation(child.line, format!("<{}> must be empty, without <{}>", element.name, child.name));
    }
    if !element.text.is_empty() {
        let line = element.text_line.unwrap_or(element.line);
        report.deviation(line, format!("<{0}> must be empty; write <{0} ... />", element.name));
    }
}

/// The values of the attributes `names`, all of which are required; no others are allowed.
pub(super) fn attributes<const N: usize>(
    report: &mut Report,
    element: &Element,
    names: [&'static str; N],
) -> [Option<Located<String>>; N] {
    for attribute in &element.attributes {
        refuse_unknown_attribute(report, element, attribute, &names);
    }
    names.map(|name| {
        let found = element.attributes.iter().find(|a| a.namespace.is_none() && a.name == name);
        if found.is_none() {
            report.fault(element.line, format!("<{}> lacks attribute '{name}'", element.name));
        }
        found.map(|attribute| Located { value: attribute.value.clone(), line: attribute.line })
    })
}

fn refuse_text(report: &mut Report, parent: &Element) {
    if let Some(line) = parent.text_line {
        report.deviation(line, format!("<{}> holds elements only, no text", parent.name));
    }
}

/// Which place of the sequence `child` belongs to, if any.
fn place_of(report: &mut Report, parent: &Element, child: &Element, slots: &[Slot]) -> Option<usize> {
    let place = slots.iter().position(|slot| slot.name == child.name);
    if place.is_none() {
        let names = slots.iter().map(|slot| slot.name);
        let hint = match nearest(&child.name, names) {
            Some(known) => format!("; did you mean <{known}>?"),
            None => String::new(),
        };
        report.deviation(child.line, format!("<{}> is not allowed in <{}>{hint}", child.name, parent.name));
        return None;
    }
    if child.namespace.as_deref() != Some(NAMESPACE) {
        report.deviation(child.line, format!("<{}> is not in namespace '{NAMESPACE}'", child.name));
        return None;
    }
    place
}

fn check_place(
    report: &mut Report,
    parent: &Element,
    child: &Element,
    slots: &[Slot],
    furthest: usize,
    place: usize,
    is_first: bool,
) {
    if !is_first && !slots[place].repeated {
        report.fault(child.line, format!("<{}> may stand only once in <{}>", child.name, parent.name));
    } else if place < furthest {
        report
            .deviation(child.line, format!("<{}> must stand before <{}>", child.name, slots[furthest].name));
    }
}

fn refuse_unknown_attribute(
    report: &mut Report,
    element: &Element,
    attribute: &Attribute,
    names: &[&'static str],
) {
    let location = matches!(attribute.name.as_str(), "schemaLocation" | "noNamespaceSchemaLocation");
    let allowed = match attribute.namespace.as_deref() {
        None => names.contains(&attribute.name.as_str()),
        Some(namespace) => namespace == XSI && location,
    };
    if !allowed {
        let hint = match nearest(&attribute.name, names.iter().copied()) {
            Some(known) => format!("; did you mean '{known}'?"),
            None => String::new(),
        };
        let message = format!("attribute '{}' is not allowed on <{}>{hint}", attribute.name, element.name);
        report.deviation(attribute.line, message);
    }
}
