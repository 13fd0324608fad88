//! Golden scripts of the embedded broker: `testscripts/<area>/<name>`, each on a broker of its own with a clock the script moves.
//!
//! A script says what several sessions do and what each of them sees; the syntax is that of the crate `goldenscript`, the
//! commands are those of `golden/commands.rs`. `UPDATE_GOLDENFILES=1` writes what the emulator answers into the scripts: read
//! the difference against the specification before it is kept. This file must not know what a script contains.

#[path = "golden/mod.rs"]
mod support;

/// One test for each folder of scripts, and one that no folder is left out.
macro_rules! areas {
    ($($area:ident)*) => {
        $(#[test]
        fn $area() {
            support::run_area(stringify!($area));
        })*

        #[test]
        fn every_folder_of_scripts_is_run() {
            assert_eq!(support::areas(), [$(stringify!($area)),*]);
        }
    };
}

areas! { activation catalog ddl delivery dialogs permissions poison receive send transactions tsql waiting }
