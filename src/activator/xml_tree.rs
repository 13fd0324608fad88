//! Reads one small XML document into a tree in which everything knows its line.
//!
//! Built on quick-xml's event reader, which supplies namespaces and entities; this file adds the well-formedness rules
//! that the event reader leaves to its caller. Knows no schema: what the elements mean is the caller's business.

use crate::activator::text::LineIndex;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::attributes::Attribute as RawAttribute;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

/// Deeper documents are refused: no document that is read here has more than five levels.
const MAX_DEPTH: usize = 64;

/// An element, its attributes and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    /// Name without prefix.
    pub(crate) name: String,
    /// Namespace, if the name is in one.
    pub(crate) namespace: Option<String>,
    /// Line of the start tag.
    pub(crate) line: u32,
    /// Attributes in document order, without namespace declarations.
    pub(crate) attributes: Vec<Attribute>,
    /// Child elements in document order.
    pub(crate) children: Vec<Element>,
    /// All character data directly inside, joined.
    pub(crate) text: String,
    /// Line of the first character data that is not white space.
    pub(crate) text_line: Option<u32>,
}

/// An attribute with its value, entities resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Name without prefix.
    pub(crate) name: String,
    /// Namespace, if the name has a prefix.
    pub(crate) namespace: Option<String>,
    /// The value.
    pub(crate) value: String,
    /// Line on which the name stands.
    pub(crate) line: u32,
}

/// The document is not well-formed XML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotXml {
    /// Line of the fault.
    pub(crate) line: u32,
    /// What is wrong there.
    pub(crate) message: String,
}

/// A document: its root element and the encoding its declaration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    /// The root element.
    pub(crate) root: Element,
    /// `encoding` of the XML declaration, if it has one.
    pub(crate) declared_encoding: Option<String>,
    /// The processing instructions, target and all, in document order.
    pub(crate) instructions: Vec<String>,
    /// Whether there is a comment in it.
    pub(crate) has_comments: bool,
}

/// Parses `text`, which must hold one element and nothing but comments and white space around it.
pub(crate) fn parse(text: &str) -> Result<Document, NotXml> {
    let mut builder = Builder::new(text);
    let mut reader = NsReader::from_str(text);
    reader.config_mut().check_comments = true;
    loop {
        builder.offset = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event().map_err(|error| {
            let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
            builder.fault_at(at, error.to_string())
        })?;
        if matches!(event, Event::Eof) {
            return builder.finish();
        }
        builder.accept(&reader, &event)?;
    }
}

struct Builder<'t> {
    source: &'t str,
    lines: LineIndex,
    /// Where the event in hand begins.
    offset: usize,
    declared_encoding: Option<String>,
    instructions: Vec<String>,
    has_comments: bool,
    open: Vec<Element>,
    root: Option<Element>,
}

impl<'t> Builder<'t> {
    fn new(source: &'t str) -> Self {
        Self {
            source,
            lines: LineIndex::new(source),
            offset: 0,
            declared_encoding: None,
            instructions: Vec::new(),
            has_comments: false,
            open: Vec::new(),
            root: None,
        }
    }

    fn accept(&mut self, reader: &NsReader<&[u8]>, event: &Event<'t>) -> Result<(), NotXml> {
        match event {
            Event::Start(start) => self.start(reader, start),
            Event::Empty(start) => {
                self.start(reader, start)?;
                self.end();
                Ok(())
            }
            Event::End(_) => {
                self.end();
                Ok(())
            }
            Event::Text(text) => self.text(&text.xml10_content()),
            Event::CData(data) => self.text(&data.xml10_content()),
            Event::GeneralRef(reference) => self.reference(reference),
            Event::Decl(declaration) => self.declaration(declaration.encoding()),
            Event::DocType(_) => Err(self.fault("a document type declaration is not allowed")),
            Event::PI(instruction) => {
                self.instructions.push(instruction.to_string());
                Ok(())
            }
            Event::Comment(_) => {
                self.has_comments = true;
                Ok(())
            }
            Event::Eof => Ok(()),
        }
    }

