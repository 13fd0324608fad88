//! Conversation statements and broker objects.

use super::{error_number, only};
use crate::tsql::ast::broker::{
    Activation, ActivationOptions, AlterQueueAction, AnyOr, BrokerDdl, BrokerObjectKind, BrokerStatement,
    EndMode, NameOrVariable, NotificationScope, PriorityLevel, Receive, ReceiveFilter, Related, SentBy,
    TextOrVariable, Validation,
};
use crate::tsql::ast::security::ExecuteAs;
use crate::tsql::ast::statement::WaitFor;
use crate::tsql::ast::{Expr, Ident, Literal, SelectItem, StatementKind, VariableName};

fn broker(text: &str) -> BrokerStatement {
    let StatementKind::Broker(statement) = only(text) else { panic!("{text}") };
    *statement
}

fn ddl(text: &str) -> BrokerDdl {
    let StatementKind::BrokerDdl(ddl) = only(text) else { panic!("{text}") };
    *ddl
}

fn variable(name: &str) -> VariableName {
    VariableName::new(name)
}

fn receive(text: &str) -> Receive {
    let BrokerStatement::Receive(receive) = broker(text) else { panic!("{text}") };
    receive
}

#[test]
fn begin_dialog_keeps_every_option() {
    let text = "BEGIN DIALOG CONVERSATION @h FROM SERVICE [a] TO SERVICE @to, N'current database' ON CONTRACT @c \
                WITH RELATED_CONVERSATION_GROUP = @g, LIFETIME = 60, ENCRYPTION = OFF";
    let BrokerStatement::BeginDialog(begin) = broker(text) else { panic!() };
    assert_eq!(begin.handle, variable("@H"));
    assert_eq!(begin.from_service, NameOrVariable::Name(Ident { text: "a".into(), delimited: true }));
    assert_eq!(begin.to_service, TextOrVariable::Variable(variable("@to")));
    assert_eq!(begin.broker_instance, Some(TextOrVariable::Text("current database".into())));
    assert_eq!(begin.contract, Some(NameOrVariable::Variable(variable("@c"))));
    assert_eq!(begin.related, Some(Related::Group(Expr::Variable(variable("@g")))));
    assert_eq!(begin.lifetime, Some(Expr::Literal(Literal::Int(60))));
    assert_eq!(begin.encryption, Some(false));
}

#[test]
fn begin_dialog_needs_only_its_services() {
    let BrokerStatement::BeginDialog(begin) = broker("BEGIN DIALOG @h FROM SERVICE @f TO SERVICE 'b'") else {
        panic!()
    };
    assert_eq!(begin.from_service, NameOrVariable::Variable(variable("@f")));
    assert_eq!((begin.contract, begin.related, begin.lifetime, begin.encryption), (None, None, None, None));
    assert_eq!(error_number("BEGIN DIALOG @h FROM SERVICE a TO SERVICE b"), 102);
}

#[test]
fn send_takes_one_handle_or_a_list() {
    let BrokerStatement::Send(send) = broker("SEND ON CONVERSATION @h MESSAGE TYPE [DEFAULT] (@a + N'x')")
    else {
        panic!()
    };
    assert_eq!(send.handles, [Expr::Variable(variable("@h"))]);
    assert!(matches!(send.message_type, Some(NameOrVariable::Name(name)) if name.delimited));
    assert!(matches!(send.body, Some(Expr::Binary { .. })));

    let BrokerStatement::Send(send) = broker("SEND ON CONVERSATION (@a, '0123') MESSAGE TYPE @m") else {
        panic!()
    };
    assert_eq!(send.handles.len(), 2);
    assert_eq!((send.message_type, send.body), (Some(NameOrVariable::Variable(variable("@m"))), None));

    let BrokerStatement::Send(send) = broker("SEND ON CONVERSATION @h ((SELECT 1))") else { panic!() };
    assert!(matches!(send.body, Some(Expr::Subquery(_))));
}

