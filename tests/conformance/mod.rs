//! The conformance suite: what Service Broker does, as small plays in T-SQL, on the embedded broker and a real server.
//!
//! # On a real server
//!
//! ```text
//! SSBROKER_TEST_SERVER='Server=db;Database=ConformanceTest;User ID=sa;Password=secret;TrustServerCertificate=true' \
//! SSBROKER_TEST_RECORD=verified.tsv \
//!     cargo test --test ssbroker conformance -- --nocapture
//! ```
//!
//! The database must exist and have its broker enabled; nothing else should use it. The login needs to create broker
//! objects and procedures there, to see the server's state (VIEW SERVER STATE), and for two vectors to create databases. All
//! names carry a random part and everything is removed afterwards, also when a vector fails. Lines that begin with
//! `skipped:` tell what could not be tried; with the embedded broker nothing may be skipped.
//!
//! # Where an expectation comes from
//!
//! Each vector says so as data: [`Origin::Documented`] or [`Origin::Assumed`] (the number of our choice in the
//! specification). A vector that passes on a real server is a confirmation: the suite appends a line for it to the file
//! that `SSBROKER_TEST_RECORD` names. Put that line into `verified.tsv` beside this file, and the vector's origin is
//! [`Origin::Verified`] with that server's version from then on. A vector that fails there shows an assumption that is
//! wrong: mend the embedded broker where it cites the number, then the vector. A table of error numbers is one vector; its
//! failure names each number that differs, with its own origin.
//!
//! # How it is made
//!
//! [`fixture`] gives a vector its services and the passing of time, [`sql`] the statements; [`session`] is a connection with
//! a transaction of its own. [`runner`] plays, cleans up ([`cleanup`]) and reports. The other files hold the vectors.

mod activation;
mod cleanup;
mod database;
mod delivery;
mod dialogs;
mod fixture;
mod groups;
mod message;
mod queues;
mod refusals;
mod runner;
mod session;
mod sql;
mod states;
mod timers;
mod transactions;
mod vector;

use vector::{Origin, Place, Vector};

/// Declares the vectors: a test for each, and a list of all.
macro_rules! vectors {
    ($($test:ident: $id:literal in $place:ident, $origin:ident($source:literal) => $module:ident::$play:ident;)+) => {
        $(
            #[tokio::test]
            async fn $test() {
                let vector = Vector {
                    id: $id,
                    place: Place::$place,
                    source: Origin::$origin($source),
                    play: |fixture| Box::pin($module::$play(fixture)),
                };
                runner::play_everywhere(&vector).await;
            }
        )+

        const ALL: &[&str] = &[$($id),+];
    };
}

