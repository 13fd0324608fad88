//! How batches are laid out flat: jumps of loops, labels and TRY blocks.

use super::{Action, Program};

fn number(text: &str) -> i32 {
    Program::parse(text, true).unwrap_err().number
}

/// The steps in short: `r` runs, `j5` jumps, `b5` branches; `!` with the step of the handler, `^` per CATCH around.
fn shape(text: &str) -> String {
    let steps = Program::parse(text, true).unwrap().steps;
    let shown = steps.iter().map(|step| {
        let action = match &step.action {
            Action::Run(_) => "r".to_owned(),
            Action::Jump(target) => format!("j{target}"),
            Action::Branch { otherwise, .. } => format!("b{otherwise}"),
        };
        let handler = step.handler.map_or(String::new(), |handler| format!("!{handler}"));
        format!("{action}{handler}{}", "^".repeat(step.catch_depth))
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn if_and_else_become_jumps() {
    assert_eq!(shape("IF 1 = 1 PRINT 'a' ELSE PRINT 'b'; PRINT 'c'"), "b3 r j4 r r");
    assert_eq!(shape("IF 1 = 1 PRINT 'a'; PRINT 'c'"), "b2 r r");
}

#[test]
fn loops_jump_back_and_break_leaves_the_innermost() {
    let text = "WHILE 1 = 1 BEGIN IF 1 = 2 BREAK; IF 1 = 3 CONTINUE; PRINT 'x' END PRINT 'y'";
    assert_eq!(shape(text), "b7 b3 j7 b5 j0 r j0 r");
}

#[test]
fn try_steps_know_their_handler_and_catch_steps_their_depth() {
    let text = "BEGIN TRY PRINT 'a' END TRY BEGIN CATCH PRINT 'b' END CATCH PRINT 'c'";
    assert_eq!(shape(text), "r!2 j3 r^ r");
}

#[test]
fn an_inner_catch_is_guarded_by_the_outer_try() {
    let text = "BEGIN TRY BEGIN TRY PRINT 'a' END TRY BEGIN CATCH PRINT 'b' END CATCH END TRY BEGIN CATCH PRINT 'c' END CATCH";
    assert_eq!(shape(text), "r!2 j3!4 r!4^ j5 r^");
}

#[test]
fn goto_may_leave_blocks_but_not_enter_them() {
    assert_eq!(shape("BEGIN TRY GOTO out END TRY BEGIN CATCH END CATCH out: PRINT 'x'"), "j2!2 j2 r");
    assert_eq!(number("GOTO inside; BEGIN TRY inside: PRINT 'x' END TRY BEGIN CATCH END CATCH"), 1026);
}

#[test]
fn mistakes_of_the_whole_text_are_found_before_it_runs() {
    assert_eq!(number("DECLARE @a int; DECLARE @A int"), 134);
    assert_eq!(number("BREAK"), 135);
    assert_eq!(number("CONTINUE"), 136);
}