#[test]
fn receive_takes_column_specifiers_in_all_forms() {
    let receive = receive(
        "RECEIVE TOP (@n) *, a, b AS c, d e, f = message_body, @v = conversation_handle, @w += 1, \
         CAST(message_body AS xml) AS x FROM db..q INTO @t",
    );
    assert_eq!(receive.top, Some(Expr::Variable(variable("@n"))));
    assert!(matches!(receive.items[0], SelectItem::Wildcard { qualifier: None }));
    assert!(matches!(&receive.items[4], SelectItem::Value { alias: Some(alias), .. } if alias.is("F")));
    assert!(matches!(&receive.items[5], SelectItem::Assign { variable, .. } if variable.as_str() == "@v"));
    assert_eq!(receive.items.len(), 8);
    assert_eq!(receive.queue.database().map(Ident::as_str), Some("db"));
    assert_eq!(receive.queue.schema(), None);
    assert_eq!(receive.into, Some(variable("@t")));
}

#[test]
fn receive_filters_by_handle_or_group_only() {
    let filter = receive("RECEIVE * FROM q WHERE Conversation_Handle = @h").filter;
    assert_eq!(filter, Some(ReceiveFilter::Conversation(TextOrVariable::Variable(variable("@h")))));
    let filter = receive("RECEIVE * FROM q WHERE conversation_group_id = 'x'").filter;
    assert_eq!(filter, Some(ReceiveFilter::Group(TextOrVariable::Text("x".into()))));
    assert_eq!(error_number("RECEIVE * FROM q WHERE message_type_id = 1"), 102);
}

#[test]
fn waitfor_wraps_receive_and_get_conversation_group() {
    let StatementKind::WaitFor(wait) = only("WAITFOR (RECEIVE TOP (1) * FROM q), TIMEOUT -1") else {
        panic!()
    };
    assert!(matches!(*wait, WaitFor::Receive { timeout: Some(Expr::Unary { .. }), .. }));
    let StatementKind::WaitFor(wait) = only("WAITFOR (GET CONVERSATION GROUP @g FROM q)") else { panic!() };
    assert!(matches!(*wait, WaitFor::GetConversationGroup { timeout: None, .. }));
}

#[test]
fn end_conversation_has_three_modes() {
    let mode = |text| match broker(text) {
        BrokerStatement::EndConversation(end) => end.mode,
        _ => panic!("{text}"),
    };
    assert_eq!(mode("END CONVERSATION @h"), EndMode::Plain);
    assert_eq!(mode("END CONVERSATION 'x' WITH CLEANUP"), EndMode::WithCleanup);
    let error = mode("END CONVERSATION @h WITH ERROR = 5 DESCRIPTION = @d");
    assert!(matches!(error, EndMode::WithError { code: Expr::Literal(Literal::Int(5)), .. }));
    assert_eq!(error_number("END CONVERSATION @h WITH ERROR = 5"), 102);
}

#[test]
fn timers_and_moves_take_expressions() {
    let BrokerStatement::BeginConversationTimer(timer) =
        broker("BEGIN CONVERSATION TIMER ('x') TIMEOUT = @a + 1")
    else {
        panic!()
    };
    assert!(matches!(timer.timeout, Expr::Binary { .. }));
    let BrokerStatement::MoveConversation(moved) = broker("MOVE CONVERSATION @h TO @g") else { panic!() };
    assert_eq!(moved.group, Expr::Variable(variable("@g")));
}

#[test]
fn queues_keep_what_was_written_and_nothing_else() {
    let text = "CREATE QUEUE dbo.q WITH STATUS = OFF, ACTIVATION (STATUS = ON, PROCEDURE_NAME = d.s.p, \
                MAX_QUEUE_READERS = 5, EXECUTE AS N'u'), POISON_MESSAGE_HANDLING (STATUS = OFF) ON [DEFAULT]";
    let BrokerDdl::CreateQueue { options, filegroup, .. } = ddl(text) else { panic!() };
    assert_eq!(
        (options.status, options.retention, options.poison_message_handling),
        (Some(false), None, Some(false))
    );
    let Some(ActivationOptions::Set(activation)) = options.activation else { panic!() };
    assert_eq!(activation.max_queue_readers, Some(5));
    assert_eq!(activation.execute_as, Some(ExecuteAs::User("u".into())));
    assert_eq!(activation.procedure.unwrap().parts.len(), 3);
    assert!(filegroup.is_some());
}

