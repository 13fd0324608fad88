//! The map in ARCHITECTURE.md and the directions of design: every path named exists, and nothing imports what it must
//! not know. Each invariant is the absence of a word in the code of a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that must not stand in the code (comments left out) of the files below the given places.
struct Absence {
    below: &'static [&'static str],
    except: &'static [&'static str],
    words: &'static [&'static str],
    why: &'static str,
}

const ABSENCES: &[Absence] = &[
    Absence {
        below: &["src/client"],
        except: &[],
        words: &["crate::activator", "crate::cli::", "crate::logging", "ssbroker_emulator"],
        why: "the client knows neither activator, command line nor emulator",
    },
    Absence {
        below: &["src/client"],
        except: &["src/client/session", "src/client/pool.rs", "src/client/outbox"],
        words: &["tiberius", "bb8"],
        why: "only session, pool and outbox name the driver",
    },
    Absence {
        below: &["src/client"],
        except: &[],
        words: &["WITH CLEANUP"],
        why: "cleaning a conversation away tells nobody, so it is left to the command line (case C050)",
    },
    Absence {
        below: &["src/activator"],
        except: &[],
        words: &["crate::cli::", "tiberius", "bb8", "ssbroker_emulator"],
        why: "the activator uses the client's public names only",
    },
    Absence {
        below: &["emulator/src"],
        except: &[],
        words: &["ssbroker::", "tiberius"],
        why: "the emulator knows nothing of the client",
    },
    Absence {
        below: &["emulator/src/engine"],
        except: &[],
        words: &[
            "crate::tsql",
            "crate::tds",
            "crate::interpreter",
            "crate::relational",
            "crate::catalog",
            "tokio",
            "SystemTime",
            "Instant",
            "async fn",
            "crate::clock",
        ],
        why: "the engine holds no SQL text, tokens, sockets, clock or async code",
    },
    Absence {
        below: &["emulator/src/tds"],
        except: &[],
        words: &["crate::tsql", "crate::engine", "crate::interpreter", "crate::relational", "crate::catalog"],
        why: "the wire knows values but no SQL",
    },
    Absence {
        below: &["emulator/src/tsql"],
        except: &[],
        words: &[
            "crate::engine",
            "crate::value",
            "crate::tds",
            "crate::interpreter",
            "crate::relational",
            "tokio",
        ],
        why: "the parser knows no engine",
    },
    Absence {
        below: &[
            "src/activator/slots.rs",
            "src/activator/exit_policy.rs",
            "src/activator/resident.rs",
            "src/activator/feed/body.rs",
            "src/activator/feed/protocol.rs",
            "src/activator/feed/session",
            "src/activator/feed/decisions.rs",
            "src/activator/feed/trouble.rs",
            "src/activator/feed/deferrals.rs",
            "src/activator/output/lines.rs",
            "src/activator/supervisor.rs",
            "src/activator/supervisor",
            "src/activator/notification.rs",
            "src/activator/reconcile/judge.rs",
            "src/activator/reconcile/findings.rs",
            "src/activator/reconcile/rights.rs",
            "src/activator/reenabling/guard.rs",
            "src/activator/metrics.rs",
            "src/activator/config/diff",
            "src/client/poison.rs",
            "src/client/retry.rs",
            "src/client/dialog_pool/core.rs",
            "src/client/dialog_pool/cause.rs",
            "src/client/dialog_pool/rate.rs",
            "src/client/request/verdict.rs",
        ],
        except: &[],
        words: &["std::fs", "tokio", "SystemTime", "Instant::now", "std::net", "std::process"],
        why: "decisions do no IO and read no clock",
    },
    Absence {
        below: &["src", "emulator/src"],
        except: &["src/main.rs", "src/activator/platform/spawn.rs"],
        words: &["process::exit", "env::var", "env::vars"],
        why: "only main exits the process or reads the environment, which spawn hands on to new processes",
    },
];

#[test]
fn nothing_names_what_it_must_not_know() {
    let mut faults = Vec::new();
    for absence in ABSENCES {
        for file in absence.below.iter().flat_map(|place| rust_files(&root().join(place))) {
            faults.extend(violations(absence, &file));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn t_sql_stands_in_statements_only() {
    let absence = Absence {
        below: &[],
        except: &["src/client/statements", "src/client/server_codes.rs"],
        words: &[
            "RECEIVE TOP",
            "BEGIN DIALOG CONVERSATION",
            "SEND ON CONVERSATION",
            "END CONVERSATION",
            "SELECT ",
        ],
        why: "only statements holds T-SQL",
    };
    let faults: Vec<String> =
        rust_files(&root().join("src/client")).iter().flat_map(|file| sql_literals(&absence, file)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_path_in_the_architecture_page_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is readable");
    let paths: Vec<&str> = page.split('`').skip(1).step_by(2).filter(|code| is_path(code)).collect();
    assert!(paths.len() > 30, "the page names only {} paths", paths.len());
    let missing: Vec<&&str> = paths.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names paths that do not exist: {missing:?}");
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let silent: Vec<PathBuf> = ["src", "emulator/src", "tests"]
        .iter()
        .flat_map(|place| rust_files(&root().join(place)))
        .filter(|file| !fs::read_to_string(file).expect("source is readable").starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "files without an opening `//!`: {silent:?}");
}

fn is_path(code: &str) -> bool {
    let starts = ["src/", "emulator/", "sql/", "tests/", "samples/", "activator-config/", "benches/", ".ci/"];
    starts.iter().any(|start| code.starts_with(start)) && !code.contains([' ', '*', '{', '<'])
}

fn violations(absence: &Absence, file: &Path) -> Vec<String> {
    let name = relative(file);
    if absence.except.iter().any(|except| name.starts_with(except)) || is_test(&name) {
        return Vec::new();
    }
    code_lines(file)
        .filter_map(|(number, line)| {
            let word = absence.words.iter().find(|word| line.contains(**word))?;
            Some(format!("{name}:{number}: names `{word}`, but {}", absence.why))
        })
        .collect()
}

fn sql_literals(absence: &Absence, file: &Path) -> Vec<String> {
    let name = relative(file);
    if absence.except.iter().any(|except| name.starts_with(except)) || is_test(&name) {
        return Vec::new();
    }
    code_lines(file)
        .filter(|(_, line)| line.contains('"') && absence.words.iter().any(|word| line.contains(word)))
        .map(|(number, _)| format!("{name}:{number}: holds T-SQL, but {}", absence.why))
        .collect()
}

/// Unit tests may name anything.
fn is_test(name: &str) -> bool {
    name.ends_with("tests.rs")
        || name.contains("/tests/")
        || name.contains("/testing")
        || name.contains("/conformance/")
}

/// Lines of code up to the unit tests at the file's end, without comments.
fn code_lines(file: &Path) -> impl Iterator<Item = (usize, String)> {
    let text = fs::read_to_string(file).expect("source is readable");
    let lines: Vec<(usize, String)> = text
        .lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default().to_owned()))
        .collect();
    lines.into_iter()
}

fn rust_files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("folder is readable").path())
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}

fn relative(file: &Path) -> String {
    file.strip_prefix(root()).expect("file lies in the project").to_string_lossy().into_owned()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