    fn start(&mut self, reader: &NsReader<&[u8]>, start: &BytesStart<'t>) -> Result<(), NotXml> {
        if self.open.is_empty() && self.root.is_some() {
            return Err(self.fault("only one root element is allowed"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.fault(format!("elements are nested more than {MAX_DEPTH} deep")));
        }
        let (namespace, name) = reader.resolver().resolve_element(start.name());
        let element = Element {
            name: name.as_ref().to_owned(),
            namespace: self.namespace(&namespace)?,
            line: self.lines.line(self.offset),
            attributes: self.attributes(reader, start)?,
            children: Vec::new(),
            text: String::new(),
            text_line: None,
        };
        self.open.push(element);
        Ok(())
    }

    fn attributes(&self, reader: &NsReader<&[u8]>, start: &BytesStart<'t>) -> Result<Vec<Attribute>, NotXml> {
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.fault(error.to_string()))?;
            if attribute.key.as_namespace_binding().is_none() {
                attributes.push(self.attribute(reader, &attribute)?);
            }
        }
        Ok(attributes)
    }

    fn attribute(&self, reader: &NsReader<&[u8]>, attribute: &RawAttribute<'_>) -> Result<Attribute, NotXml> {
        let at = self.offset_of(attribute.key.as_ref());
        let (namespace, name) = reader.resolver().resolve_attribute(attribute.key);
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| self.fault_at(at, error.to_string()))?;
        Ok(Attribute {
            name: name.as_ref().to_owned(),
            namespace: self.namespace(&namespace)?,
            value: value.into_owned(),
            line: self.lines.line(at),
        })
    }

    /// The reader gives no position for an attribute, but its events borrow from the source, so the distance between
    /// the two slices is the position. Should a slice ever come from elsewhere, the element's position is used.
    fn offset_of(&self, part: &str) -> usize {
        let distance = (part.as_ptr() as usize).wrapping_sub(self.source.as_ptr() as usize);
        if distance < self.source.len() { distance } else { self.offset }
    }

    fn namespace(&self, result: &ResolveResult<'_>) -> Result<Option<String>, NotXml> {
        match result {
            ResolveResult::Bound(namespace) => Ok(Some(namespace.into_inner().to_owned())),
            ResolveResult::Unbound => Ok(None),
            ResolveResult::Unknown(prefix) => {
                Err(self.fault(format!("namespace prefix '{prefix}' is not declared")))
            }
        }
    }

    fn end(&mut self) {
        let Some(done) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(done),
            None => self.root = Some(done),
        }
    }

    fn text(&mut self, content: &str) -> Result<(), NotXml> {
        if let Some(bad) = content.chars().find(|c| !is_xml_char(*c)) {
            return Err(self.fault(format!("character U+{:04X} is not allowed in XML", u32::from(bad))));
        }
        let blank = content.trim_start();
        let line = self.lines.line(self.offset + (content.len() - blank.len()));
        match self.open.last_mut() {
            Some(element) => {
                element.text.push_str(content);
                if !blank.is_empty() {
                    element.text_line.get_or_insert(line);
                }
                Ok(())
            }
            None if blank.is_empty() => Ok(()),
            None => Err(NotXml { line, message: "text outside the root element".to_owned() }),
        }
    }

    fn reference(&mut self, reference: &BytesRef<'t>) -> Result<(), NotXml> {
        let resolved = reference.resolve_char_ref().map_err(|error| self.fault(error.to_string()))?;
        if let Some(character) = resolved {
            return self.text(character.encode_utf8(&mut [0; 4]));
        }
        let name = reference.xml10_content();
        match resolve_xml_entity(&name) {
            Some(value) => self.text(value),
            // The name is not repeated: an unescaped ampersand in a password looks like an entity.
            None => Err(self.fault("an entity that is not defined; an ampersand is written &amp;")),
        }
    }

    fn declaration<E: ToString>(
        &mut self,
        encoding: Option<Result<std::borrow::Cow<'_, str>, E>>,
    ) -> Result<(), NotXml> {
        if self.offset != 0 {
            return Err(self.fault("the XML declaration must be the first thing in the file"));
        }
        if let Some(encoding) = encoding {
            let encoding = encoding.map_err(|error| self.fault(error.to_string()))?;
            self.declared_encoding = Some(encoding.into_owned());
        }
        Ok(())
    }

    fn finish(self) -> Result<Document, NotXml> {
        if let Some(open) = self.open.last() {
            return Err(NotXml {
                line: open.line,
                message: format!("element <{}> is not closed", open.name),
            });
        }
        match self.root {
            Some(root) => Ok(Document {
                root,
                declared_encoding: self.declared_encoding,
                instructions: self.instructions,
                has_comments: self.has_comments,
            }),
            None => Err(NotXml { line: 1, message: "the document has no root element".to_owned() }),
        }
    }

    fn fault(&self, message: impl Into<String>) -> NotXml {
        self.fault_at(self.offset, message.into())
    }

    fn fault_at(&self, offset: usize, message: String) -> NotXml {
        NotXml { line: self.lines.line(offset), message }
    }
}

/// The `Char` production of XML 1.0.
fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, parse};

    fn fault(text: &str) -> (u32, String) {
        let fault = parse(text).unwrap_err();
        (fault.line, fault.message)
    }

    #[test]
    fn elements_attributes_and_text_know_their_lines() {
        let root =
            parse("<a xmlns='urn:x'>\n <b one='1'\n  two='&lt;2'>\n\n text &amp; <![CDATA[<more>]]></b></a>")
                .unwrap()
                .root;
        assert_eq!((root.namespace.as_deref(), root.line), (Some("urn:x"), 1));
        let b = &root.children[0];
        assert_eq!((b.line, b.text_line, b.text.trim()), (2, Some(5), "text & <more>"));
        let lines: Vec<_> = b.attributes.iter().map(|a| (a.value.as_str(), a.line)).collect();
        assert_eq!(lines, [("1", 2), ("<2", 3)]);
    }

    #[test]
    fn what_is_not_well_formed_is_refused_where_it_stands() {
        assert_eq!(fault("<a>\n<b>\n</a>").0, 3);
        assert_eq!(fault("<a>\n<b>"), (2, "element <b> is not closed".to_owned()));
        assert_eq!(fault("<a/>\n<b/>").0, 2);
        assert_eq!(fault("<a/>\n\n x"), (3, "text outside the root element".to_owned()));
        assert_eq!(
            fault("<a>\n&nope;</a>"),
            (2, "an entity that is not defined; an ampersand is written &amp;".to_owned())
        );
        assert_eq!(fault("<a>\u{1}</a>"), (1, "character U+0001 is not allowed in XML".to_owned()));
        assert_eq!(fault("<!DOCTYPE a><a/>").0, 1);
        assert_eq!(fault("<a\n b='1'\n b='2'/>").0, 1);
        assert_eq!(fault("<p:a/>"), (1, "namespace prefix 'p' is not declared".to_owned()));
        assert_eq!(fault(""), (1, "the document has no root element".to_owned()));
        assert_eq!(fault("<a>\n<!-- -- --></a>").0, 2);
        assert!(parse("<a b=c/>").is_err());
    }

    #[test]
    fn a_document_of_absurd_depth_is_refused() {
        let text = "<a>".repeat(MAX_DEPTH + 1);
        assert!(fault(&text).1.contains("nested"));
    }
}
