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
    assert_eq!((options.database(), options.user()), (Some("Shop"), Some("worker")));
    let Login::Sql { password, .. } = &options.login else { panic!("{:?}", options.login) };
    assert_eq!(password.expose(), "se;cret");
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
        ("server=db;user=u;Authentication=ActiveDirectoryDefault", "with_token_provider"),
        ("server=db;user=u;Authentication=Magic", "expected SqlPassword or AccessToken"),
        ("server=db;user=u;Authentication=AccessToken", "exclude each other"),
        ("server=db;user=u;Failover Partner=db2", "database mirroring is not supported"),
        ("server=db;user=u;Column Encryption Setting=Enabled", "always encrypted"),
        ("server=db;user=u;Network Library=dbnmpntw", "only tcp"),
        ("server=db;user=u;Connect Retry Count=256", "expected 0 to 255"),
        ("server=db;user=u;Connect Retry Interval=0", "expected 1 to 60"),
        ("server=db;user=u;IPAddressPreference=V5", "expected IPv4First"),
        ("server=db;user=u;Current Language=German", "the language of the login"),
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
fn keywords_of_waiting_and_of_the_network_are_honoured() {
    let options = read(
        "server=db;user=u;Connect Retry Count=3;ConnectRetryInterval=7;KeepAlive=0;Connection Lifetime=60; \
         IP Address Preference=IPv6First;Network Library=DBMSSOCN;Column Encryption Setting=Disabled;Failover Partner=",
    );
    assert_eq!(
        (options.connect_retries, options.connect_retry_interval),
        (Some(3), Some(Duration::from_secs(7)))
    );
    assert_eq!((options.tcp_keepalive, options.connection_lifetime), (None, Some(Duration::from_secs(60))));
    assert_eq!(options.address_preference, AddressPreference::V6);
}

#[test]
fn integrated_security_is_refused_by_the_name_of_the_feature_unless_it_is_built_in() {
    for (text, built_in, feature) in [
        ("server=db;Integrated Security=SSPI", cfg!(feature = "kerberos"), "kerberos"),
        ("server=db;Trusted_Connection=yes", cfg!(feature = "kerberos"), "kerberos"),
        ("server=db;Trusted_Connection=yes;user=D\\u;password=p", cfg!(feature = "ntlm"), "ntlm"),
    ] {
        match built_in {
            true => assert!(BrokerOptions::from_connection_string(text).is_ok(), "{text}"),
            false => assert!(refusal(text).contains(&format!("cargo feature '{feature}'")), "{text}"),
        }
    }
}

#[test]
fn a_token_login_needs_its_provider_before_it_connects() {
    struct Fixed;
    impl TokenProvider for Fixed {
        async fn token(&self) -> Result<String> {
            Ok("hunter2".to_owned())
        }
    }
    let options = read("server=db;Authentication=AccessToken");
    assert_eq!(options.user(), None);
    let error = options.clone().check_login().unwrap_err().to_string();
    assert!(error.contains("with_token_provider"), "{error}");
    let options = options.with_token_provider(Fixed).check_login().unwrap();
    assert!(!format!("{options:?}").contains("hunter2"));
}

#[test]
fn the_last_of_two_values_counts_as_in_ado_net() {
    assert_eq!(read("server=a;server=b;user=u").host(), "b");
}

#[test]
fn the_password_does_not_print() {
    for rest in ["hunter2", "hunter2=x", "'hunter2"] {
        let text = refusal(&format!("server=db;user=u;password=p;{rest}"));
        assert!(!text.contains("hunter2"), "{text}");
    }
    let options = read("server=db;user=u;password=hunter2");
    assert!(!format!("{options:?} {options:#?}").contains("hunter2"));
}
