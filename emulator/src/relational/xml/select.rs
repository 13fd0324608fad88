//! Paths followed through a document.

use roxmltree::{Attribute, Document, Node};

use super::parse::{Axis, Path, Position, Predicate, Step, Test};
use super::write::CONTEXT;
use crate::error::SqlError;
use crate::relational::errors;

/// Something a path finds.
#[derive(Clone, Copy)]
pub(super) enum Item<'a, 'd> {
    /// The document, an element, a text.
    Node(Node<'a, 'd>),
    /// An attribute of an element.
    Attribute(Node<'a, 'd>, Attribute<'a, 'd>),
}

impl Item<'_, '_> {
    /// All text in it.
    pub(super) fn string(&self) -> String {
        match self {
            Item::Attribute(_, attribute) => attribute.value().to_owned(),
            Item::Node(node) if node.is_text() => node.text().unwrap_or_default().to_owned(),
            Item::Node(node) => node.descendants().filter(Node::is_text).filter_map(|it| it.text()).collect(),
        }
    }
}

/// Where paths start: the document's own place, and the node that relative ones start from.
#[derive(Clone, Copy)]
pub(super) struct Context<'a, 'd> {
    /// What stands for the document: its children are the roots.
    top: Node<'a, 'd>,
    start: Item<'a, 'd>,
    /// It is a row of `.nodes()`, of which only the one node is kept.
    is_row: bool,
}

impl Context<'_, '_> {
    /// Whether the path can be followed from here.
    ///
    /// # Errors
    /// 40510 for a path out of the node of a row.
    pub(super) fn check(&self, path: &Path) -> Result<(), SqlError> {
        if self.is_row && path.looks_around() {
            return Err(SqlError::unsupported("a path out of the node of a row of nodes()"));
        }
        Ok(())
    }
}

/// Parses a value, which may be a fragment or a row of `.nodes()`.
///
/// # Errors
/// 9400
pub(super) fn with_document<T>(text: &str, work: impl FnOnce(Context<'_, '_>) -> T) -> Result<T, SqlError> {
    let whole = format!("<_>{text}</_>");
    let document = Document::parse(&whole)
        .map_err(|error| errors::bad_xml(error.pos().row, error.pos().col, "no xml"))?;
    let top = document.root_element();
    let wrapper = top.first_element_child().filter(|node| node.tag_name().name() == CONTEXT);
    let context = match wrapper {
        None => Context { top, start: Item::Node(top), is_row: false },
        Some(wrapper) => Context { top: wrapper, start: start_in(wrapper), is_row: true },
    };
    Ok(work(context))
}

/// The node that a row of `.nodes()` is about: an attribute of the wrapper, or what it contains.
fn start_in<'a, 'd>(wrapper: Node<'a, 'd>) -> Item<'a, 'd> {
    if let Some(attribute) = wrapper.attributes().next() {
        return Item::Attribute(wrapper, attribute);
    }
    Item::Node(wrapper.first_child().unwrap_or(wrapper))
}

/// Everything the path finds, in the order of the document.
pub(super) fn select<'a, 'd>(path: &Path, context: Context<'a, 'd>) -> Vec<Item<'a, 'd>> {
    let start = if path.absolute { Item::Node(context.top) } else { context.start };
    let mut found = vec![start];
    for step in &path.steps {
        found = found.into_iter().flat_map(|item| taken(step, item, context)).collect();
    }
    match path.of_all {
        None => found,
        Some(position) => at(position, found),
    }
}

fn at<'a, 'd>(position: Position, found: Vec<Item<'a, 'd>>) -> Vec<Item<'a, 'd>> {
    let place = match position {
        Position::Number(number) => number.checked_sub(1),
        Position::Last => found.len().checked_sub(1),
    };
    place.and_then(|place| found.get(place).copied()).into_iter().collect()
}

fn taken<'a, 'd>(step: &Step, item: Item<'a, 'd>, context: Context<'a, 'd>) -> Vec<Item<'a, 'd>> {
    match (step.axis, item) {
        (Axis::Itself, item) => kept(step, vec![item], context),
        (Axis::Parent, Item::Attribute(owner, _)) => kept(step, vec![Item::Node(owner)], context),
        (Axis::Parent, Item::Node(node)) => {
            let parent = node.parent().filter(|_| node != context.top);
            kept(step, parent.map(Item::Node).into_iter().collect(), context)
        }
        (_, Item::Attribute(..)) => Vec::new(),
        (Axis::Attribute, Item::Node(node)) => {
            let all =
                node.attributes().filter(|attribute| names(step, attribute.namespace(), attribute.name()));
            kept(step, all.map(|attribute| Item::Attribute(node, attribute)).collect(), context)
        }
        (Axis::Child, Item::Node(node)) => kept(step, children(step, node), context),
        // Predicates count among the children of one parent, as `//a[1]` does.
        (Axis::Descendant, Item::Node(node)) => {
            let parents = node.descendants().filter(|it| *it == node || it.is_element());
            parents.flat_map(|parent| kept(step, children(step, parent), context)).collect()
        }
    }
}

fn children<'a, 'd>(step: &Step, node: Node<'a, 'd>) -> Vec<Item<'a, 'd>> {
    let fits = |child: &Node<'_, '_>| match &step.test {
        Test::Text => child.is_text(),
        Test::Any => child.is_text() || child.is_element(),
        _ => child.is_element() && names(step, child.tag_name().namespace(), child.tag_name().name()),
    };
    node.children().filter(fits).map(Item::Node).collect()
}

fn names(step: &Step, namespace: Option<&str>, local: &str) -> bool {
    match &step.test {
        Test::Name { namespace: wanted, local: name } => {
            local == name && wanted.as_ref().is_none_or(|wanted| wanted == namespace.unwrap_or_default())
        }
        Test::AnyName | Test::Any => true,
        Test::Text => false,
    }
}

fn kept<'a, 'd>(step: &Step, found: Vec<Item<'a, 'd>>, context: Context<'a, 'd>) -> Vec<Item<'a, 'd>> {
    step.predicates.iter().fold(found, |found, predicate| match predicate {
        Predicate::At(position) => at(*position, found),
        Predicate::Has(path) => found
            .into_iter()
            .filter(|item| !select(path, Context { start: *item, ..context }).is_empty())
            .collect(),
        Predicate::Compares { path, text, equal } => {
            let fits = |item: &Item<'a, 'd>| {
                let inner = select(path, Context { start: *item, ..context });
                inner.iter().any(|inner| (inner.string() == *text) == *equal)
            };
            found.into_iter().filter(fits).collect()
        }
    })
}