vectors! {
    v01_begin: "V-01" in Shared, Documented("begin-dialog-conversation-transact-sql")
        => dialogs::begin_makes_one_endpoint;
    v02_first_send: "V-02" in Shared, Documented("sys-conversation-endpoints-transact-sql")
        => dialogs::first_send_makes_the_target_endpoint;
    v03_empty_bodies: "V-03" in Shared, Documented("rusanu.com 2011-01-15")
        => dialogs::empty_bodies_are_null;
    v04_null_body: "V-04" in Shared, Documented("send-transact-sql")
        => dialogs::a_null_body_is_refused;
    v05_send_in_transaction: "V-05" in Shared, Documented("transactional-messaging")
        => dialogs::a_send_is_delivered_at_commit;
    v06_group_lock: "V-06" in Shared, Documented("conversation-group-locks")
        => groups::a_receive_locks_the_group;
    v07_one_group: "V-07" in Shared, Documented("receive-transact-sql")
        => groups::a_receive_takes_one_group;
    v08_related_dialogs: "V-08" in Shared, Documented("receive-transact-sql")
        => groups::a_receive_takes_the_whole_group;
    v09_target_ends: "V-09" in Shared, Documented("end-conversation-transact-sql")
        => dialogs::the_peer_of_an_end_is_told;
    v10_initiator_ends_too: "V-10" in Shared, Documented("davewentzel.com CLOSED conversations")
        => dialogs::the_initiator_goes_and_the_target_stays_closed;
    v11_end_with_error: "V-11" in Shared, Documented("end-conversation-transact-sql")
        => dialogs::the_peer_of_an_error_is_told;
    v12_error_codes: "V-12" in Shared, Documented("end-conversation-transact-sql")
        => dialogs::error_codes_are_positive;
    v13_order_with_end: "V-13" in Shared, Documented("end-conversation-transact-sql")
        => dialogs::an_end_comes_after_what_was_sent;
    v14_order_with_timer_and_error: "V-14" in Shared, Documented("receive-transact-sql")
        => dialogs::timer_and_error_come_first;
    v15_missing_service: "V-15" in Shared, Documented("service-broker-routing")
        => delivery::a_service_may_come_later;
    v16_missing_service_named_broker: "V-16" in Shared, Documented("rusanu.com 2007-12-03")
        => delivery::a_service_missing_in_a_named_broker_is_an_error;
    v17_contract_not_offered: "V-17" in Shared, Documented("rusanu.com 2007-12-03")
        => delivery::a_contract_that_is_not_offered_is_an_error;
    v18_malformed_xml: "V-18" in Shared, Documented("rusanu.com 2007-12-03")
        => delivery::a_body_that_is_not_xml_is_an_error;
    v19_disabled_target_queue: "V-19" in Shared, Documented("starting-and-stopping-the-queue")
        => delivery::messages_wait_for_a_disabled_queue;
    v20_receive_disabled: "V-20" in Shared, Documented("receive-transact-sql")
        => queues::a_disabled_queue_gives_nothing;
    v21_poison: "V-21" in Shared, Documented("handling-poison-messages")
        => queues::five_roll_backs_disable_the_queue;
    v22_poison_off: "V-22" in Shared, Documented("create-queue-transact-sql")
        => queues::poison_handling_can_be_off;
    v23_empty_roll_backs: "V-23" in Shared, Assumed("U-34")
        => queues::roll_backs_without_messages_do_not_count;
    v24_savepoint: "V-24" in Shared, Documented("conversation-group-locks, removing-poison-messages")
        => groups::a_savepoint_gives_back_messages_but_not_the_lock;
    v25_one_event: "V-25" in Shared, Documented("rusanu.com 2008-08-03")
        => activation::a_burst_is_one_event;
    v26_one_more_event: "V-26" in Shared, Documented("rusanu.com 2008-08-03")
        => activation::a_reader_that_stops_is_one_more_event;
    v27_drained: "V-27" in Shared, Documented("rusanu.com 2008-08-03")
        => activation::a_drained_queue_starts_anew;
    v28_waiting_reader: "V-28" in Shared, Documented("understanding-when-activation-occurs")
        => activation::a_waiting_reader_needs_no_event;
    v29_empty_receives: "V-29" in Shared, Documented("rusanu.com 2008-08-03")
        => activation::readers_that_see_nothing_need_no_more_events;
    v30_notification_dialog_ended: "V-30" in Shared, Documented("event-notifications")
        => activation::ending_the_notifications_dialog_ends_the_notification;
    v31_one_kind_of_activation: "V-31" in Shared, Documented("database-engine-events-and-errors-9000-9999")
        => activation::a_queue_is_activated_in_one_way_only;
    v32_timer: "V-32" in Shared, Documented("begin-conversation-timer-transact-sql")
        => timers::a_timer_replaces_the_one_before;
    v33_timer_beyond_lifetime: "V-33" in Shared, Documented("begin-conversation-timer-transact-sql")
        => timers::a_timer_fits_into_the_lifetime;
    v34_lifetime: "V-34" in Shared, Documented("begin-dialog-conversation-transact-sql")
        => timers::a_dialog_ends_with_its_lifetime;
    v35_several_handles: "V-35" in Shared, Documented("send-transact-sql")
        => dialogs::a_send_on_several_is_all_or_nothing;
    v36_case_of_names: "V-36" in Shared, Documented("begin-dialog-conversation-transact-sql")
        => delivery::service_names_differ_by_case;
    v37_cleanup: "V-37" in Shared, Documented("end-conversation-transact-sql")
        => dialogs::a_cleanup_tells_nobody;
    v38_drop_service: "V-38" in Shared, Documented("rusanu.com 2007-12-03")
        => delivery::dropping_a_service_is_an_error_for_the_peer;
    v39_new_broker: "V-39" in OwnDatabase, Documented("alter-database-transact-sql-set-options")
        => database::a_new_broker_forgets_all_conversations;
    v40_error_broker_conversations: "V-40" in OwnDatabase, Documented("rusanu.com 2007-12-03")
        => database::conversations_can_be_ended_with_an_error;
    v41_timeout: "V-41" in Shared, Documented("waitfor-transact-sql")
        => queues::a_wait_ends_at_its_timeout;
    v42_retention: "V-42" in Shared, Documented("message-retention")
        => queues::retained_messages_stay_until_the_end;
    v43_priority: "V-43" in Shared, Documented("conversation-priorities")
        => groups::a_receive_prefers_the_higher_priority;
    c052_a_receive_that_takes_nothing_rearms_the_monitor: "C052" in Shared, Documented("rusanu.com 2008-08-03")
        => activation::c052_a_receive_that_takes_nothing_rearms_the_monitor;
    c062_an_event_comes_with_the_commit_and_never_before: "C062" in Shared, Documented("event-notifications")
        => activation::c062_an_event_comes_with_the_commit_and_never_before;
    c069_a_service_without_the_contract_hears_nothing: "C069" in Shared, Documented("event-notifications")
        => activation::c069_a_service_without_the_contract_hears_nothing;
    closed_target_endpoints_are_purged: "U-50" in Shared, Assumed("U-50")
        => dialogs::a_closed_target_goes_after_half_an_hour;
    timeout_on_a_lock: "U-17" in Shared, Documented("removing-poison-messages")
        => transactions::a_wait_for_a_locked_conversation_ends_at_its_timeout;
    unused_dialog: "U-22" in Shared, Assumed("U-22")
        => transactions::an_unused_dialog_ends_silently;
    own_sends: "U-28" in Shared, Assumed("U-28")
        => transactions::an_own_send_is_not_received_before_the_commit;
    roll_back: "T-ROLLBACK" in Shared, Documented("transactional-messaging")
        => transactions::a_roll_back_undoes_everything;
    get_conversation_group: "U-18" in Shared, Assumed("U-18")
        => transactions::getting_a_group_locks_it;
    send_by_state: "S-SEND" in Shared, Assumed("U-25")
        => states::send;
    receive_by_state: "S-RECEIVE" in Shared, Assumed("spec 3.3")
        => states::receive;
    end_by_state: "S-END" in Shared, Assumed("U-25")
        => states::end;
    cleanup_by_state: "S-CLEANUP" in Shared, Documented("end-conversation-transact-sql")
        => states::cleanup;
    timer_by_state: "S-TIMER" in Shared, Assumed("U-25")
        => states::timer;
    move_by_state: "S-MOVE" in Shared, Assumed("U-25")
        => states::moving;
    relate_by_state: "S-RELATE" in Shared, Assumed("spec 3.3")
        => states::relate;
    refused_definitions: "E-DDL" in Shared, Assumed("U-37")
        => refusals::of_definitions;
    refused_routes: "E-ROUTE" in Shared, Documented("database-engine-events-and-errors-9000-9999")
        => refusals::of_routes;
    refused_activation: "E-ACTIVATION" in Shared, Assumed("U-52")
        => refusals::of_activation;
    refused_beginnings: "E-BEGIN" in Shared, Assumed("U-12")
        => refusals::of_beginning;
    refused_conversing: "E-CONVERSE" in Shared, Documented("database-engine-events-and-errors-8000-8999")
        => refusals::of_conversing;
    refused_target_side: "E-8434" in Shared, Documented("send-transact-sql")
        => refusals::of_the_targets_side;
    refused_retention: "E-9618" in Shared, Documented("send-transact-sql")
        => refusals::of_a_disabled_queue_with_retention;
    refused_doomed: "E-3930" in Shared, Documented("rusanu.com 2007-10-31")
        => refusals::of_a_doomed_transaction;
}

#[test]
fn every_vector_of_the_specification_is_played_once() {
    let ids: Vec<&&str> = ALL.iter().filter(|id| id.starts_with("V-")).collect();
    let expected: Vec<String> = (1..=43).map(|number| format!("V-{number:02}")).collect();
    assert!(ids.into_iter().eq(expected.iter()), "the list has gaps, repetitions or another order");
}

#[test]
fn every_confirmation_is_of_a_vector() {
    let strangers: Vec<_> = vector::verified().filter(|(id, _)| !ALL.contains(id)).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}
