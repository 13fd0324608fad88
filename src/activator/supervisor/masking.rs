//! Arguments of handlers as they may be shown: without what stands after the name of a password, a token or the like.
//!
//! Pure, and a guess: it knows names, not programs. What is shown too little costs a look into the configuration; so where a
//! value does not say where it ends, the rest is left out with it.

/// Ends of names whose value is a secret, in small letters and without anything but letters and digits.
const SECRETS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secretkey",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "credentials",
];
/// Shown in place of a secret.
const MASK: &str = "***";

/// The arguments with every value masked that its name says is a secret: `--password x`, `/pwd:x`, `token=x`, connection
/// strings, JSON, and the password in a URL.
pub(super) fn masked(arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut is_value = false;
    let mut mask = |argument: String| {
        if std::mem::take(&mut is_value) {
            return MASK.to_owned();
        }
        is_value = is_option(&argument) && is_secret(&argument);
        without_password(&without_values(&argument))
    };
    arguments.into_iter().map(&mut mask).collect()
}

/// `-x`, `--x` and `/x`; not a path with folders.
fn is_option(argument: &str) -> bool {
    let name = argument.split(['=', ':']).next().unwrap_or_default();
    name.starts_with('-') || name.strip_prefix('/').is_some_and(|name| !name.contains('/'))
}

/// Whether a name, which may stand at the end of other text, is that of a secret.
fn is_secret(before: &str) -> bool {
    let before =
        before.trim_end_matches(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\''));
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ' ');
    let begin = before.char_indices().rev().take_while(|(_, letter)| is_part(*letter)).last();
    let name = begin.map_or("", |(at, _)| &before[at..]);
    let name: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
    SECRETS.iter().any(|secret| name.to_lowercase().ends_with(secret))
}

/// Masks what follows `=` or `:` after the name of a secret, up to its end.
fn without_values(argument: &str) -> String {
    let (mut shown, mut rest) = (String::new(), argument);
    while let Some(at) = rest.find(['=', ':']) {
        let (name, value) = (&rest[..at], &rest[at + 1..]);
        shown.push_str(&rest[..=at]);
        rest = value;
        if is_secret(name) && !value.is_empty() {
            shown.push_str(MASK);
            rest = &value[length_of(value, is_option(argument))..];
        }
    }
    shown + rest
}

/// How long a value is: as far as its quotes reach, else to the next semicolon; that of an option to its end.
fn length_of(value: &str, is_option: bool) -> usize {
    let begin = value.len() - value.trim_start().len();
    let quote = value[begin..].chars().next().filter(|first| matches!(first, '"' | '\''));
    let Some(quote) = quote else {
        return if is_option { value.len() } else { value.find(';').unwrap_or(value.len()) };
    };
    let mut end = begin + 1;
    // A quote within is written twice.
    while let Some(at) = value[end..].find(quote) {
        end += at + 1;
        if !value[end..].starts_with(quote) {
            return end;
        }
        end += 1;
    }
    value.len()
}

/// Masks the password in `scheme://user:password@host`.
fn without_password(argument: &str) -> String {
    let Some(begin) = argument.find("://").map(|at| at + 3) else { return argument.to_owned() };
    let authority = argument[begin..].split(['/', '?', '#']).next().unwrap_or_default();
    let user_info = authority.rsplit_once('@').map_or("", |(user_info, _)| user_info);
    match user_info.split_once(':') {
        None => argument.to_owned(),
        Some((user, _)) => {
            let (head, tail) = (&argument[..begin], &argument[begin + user_info.len()..]);
            format!("{head}{user}:{MASK}{tail}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::masked;

    fn one(argument: &str) -> String {
        masked([argument.to_owned()]).remove(0)
    }

    #[test]
    fn what_follows_the_name_of_a_secret_is_not_shown() {
        for (argument, shown) in [
            ("--password=a;b c", "--password=***"),
            ("/pwd:x", "/pwd:***"),
            ("--api-key=x", "--api-key=***"),
            ("ACCESS_TOKEN=x", "ACCESS_TOKEN=***"),
            ("server=s;Password = p w ;database=d", "server=s;Password =***;database=d"),
            ("user id=u;pwd='a;''b';encrypt=true", "user id=u;pwd=***;encrypt=true"),
            ("{\"client_secret\": \"x\", \"id\": 7}", "{\"client_secret\":***, \"id\": 7}"),
            ("amqp://u:p@host:5672/v?x=1", "amqp://u:***@host:5672/v?x=1"),
            ("pwd='never closed", "pwd=***"),
        ] {
            assert_eq!(one(argument), shown);
        }
    }

    #[test]
    fn the_argument_after_the_name_of_a_secret_is_not_shown() {
        let arguments = ["-v", "--db-password", "x", "--password", "", "run"].map(str::to_owned);
        assert_eq!(masked(arguments), ["-v", "--db-password", "***", "--password", "***", "run"]);
        assert_eq!(masked(["--token".to_owned()]), ["--token"]);
        let file = ["/run/secrets/token", "run"].map(str::to_owned);
        assert_eq!(masked(file.clone()), file, "a path is no option");
    }

    #[test]
    fn everything_else_is_shown_as_it_is() {
        for argument in [
            "",
            "=",
            "a=b:c",
            "--password=",
            "--token-file=/run/t",
            "C:\\app\\x.exe",
            "http://h:80/",
            "été=ü",
            "secret",
        ] {
            assert_eq!(one(argument), argument);
        }
    }
}
