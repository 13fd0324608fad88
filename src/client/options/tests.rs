//! Connection strings as people write them, and what must not print.

use super::*;
use crate::client::error::ErrorKind;

fn read(text: &str) -> BrokerOptions {
    BrokerOptions::from_connection_string(text).unwrap()
}

fn refusal(text: &str) -> String {
    let error = BrokerOptions::from_connection_string(text).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Config | ErrorKind::Unsupported), "{error:?}");
    error.to_string()
}

#[test]
fn the_usual_keywords_and_their_synonyms_are_understood() {
    let options = read(
        "Data Source=tcp:db.example.com,14330; Initial Catalog=Shop; UID=worker; PWD='se;cret'; Encrypt=no; \
         Connection Timeout=5; Command Timeout=0; App=orders; ApplicationIntent=ReadOnly; MultiSubnetFailover=True; \
         Packet Size=4096; Workstation ID=ws1; Max Pool Size=3; Persist Security Info=False; Trusted_Connection=no; \
         MultipleActiveResultSets=False; Authentication=Sql Password",
    );
    assert_eq!((options.host(), options.port()), ("db.example.com", 14330));
    assert_eq!((options.database(), options.user()), (Some("Shop"), "worker"));
    assert_eq!(options.password.expose(), "se;cret");
    assert_eq!(options.encryption, Encryption::LoginOnly);
    assert_eq!(options.connect_timeout, Duration::from_secs(5));
    assert_eq!(options.command_timeout, None);
    assert_eq!(options.application_name, "orders");
    assert!(options.read_only && options.multi_subnet_failover);
    assert_eq!((options.packet_size, options.max_pool_size), (4096, 3));
    assert_eq!(options.workstation.as_deref(), Some("ws1"));
}

#[test]
fn encryption_is_required_unless_the_string_says_otherwise() {
    let table = [
        ("", Encryption::Required),
        ("Encrypt=true", Encryption::Required),
        ("encrypt=Mandatory", Encryption::Required),
        ("Encrypt=Optional", Encryption::LoginOnly),
        ("Encrypt=strict", Encryption::Strict),
        ("Encrypt=DANGER_PLAINTEXT", Encryption::Never),
    ];
    for (part, expected) in table {
        assert_eq!(read(&format!("server=db;user=u;password=p;{part}")).encryption, expected, "{part}");
    }
}

#[test]
fn a_certificate_file_and_blind_trust_exclude_each_other() {
    let options = read("server=db;user=u;password=p;ServerCertificate=/etc/ca.pem");
    assert_eq!(options.certificate_authority, Some(PathBuf::from("/etc/ca.pem")));
    let text = refusal("server=db;user=u;password=p;ServerCertificate=a;TrustServerCertificate=yes");
    assert!(text.contains("exclude each other"), "{text}");
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    let table = [
        ("server=db;user=u;Encript=true", "did you mean 'encrypt'?"),
        ("server=db;user=u;frobnicate=1", "'frobnicate' is not known"),
        ("user=u", "'Server' is missing"),
        ("server=db", "'User ID' is missing"),
        ("server=db;Integrated Security=SSPI", "Kerberos or NTLM"),
        ("server=db;Trusted_Connection=yes", "Kerberos or NTLM"),
        ("server=db;user=u;Authentication=ActiveDirectoryDefault", "only SqlPassword"),
        ("server=db;user=u;MultipleActiveResultSets=true", "one request at a time"),
        ("server=db;user=u;Pooling=false", "always pooled"),
        ("server=db;user=u;Encrypt=maybe", "expected true, false or strict"),
        ("server=db;user=u;Connect Timeout=soon", "expected a whole number"),
        ("server=db;user=u;Packet Size=1", "between 512 and 32767"),
        ("server=db;user=u;Connect Timeout=0", "no time to connect"),
        ("server=db;user=u;Min Pool Size=20", "larger than Max Pool Size"),
    ];
    for (text, reason) in table {
        let refusal = refusal(text);
        assert!(refusal.contains(reason), "{text}: {refusal}");
    }
}

#[test]
fn the_last_of_two_values_counts_as_in_ado_net() {
    assert_eq!(read("server=a;server=b;user=u").host(), "b");
}

#[test]
fn the_password_does_not_print() {
    let options = read("server=db;user=u;password=hunter2");
    assert!(!format!("{options:?} {options:#?}").contains("hunter2"));
}
