//! CREATE, ALTER and DROP of broker objects; the options of queues have a file of their own.
//!
//! Each rule starts after the words that name its kind. Must not know the catalog.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::broker::{
    AnyOr, BindingOptions, BrokerDdl, BrokerObjectKind, ContractChange, ContractMessage, NotificationScope,
    PriorityLevel, PriorityOptions, RouteOptions, SentBy, Validation,
};
use crate::tsql::ast::{Ident, ObjectName, StatementKind};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// `CREATE` of a broker object, if the words after CREATE name one.
    pub(super) fn create_broker_object(&mut self) -> Parsed<Option<StatementKind>> {
        let Some(kind) = self.broker_object_kind() else { return self.optional_event_notification() };
        let prefixed = if kind == BrokerObjectKind::Queue { None } else { self.prefixed_name()? };
        let ddl = match kind {
            BrokerObjectKind::MessageType => self.create_message_type()?,
            BrokerObjectKind::Contract => self.create_contract()?,
            BrokerObjectKind::Queue => self.create_queue()?,
            BrokerObjectKind::Service => self.create_service()?,
            BrokerObjectKind::Route => self.create_route()?,
            BrokerObjectKind::RemoteServiceBinding => self.create_binding()?,
            BrokerObjectKind::BrokerPriority => {
                let (name, options) = self.priority()?;
                BrokerDdl::CreateBrokerPriority { name, options }
            }
        };
        let refused = prefixed.map(|name| BrokerDdl::CreatePrefixed { kind, name });
        Ok(Some(broker_ddl(refused.unwrap_or(ddl))))
    }

    /// A name with prefixes, where none are allowed; its last part comes next again. It is an error of the statement
    /// (9609), not of the syntax.
    fn prefixed_name(&mut self) -> Parsed<Option<ObjectName>> {
        if self.token_ahead(1).kind != TokenKind::Dot {
            return Ok(None);
        }
        let name = self.object_name()?;
        self.rewind(self.position() - 1);
        Ok(Some(name))
    }

    /// `ALTER` of a broker object, if the words after ALTER name one.
    pub(super) fn alter_broker_object(&mut self) -> Parsed<Option<StatementKind>> {
        let position = self.position();
        let Some(kind) = self.broker_object_kind() else { return Ok(None) };
        let ddl = match kind {
            BrokerObjectKind::MessageType => {
                let name = self.ident()?;
                BrokerDdl::AlterMessageType { name, validation: self.validation()? }
            }
            BrokerObjectKind::Contract => return self.unexpected_at(position),
            BrokerObjectKind::Queue => self.alter_queue()?,
            BrokerObjectKind::Service => self.alter_service()?,
            BrokerObjectKind::Route => {
                let name = self.ident()?;
                BrokerDdl::AlterRoute { name, options: self.route_options()? }
            }
            BrokerObjectKind::RemoteServiceBinding => {
                let name = self.ident()?;
                BrokerDdl::AlterRemoteServiceBinding { name, options: self.binding_options()? }
            }
            BrokerObjectKind::BrokerPriority => {
                let (name, options) = self.priority()?;
                BrokerDdl::AlterBrokerPriority { name, options }
            }
        };
        Ok(Some(broker_ddl(ddl)))
    }

    /// `DROP` of a broker object, if the words after DROP name one.
    pub(super) fn drop_broker_object(&mut self) -> Parsed<Option<StatementKind>> {
        if self.take_words(&["EVENT", "NOTIFICATION"]) {
            let names = self.comma_separated(Self::ident)?;
            let scope = self.notification_scope()?;
            return Ok(Some(broker_ddl(BrokerDdl::DropEventNotification { names, scope })));
        }
        let Some(kind) = self.broker_object_kind() else { return Ok(None) };
        let name = match kind {
            BrokerObjectKind::Queue => self.object_name_of(3)?,
            _ => ObjectName::single(self.ident()?),
        };
        Ok(Some(broker_ddl(BrokerDdl::Drop { kind, name })))
    }

    fn broker_object_kind(&mut self) -> Option<BrokerObjectKind> {
        let kinds: [(&[&str], BrokerObjectKind); 7] = [
            (&["QUEUE"], BrokerObjectKind::Queue),
            (&["SERVICE"], BrokerObjectKind::Service),
            (&["CONTRACT"], BrokerObjectKind::Contract),
            (&["MESSAGE", "TYPE"], BrokerObjectKind::MessageType),
            (&["ROUTE"], BrokerObjectKind::Route),
            (&["REMOTE", "SERVICE", "BINDING"], BrokerObjectKind::RemoteServiceBinding),
            (&["BROKER", "PRIORITY"], BrokerObjectKind::BrokerPriority),
        ];
        kinds.into_iter().find(|(words, _)| self.take_words(words)).map(|(_, kind)| kind)
    }

    /// `AUTHORIZATION owner`
    pub(super) fn optional_owner(&mut self) -> Parsed<Option<Ident>> {
        if self.take_keyword(Keyword::Authorization) { self.ident().map(Some) } else { Ok(None) }
    }

    fn create_message_type(&mut self) -> Parsed<BrokerDdl> {
        let name = self.ident()?;
        let owner = self.optional_owner()?;
        let validation = if self.at_word("VALIDATION") { Some(self.validation()?) } else { None };
        Ok(BrokerDdl::CreateMessageType { name, owner, validation })
    }

    fn validation(&mut self) -> Parsed<Validation> {
        self.expect_word("VALIDATION")?;
        self.expect(TokenKind::Equal)?;
        if self.take_word("NONE") {
            return Ok(Validation::None);
        }
        if self.take_word("EMPTY") {
            return Ok(Validation::Empty);
        }
        if self.take_word("WELL_FORMED_XML") {
            return Ok(Validation::WellFormedXml);
        }
        self.expect_word("VALID_XML")?;
        self.expect_keyword(Keyword::With)?;
        self.expect_keyword(Keyword::Schema)?;
        self.expect_word("COLLECTION")?;
        Ok(Validation::ValidXml(self.object_name_of(3)?))
    }

    fn create_contract(&mut self) -> Parsed<BrokerDdl> {
        let name = self.ident()?;
        let owner = self.optional_owner()?;
        let messages = self.parenthesised(Self::contract_message)?;
        Ok(BrokerDdl::CreateContract { name, owner, messages })
    }

    fn contract_message(&mut self) -> Parsed<ContractMessage> {
        let message_type = self.ident()?;
        self.expect_word("SENT")?;
        self.expect_keyword(Keyword::By)?;
        let sent_by = if self.take_keyword(Keyword::Any) {
            SentBy::Any
        } else if self.take_word("INITIATOR") {
            SentBy::Initiator
        } else {
            self.expect_word("TARGET")?;
            SentBy::Target
        };
        Ok(ContractMessage { message_type, sent_by })
    }

    /// A whole number as the options of broker objects take it.
    pub(super) fn small_number(&mut self) -> Parsed<i32> {
        let position = self.position();
        let number = self.unsigned()?;
        i32::try_from(number).or_else(|_| self.unexpected_at(position))
    }

    fn create_service(&mut self) -> Parsed<BrokerDdl> {
        let name = self.ident()?;
        let owner = self.optional_owner()?;
        self.expect_keyword(Keyword::On)?;
        self.expect_word("QUEUE")?;
        let queue = self.object_name_of(2)?;
        let contracts = self.optional_ident_list()?;
        Ok(BrokerDdl::CreateService { name, owner, queue, contracts })
    }

    fn alter_service(&mut self) -> Parsed<BrokerDdl> {
        let name = self.ident()?;
        let queue = if self.take_keyword(Keyword::On) {
            self.expect_word("QUEUE")?;
            Some(self.object_name_of(2)?)
        } else {
            None
        };
        let changes = if self.at(TokenKind::OpenParen) || queue.is_none() && !self.at(TokenKind::End) {
            self.parenthesised(Self::contract_change)?
        } else {
            Vec::new()
        };
        if queue.is_none() && changes.is_empty() {
            self.unexpected()
        } else {
            Ok(BrokerDdl::AlterService { name, queue, changes })
        }
    }

    fn contract_change(&mut self) -> Parsed<ContractChange> {
        let drop = self.take_keyword(Keyword::Drop);
        if !drop {
            self.expect_keyword(Keyword::Add)?;
        }
        self.expect_word("CONTRACT")?;
        let contract = self.ident()?;
        Ok(if drop { ContractChange::Drop(contract) } else { ContractChange::Add(contract) })
    }

    fn create_route(&mut self) -> Parsed<BrokerDdl> {
        let name = self.ident()?;
        let owner = self.optional_owner()?;
        Ok(BrokerDdl::CreateRoute { name, owner, options: self.route_options()? })
    }

    fn route_options(&mut self) -> Parsed<RouteOptions> {
        self.expect_keyword(Keyword::With)?;
        let mut options = RouteOptions::default();
        self.comma_separated(|parser| parser.route_option(&mut options))?;
        Ok(options)
    }

    fn route_option(&mut self, options: &mut RouteOptions) -> Parsed<()> {
        if self.take_word("LIFETIME") {
            self.expect(TokenKind::Equal)?;
            options.lifetime = Some(self.digits()?);
            return Ok(());
        }
        let field = if self.take_word("SERVICE_NAME") {
            &mut options.service_name
        } else if self.take_word("BROKER_INSTANCE") {
            &mut options.broker_instance
        } else if self.take_word("ADDRESS") {
            &mut options.address
        } else {
            self.expect_word("MIRROR_ADDRESS")?;
            &mut options.mirror_address
        };
        self.expect(TokenKind::Equal)?;
        *field = Some(self.string()?);
        Ok(())
    }

    fn digits(&mut self) -> Parsed<String> {
        if !self.at(TokenKind::Integer) {
            return self.unexpected();
        }
        let token = self.advance();
        Ok(self.text_of(token).to_owned())
    }

    fn create_binding(&mut self) -> Parsed<BrokerDdl> {
        let name = self.ident()?;
        let owner = self.optional_owner()?;
        self.expect_keyword(Keyword::To)?;
        self.expect_word("SERVICE")?;
        let service = self.string()?;
        Ok(BrokerDdl::CreateRemoteServiceBinding { name, owner, service, options: self.binding_options()? })
    }

    fn binding_options(&mut self) -> Parsed<BindingOptions> {
        self.expect_keyword(Keyword::With)?;
        let mut options = BindingOptions::default();
        self.comma_separated(|parser| {
            if parser.take_keyword(Keyword::User) {
                parser.expect(TokenKind::Equal)?;
                options.user = Some(parser.ident()?);
            } else {
                parser.expect_word("ANONYMOUS")?;
                options.anonymous = Some(parser.equals_on_off()?);
            }
            Ok(())
        })?;
        Ok(options)
    }

    /// `name FOR CONVERSATION [SET (..)]`
    fn priority(&mut self) -> Parsed<(Ident, PriorityOptions)> {
        let name = self.ident()?;
        self.expect_keyword(Keyword::For)?;
        self.expect_word("CONVERSATION")?;
        let mut options = PriorityOptions::default();
        if self.take_keyword(Keyword::Set) {
            self.parenthesised(|parser| parser.priority_option(&mut options))?;
        }
        Ok((name, options))
    }

    fn priority_option(&mut self, options: &mut PriorityOptions) -> Parsed<()> {
        if self.take_word("CONTRACT_NAME") {
            options.contract = Some(self.any_or(Self::ident)?);
        } else if self.take_word("LOCAL_SERVICE_NAME") {
            options.local_service = Some(self.any_or(Self::ident)?);
        } else if self.take_word("REMOTE_SERVICE_NAME") {
            options.remote_service = Some(self.any_or(Self::string)?);
        } else {
            self.expect_word("PRIORITY_LEVEL")?;
            self.expect(TokenKind::Equal)?;
            let level = if self.take_keyword(Keyword::Default) {
                PriorityLevel::Default
            } else {
                PriorityLevel::Level(self.small_number()?)
            };
            options.level = Some(level);
        }
        Ok(())
    }

    fn any_or<T>(&mut self, name: fn(&mut Self) -> Parsed<T>) -> Parsed<AnyOr<T>> {
        self.expect(TokenKind::Equal)?;
        if self.take_keyword(Keyword::Any) { Ok(AnyOr::Any) } else { name(self).map(AnyOr::Name) }
    }

    fn optional_event_notification(&mut self) -> Parsed<Option<StatementKind>> {
        if !self.take_words(&["EVENT", "NOTIFICATION"]) {
            return Ok(None);
        }
        let name = self.ident()?;
        let scope = self.notification_scope()?;
        let fan_in = self.take_keyword(Keyword::With);
        if fan_in {
            self.expect_word("FAN_IN")?;
        }
        self.expect_keyword(Keyword::For)?;
        let events = self.comma_separated(Self::ident)?;
        self.expect_keyword(Keyword::To)?;
        self.expect_word("SERVICE")?;
        let service = self.string()?;
        self.expect(TokenKind::Comma)?;
        let broker_instance = self.string()?;
        let ddl =
            BrokerDdl::CreateEventNotification { name, scope, fan_in, events, service, broker_instance };
        Ok(Some(broker_ddl(ddl)))
    }

    /// `ON {SERVER | DATABASE | QUEUE name}`
    fn notification_scope(&mut self) -> Parsed<NotificationScope> {
        self.expect_keyword(Keyword::On)?;
        if self.take_keyword(Keyword::Database) {
            return Ok(NotificationScope::Database);
        }
        if self.take_word("SERVER") {
            return Ok(NotificationScope::Server);
        }
        self.expect_word("QUEUE")?;
        Ok(NotificationScope::Queue(self.object_name_of(3)?))
    }
}

fn broker_ddl(ddl: BrokerDdl) -> StatementKind {
    StatementKind::BrokerDdl(Box::new(ddl))
}
