//! One running program: where it stands, its variables, and what it is (a batch, a dynamic batch, a procedure).
//!
//! This file must not know the engine or run statements.

use std::sync::Arc;

use super::cursor::Cursors;
use super::errors;
use super::program::{DeclaredContent, Program};
use crate::error::SqlError;
use crate::relational::{TableVariable, resolve_type};
use crate::tsql::ast::name::eq_ignore_case;
use crate::value::{SqlType, Value};

/// A running program.
pub(super) struct Frame {
    /// What runs.
    pub(super) program: Arc<Program>,
    /// The step that runs now.
    pub(super) at: usize,
    /// Its variables and parameters.
    pub(super) variables: Variables,
    /// Its LOCAL cursors.
    pub(super) cursors: Cursors,
    /// Names of the temporary tables it made; they end with a nested frame.
    pub(super) temporary_tables: Vec<String>,
    /// Name of the procedure, empty outside of one; goes into errors.
    pub(super) procedure: String,
    /// What it is.
    pub(super) kind: FrameKind,
    /// How many caught errors there were when it began; those belong to its callers.
    pub(super) caught_before: usize,
    /// What RETURN said.
    pub(super) return_status: i32,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// The client's batch.
    Batch,
    /// `EXEC ('..')`.
    Dynamic,
    /// A stored procedure.
    Procedure,
    /// `sp_executesql` and prepared statements.
    Parameterised,
}

/// A variable given to a program from outside: a parameter.
#[derive(Debug, Clone)]
pub(super) struct ParameterValue {
    /// Its name with the `@`.
    pub(super) name: String,
    /// Declared type.
    pub(super) ty: SqlType,
    /// Value, already of that type.
    pub(super) value: Value,
}

/// The variables of a frame.
#[derive(Default)]
pub(super) struct Variables {
    slots: Vec<Slot>,
}

/// One variable.
struct Slot {
    name: String,
    /// The step that declares it; the name is unknown before.
    visible_from: usize,
    content: Content,
}

/// What a variable holds.
enum Content {
    Scalar(SqlType, Value),
    Table(TableVariable),
    Cursor,
}

impl Frame {
    /// A frame of no program, to evaluate constants in.
    pub(super) fn bare() -> Frame {
        Frame {
            program: Arc::new(Program::default()),
            at: 0,
            variables: Variables::default(),
            cursors: Cursors::default(),
            temporary_tables: Vec::new(),
            procedure: String::new(),
            kind: FrameKind::Batch,
            caught_before: 0,
            return_status: 0,
        }
    }

    /// A frame at the beginning of `program`.
    ///
    /// # Errors
    /// 137 and 1087 when it uses a variable that neither it nor its caller declares, 134 when the program declares a
    /// parameter's name again, 2715 for an unknown type, and what is wrong with a table variable's definition.
    pub(super) fn new(
        program: Arc<Program>,
        kind: FrameKind,
        parameters: Vec<ParameterValue>,
        caught_before: usize,
    ) -> Result<Frame, SqlError> {
        program.check_variables(|name| parameters.iter().any(|it| eq_ignore_case(&it.name, name)))?;
        let variables = Variables::of(&program, parameters)?;
        Ok(Frame {
            program,
            at: 0,
            variables,
            cursors: Cursors::default(),
            temporary_tables: Vec::new(),
            procedure: String::new(),
            kind,
            caught_before,
            return_status: 0,
        })
    }
}

impl Variables {
    fn of(program: &Program, parameters: Vec<ParameterValue>) -> Result<Variables, SqlError> {
        let mut variables = Variables::default();
        for parameter in parameters {
            let content = Content::Scalar(parameter.ty, parameter.value);
            variables.add(parameter.name, 0, content)?;
        }
        for declared in &program.variables {
            let content = content(&declared.content).map_err(|error| error.at_line(declared.line))?;
            variables
                .add(declared.name.as_str().to_owned(), declared.step, content)
                .map_err(|error| error.at_line(declared.line))?;
        }
        Ok(variables)
    }

    fn add(&mut self, name: String, visible_from: usize, content: Content) -> Result<(), SqlError> {
        if self.slots.iter().any(|slot| eq_ignore_case(&slot.name, &name)) {
            return Err(errors::variable_declared_twice(&name));
        }
        self.slots.push(Slot { name, visible_from, content });
        Ok(())
    }

    /// Where a variable is kept, if step `at` may use its name.
    pub(super) fn find(&self, name: &str, at: usize) -> Option<usize> {
        let known = |slot: &Slot| slot.visible_from <= at && eq_ignore_case(&slot.name, name);
        self.slots.iter().position(known)
    }

    /// Type and value of a scalar variable.
    pub(super) fn scalar(&self, slot: usize) -> Option<(&SqlType, &Value)> {
        match &self.slots.get(slot)?.content {
            Content::Scalar(ty, value) => Some((ty, value)),
            Content::Table(_) | Content::Cursor => None,
        }
    }

    /// Stores a value of the variable's own type.
    pub(super) fn set(&mut self, slot: usize, new: Value) {
        if let Some(Slot { content: Content::Scalar(_, value), .. }) = self.slots.get_mut(slot) {
            *value = new;
        }
    }

    /// The table in a table variable.
    pub(super) fn table(&self, slot: usize) -> Option<&TableVariable> {
        match &self.slots.get(slot)?.content {
            Content::Table(table) => Some(table),
            Content::Scalar(..) | Content::Cursor => None,
        }
    }

    /// The table in a table variable, to change.
    pub(super) fn table_mut(&mut self, slot: usize) -> Option<&mut TableVariable> {
        match &mut self.slots.get_mut(slot)?.content {
            Content::Table(table) => Some(table),
            Content::Scalar(..) | Content::Cursor => None,
        }
    }

    /// Type and value of the parameter or variable of that name, wherever it is declared.
    pub(super) fn value_of(&self, name: &str) -> Option<(SqlType, Value)> {
        let slot = self.find(name, usize::MAX)?;
        self.scalar(slot).map(|(ty, value)| (*ty, value.clone()))
    }
}

fn content(declared: &DeclaredContent) -> Result<Content, SqlError> {
    match declared {
        DeclaredContent::Scalar(data_type) => Ok(Content::Scalar(resolve_type(data_type)?, Value::Null)),
        DeclaredContent::Table(elements) => TableVariable::define(elements).map(Content::Table),
        DeclaredContent::Cursor => Ok(Content::Cursor),
    }
}