#[test]
fn alter_queue_takes_partial_activation_and_drop() {
    let action = |text| match ddl(text) {
        BrokerDdl::AlterQueue { action, .. } => action,
        _ => panic!("{text}"),
    };
    let AlterQueueAction::Set(options) = action("ALTER QUEUE q WITH ACTIVATION (STATUS = OFF)") else {
        panic!()
    };
    let expected = Activation { status: Some(false), ..Activation::default() };
    assert_eq!(options.activation, Some(ActivationOptions::Set(expected)));
    let AlterQueueAction::Set(options) = action("ALTER QUEUE q WITH ACTIVATION (DROP)") else { panic!() };
    assert_eq!(options.activation, Some(ActivationOptions::Drop));
    assert_eq!(action("ALTER QUEUE q REBUILD WITH (MAXDOP = 2)"), AlterQueueAction::Rebuild);
    assert_eq!(action("ALTER QUEUE q REORGANIZE"), AlterQueueAction::Reorganize);
    assert!(matches!(action("ALTER QUEUE q MOVE TO \"default\""), AlterQueueAction::MoveTo(_)));
    assert_eq!(error_number("CREATE QUEUE q WITH ACTIVATION (DROP)"), 156);
}

#[test]
fn message_types_and_contracts_are_read() {
    let BrokerDdl::CreateMessageType { validation, owner, .. } =
        ddl("CREATE MESSAGE TYPE m AUTHORIZATION dbo VALIDATION = VALID_XML WITH SCHEMA COLLECTION dbo.c")
    else {
        panic!()
    };
    assert!(matches!(validation, Some(Validation::ValidXml(name)) if name.parts.len() == 2));
    assert!(owner.is_some());
    let BrokerDdl::CreateContract { messages, .. } =
        ddl("CREATE CONTRACT c (a SENT BY INITIATOR, [DEFAULT] SENT BY TARGET, d SENT BY ANY)")
    else {
        panic!()
    };
    let senders: Vec<_> = messages.iter().map(|message| message.sent_by).collect();
    assert_eq!(senders, [SentBy::Initiator, SentBy::Target, SentBy::Any]);
    assert_eq!(error_number("CREATE CONTRACT c (DEFAULT SENT BY ANY)"), 156);
}

#[test]
fn routes_bindings_and_priorities_are_read() {
    let BrokerDdl::CreateRoute { options, .. } =
        ddl("CREATE ROUTE r WITH SERVICE_NAME = 's', LIFETIME = 5, ADDRESS = N'LOCAL'")
    else {
        panic!()
    };
    assert_eq!((options.lifetime.as_deref(), options.address.as_deref()), (Some("5"), Some("LOCAL")));
    assert_eq!(options.mirror_address, None);
    let BrokerDdl::AlterRemoteServiceBinding { options, .. } =
        ddl("ALTER REMOTE SERVICE BINDING b WITH ANONYMOUS = ON")
    else {
        panic!()
    };
    assert_eq!((options.user, options.anonymous), (None, Some(true)));
    let BrokerDdl::CreateBrokerPriority { options, .. } = ddl(
        "CREATE BROKER PRIORITY p FOR CONVERSATION SET (CONTRACT_NAME = ANY, REMOTE_SERVICE_NAME = 'x', \
         PRIORITY_LEVEL = 7)",
    ) else {
        panic!()
    };
    assert_eq!(options.contract, Some(AnyOr::Any));
    assert_eq!(options.remote_service, Some(AnyOr::Name("x".into())));
    assert_eq!((options.local_service, options.level), (None, Some(PriorityLevel::Level(7))));
}

#[test]
fn event_notifications_have_three_scopes() {
    let text = "CREATE EVENT NOTIFICATION n ON QUEUE dbo.q WITH FAN_IN FOR QUEUE_ACTIVATION, BROKER_QUEUE_DISABLED \
                TO SERVICE 's', 'current database'";
    let BrokerDdl::CreateEventNotification { scope, fan_in, events, .. } = ddl(text) else { panic!() };
    assert!(matches!(scope, NotificationScope::Queue(_)) && fan_in);
    assert_eq!(events.len(), 2);
    let drop = ddl("DROP EVENT NOTIFICATION a, b ON SERVER");
    assert!(matches!(drop, BrokerDdl::DropEventNotification { scope: NotificationScope::Server, .. }));
}

#[test]
fn drop_takes_one_broker_object_and_no_if_exists() {
    let drop = ddl("DROP QUEUE d.s.q");
    assert!(matches!(drop, BrokerDdl::Drop { kind: BrokerObjectKind::Queue, .. }));
    for text in ["DROP QUEUE a, b", "DROP SERVICE s.x"] {
        assert_eq!(error_number(text), 102, "{text}");
    }
    assert_eq!(error_number("DROP QUEUE IF EXISTS a"), 156);
}
