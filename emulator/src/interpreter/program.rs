//! A batch made ready to run: its statements laid out flat, with jumps for the flow of control.
//!
//! Nested blocks become steps in the order of the text. Each step knows the CATCH block that guards it and how many
//! CATCH blocks it stands in, so BREAK, GOTO, RETURN and errors leave blocks by merely going elsewhere. Pure; this file
//! must not know sessions or values.

use std::sync::Arc;

use super::errors;
use crate::error::SqlError;
use crate::tsql::ast::Condition;
use crate::tsql::ast::ddl::TableElement;
use crate::tsql::ast::name::{DataTypeName, Ident, Span, VariableName};
use crate::tsql::ast::statement::{
    Declaration, If, Statement, StatementKind, TryCatch, UndeclaredVariable, While,
};
use crate::tsql::{ParseOptions, parse_batch};

/// A batch, procedure body or dynamic batch, ready to run.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// The text it comes from.
    pub(super) text: Arc<str>,
    /// The steps; running off their end ends the program.
    pub(super) steps: Vec<Step>,
    /// Every variable the text declares, wherever.
    pub(super) variables: Vec<DeclaredVariable>,
    /// Variables it uses without a declaration before; each must be a parameter.
    undeclared: Vec<UndeclaredVariable>,
}

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    /// Line of the statement it comes from, 1-based.
    pub(super) line: u32,
    /// Where that statement stands in the text.
    pub(super) span: Span,
    /// Where an error caught here goes on: the first step of the CATCH block.
    pub(super) handler: Option<usize>,
    /// How many CATCH blocks that CATCH block stands in; errors caught further inside are over when it begins.
    pub(super) handler_depth: usize,
    /// How many CATCH blocks it stands in.
    pub(super) catch_depth: usize,
    /// What it does.
    pub(super) action: Action,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Action {
    /// Runs a statement that contains no other.
    Run(StatementKind),
    /// Goes on when the condition is true, else at `otherwise`.
    Branch {
        /// What decides.
        condition: Condition,
        /// Where to go when it is false or unknown.
        otherwise: usize,
    },
    /// Goes on there.
    Jump(usize),
}

/// A variable of a program.
#[derive(Debug)]
pub(super) struct DeclaredVariable {
    /// Its name.
    pub(super) name: VariableName,
    /// What it holds.
    pub(super) content: DeclaredContent,
    /// The step that declares it; before that step the name is unknown (137).
    pub(super) step: usize,
    /// Line of the declaration.
    pub(super) line: u32,
}

/// What a declared variable holds.
#[derive(Debug)]
pub(super) enum DeclaredContent {
    /// One value.
    Scalar(DataTypeName),
    /// Rows.
    Table(Vec<TableElement>),
    /// A cursor.
    Cursor,
}

impl Program {
    /// Parses a text and lays it out.
    ///
    /// # Errors
    /// What is wrong with the text as a whole, so that nothing of it runs.
    pub(crate) fn parse(text: &str, quoted_identifier: bool) -> Result<Program, SqlError> {
        let batch = parse_batch(text, ParseOptions { quoted_identifier }).map_err(errors::syntax)?;
        Ok(Program { undeclared: batch.undeclared, ..Program::new(text, batch.statements)? })
    }

    /// Checks that every variable is declared, or one of the parameters.
    ///
    /// # Errors
    /// 137, or 1087 where a table is asked for: nothing of the program may run then.
    pub(super) fn check_variables(&self, is_parameter: impl Fn(&str) -> bool) -> Result<(), SqlError> {
        let missing = self.undeclared.iter().find(|used| !is_parameter(used.name.as_str()));
        match missing {
            None => Ok(()),
            Some(used) if used.is_table => {
                Err(errors::table_variable_not_declared(used.name.as_str()).at_line(used.line))
            }
            Some(used) => Err(errors::variable_not_declared(used.name.as_str()).at_line(used.line)),
        }
    }

    /// Lays out the statements of a text: a batch's, or those of a procedure's body.
    ///
    /// # Errors
    /// What is wrong with the whole text, so that nothing of it runs: 132 to 136 and 1026.
    pub(super) fn new(text: &str, statements: Vec<Statement>) -> Result<Program, SqlError> {
        let mut layout = Layout::default();
        layout.statements(statements)?;
        layout.resolve_gotos()?;
        Ok(Program {
            text: text.into(),
            steps: layout.steps,
            variables: layout.variables,
            undeclared: Vec::new(),
        })
    }
}

/// The blocks around a place in the text, outermost first: each TRY and each CATCH has a number of its own.
type Blocks = Vec<usize>;

/// The program under construction.
#[derive(Default)]
struct Layout {
    steps: Vec<Step>,
    variables: Vec<DeclaredVariable>,
    labels: Vec<(Ident, usize, Blocks)>,
    gotos: Vec<(Ident, usize, Blocks)>,
    loops: Vec<Loop>,
    blocks: Blocks,
    blocks_so_far: usize,
    /// Steps of the TRY blocks around here that still await the step their CATCH begins at.
    guarded: Vec<Vec<usize>>,
    catch_depth: usize,
    /// The statement that is laid out.
    span: Span,
}

/// A WHILE around a place.
struct Loop {
    begin: usize,
    /// Jumps that leave it.
    breaks: Vec<usize>,
}

/// Stands in jumps whose target is not known yet.
const UNRESOLVED: usize = usize::MAX;

impl Layout {
    fn statements(&mut self, statements: Vec<Statement>) -> Result<(), SqlError> {
        statements.into_iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: Statement) -> Result<(), SqlError> {
        let line = statement.line;
        self.span = statement.span;
        match statement.kind {
            StatementKind::Block(inner) => self.statements(inner),
            StatementKind::If(branch) => self.branch(line, *branch),
            StatementKind::While(repeat) => self.repeat(line, *repeat),
            StatementKind::TryCatch(blocks) => self.try_catch(line, *blocks),
            StatementKind::Break => self.leave_loop(line).map_err(|error| error.at_line(line)),
            StatementKind::Continue => self.next_pass(line).map_err(|error| error.at_line(line)),
            StatementKind::Label(label) => self.label(label).map_err(|error| error.at_line(line)),
            StatementKind::Goto(label) => {
                let at = self.push(line, Action::Jump(UNRESOLVED));
                self.gotos.push((label, at, self.blocks.clone()));
                Ok(())
            }
            StatementKind::Declare(declarations) => self.declare(line, declarations),
            kind => {
                self.push(line, Action::Run(kind));
                Ok(())
            }
        }
    }

    fn push(&mut self, line: u32, action: Action) -> usize {
        let at = self.steps.len();
        self.steps.push(Step {
            line,
            span: self.span,
            handler: None,
            handler_depth: 0,
            catch_depth: self.catch_depth,
            action,
        });
        if let Some(guarded) = self.guarded.last_mut() {
            guarded.push(at);
        }
        at
    }

    fn branch(&mut self, line: u32, branch: If) -> Result<(), SqlError> {
        let test = self.push(line, Action::Branch { condition: branch.condition, otherwise: UNRESOLVED });
        self.statement(branch.then)?;
        let Some(otherwise) = branch.otherwise else {
            self.aim_here(test);
            return Ok(());
        };
        let skip = self.push(line, Action::Jump(UNRESOLVED));
        self.aim_here(test);
        self.statement(otherwise)?;
        self.aim_here(skip);
        Ok(())
    }

    fn repeat(&mut self, line: u32, repeat: While) -> Result<(), SqlError> {
        let begin = self.push(line, Action::Branch { condition: repeat.condition, otherwise: UNRESOLVED });
        self.loops.push(Loop { begin, breaks: Vec::new() });
        self.statement(repeat.body)?;
        self.push(line, Action::Jump(begin));
        let finished = self.loops.pop().expect("the loop pushed above");
        self.aim_here(begin);
        finished.breaks.into_iter().for_each(|jump| self.aim_here(jump));
        Ok(())
    }

    fn try_catch(&mut self, line: u32, blocks: TryCatch) -> Result<(), SqlError> {
        self.guarded.push(Vec::new());
        self.within_block(|layout| layout.statements(blocks.try_block))?;
        let guarded = self.guarded.pop().expect("pushed above");
        let skip = self.push(line, Action::Jump(UNRESOLVED));
        let handler = self.steps.len();
        for step in guarded {
            self.steps[step].handler = Some(handler);
            self.steps[step].handler_depth = self.catch_depth;
        }
        self.catch_depth += 1;
        self.within_block(|layout| layout.statements(blocks.catch_block))?;
        self.catch_depth -= 1;
        self.aim_here(skip);
        Ok(())
    }

    fn within_block(
        &mut self,
        inside: impl FnOnce(&mut Layout) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.blocks_so_far += 1;
        self.blocks.push(self.blocks_so_far);
        let outcome = inside(self);
        self.blocks.pop();
        outcome
    }

    fn leave_loop(&mut self, line: u32) -> Result<(), SqlError> {
        if self.loops.is_empty() {
            return Err(errors::break_outside_loop());
        }
        let jump = self.push(line, Action::Jump(UNRESOLVED));
        let innermost = self.loops.last_mut().expect("checked above");
        innermost.breaks.push(jump);
        Ok(())
    }

    fn next_pass(&mut self, line: u32) -> Result<(), SqlError> {
        let begin = self.loops.last().ok_or_else(errors::continue_outside_loop)?.begin;
        self.push(line, Action::Jump(begin));
        Ok(())
    }

    fn label(&mut self, label: Ident) -> Result<(), SqlError> {
        if self.labels.iter().any(|(known, ..)| known.is(label.as_str())) {
            return Err(errors::label_twice(label.as_str()));
        }
        self.labels.push((label, self.steps.len(), self.blocks.clone()));
        Ok(())
    }

    fn declare(&mut self, line: u32, declarations: Vec<Declaration>) -> Result<(), SqlError> {
        let step = self.steps.len();
        for declaration in &declarations {
            let (name, content) = declared(declaration);
            if self.variables.iter().any(|known| known.name == *name) {
                return Err(errors::variable_declared_twice(name.as_str()).at_line(line));
            }
            self.variables.push(DeclaredVariable { name: name.clone(), content, step, line });
        }
        self.push(line, Action::Run(StatementKind::Declare(declarations)));
        Ok(())
    }

    fn resolve_gotos(&mut self) -> Result<(), SqlError> {
        for (label, at, blocks) in std::mem::take(&mut self.gotos) {
            let line = self.steps[at].line;
            let target = self.labels.iter().find(|(known, ..)| known.is(label.as_str()));
            let (_, target, target_blocks) =
                target.ok_or_else(|| errors::label_not_found(label.as_str()).at_line(line))?;
            if !blocks.starts_with(target_blocks) {
                return Err(errors::goto_into_try(label.as_str()).at_line(line));
            }
            self.steps[at].action = Action::Jump(*target);
        }
        Ok(())
    }

    /// Lets the jump or branch at `step` lead to the step that comes next.
    fn aim_here(&mut self, step: usize) {
        let here = self.steps.len();
        match &mut self.steps[step].action {
            Action::Jump(target) | Action::Branch { otherwise: target, .. } => *target = here,
            Action::Run(_) => {}
        }
    }
}

fn declared(declaration: &Declaration) -> (&VariableName, DeclaredContent) {
    match declaration {
        Declaration::Scalar { name, data_type, .. } => (name, DeclaredContent::Scalar(data_type.clone())),
        Declaration::Table { name, elements } => (name, DeclaredContent::Table(elements.clone())),
        Declaration::Cursor(name) => (name, DeclaredContent::Cursor),
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
