//! What an earlier daemon left: which of its processes still run, and which notifications are to be acted on now.
//!
//! Pure but for what it asks of the [`ProcessTable`]. Adopting, journalling and acting are the loop's.

use crate::activator::journal::{Entry, KeptNotice, Process, Replay, RunningLaunch, UnfinishedLaunch};
use crate::activator::launch::{LaunchId, Outcome};
use crate::activator::platform;

/// What the system knows about processes.
pub(super) trait ProcessTable {
    /// Whether exactly this process runs.
    fn is_running(&self, process: &Process) -> bool;

    /// The process that was started under this id.
    fn find(&self, launch: LaunchId) -> Option<Process>;
}

/// The running system.
pub(super) struct System;

impl ProcessTable for System {
    fn is_running(&self, process: &Process) -> bool {
        platform::is_running(process)
    }

    fn find(&self, launch: LaunchId) -> Option<Process> {
        platform::find_launched(launch)
    }
}

/// What is to be done at start, in this order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Recovered {
    /// Lines that bring the journal up to date. That a launch is over comes after the notification that is to survive it, and
    /// is not to be written without it.
    pub(super) entries: Vec<Entry>,
    /// Processes to count again.
    pub(super) adopted: Vec<Survivor>,
    /// Notifications to act on, once all survivors are counted.
    pub(super) remembered: Vec<KeptNotice>,
}

/// A process of an earlier daemon that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Survivor {
    pub(super) launch: LaunchId,
    pub(super) app: String,
    pub(super) process: Process,
}

/// Compares the journal with the system.
pub(super) fn settle(replay: Replay, system: &impl ProcessTable) -> Recovered {
    let mut recovered = Recovered { remembered: replay.kept, ..Recovered::default() };
    for running in replay.running {
        if system.is_running(&running.process) {
            let RunningLaunch { launch, notice, process } = running;
            recovered.adopted.push(Survivor { launch, app: notice.app, process });
        } else {
            // Nobody waited for it, so nobody knows how it ended, nor whether it ever received.
            recovered.act_again(running.notice);
            recovered.entries.push(Entry::Ended { launch: running.launch, outcome: Outcome::Unknown });
        }
    }
    for UnfinishedLaunch { launch, notice } in replay.unfinished {
        match system.find(launch) {
            Some(process) => recovered.adopt_unreported(launch, notice.app, process),
            None => recovered.give_up(launch, notice),
        }
    }
    recovered
}

impl Recovered {
    /// The daemon died between the start of the process and the line that says so.
    fn adopt_unreported(&mut self, launch: LaunchId, app: String, process: Process) {
        self.entries.push(Entry::Started { launch, process: process.clone() });
        self.adopted.push(Survivor { launch, app, process });
    }

    /// The daemon died before the process was started, or both are gone.
    fn give_up(&mut self, launch: LaunchId, notice: KeptNotice) {
        let reason = "the activator ended before the process was reported".to_owned();
        self.act_again(notice);
        self.entries.push(Entry::Failed { launch, reason });
    }

    /// The notification counts as not acted on. A handler too many finds an empty queue; one too few leaves messages lying.
    fn act_again(&mut self, notice: KeptNotice) {
        let KeptNotice { app, service, target } = notice.clone();
        self.entries.push(Entry::Kept { app, service, target });
        self.remembered.retain(|kept| kept.app != notice.app);
        self.remembered.push(notice);
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessTable, Survivor, settle};
    use crate::activator::journal::{Entry, KeptNotice, Process, Replay, RunningLaunch, UnfinishedLaunch};
    use crate::activator::launch::{LaunchId, Outcome, Target};

    /// A system on which the processes with even ids run, each under the launch with its number.
    struct Even;

    impl ProcessTable for Even {
        fn is_running(&self, process: &Process) -> bool {
            process.pid.is_multiple_of(2)
        }

        fn find(&self, launch: LaunchId) -> Option<Process> {
            (0..10).step_by(2).map(process).find(|process| id(process.pid) == launch)
        }
    }

    fn id(number: u32) -> LaunchId {
        LaunchId::from_u128(u128::from(number))
    }

    fn process(pid: u32) -> Process {
        Process { pid, start_time: 5, boot_id: "boot".to_owned() }
    }

    fn notice(app: &str) -> KeptNotice {
        let target =
            Target { server: "S".into(), database: "D".into(), schema: "s".into(), queue: app.into() };
        KeptNotice { app: app.to_owned(), service: "//n".to_owned(), target }
    }

    fn replay() -> Replay {
        Replay { running: Vec::new(), unfinished: Vec::new(), kept: Vec::new(), damaged: Vec::new() }
    }

    #[test]
    fn processes_that_run_are_counted_again_and_the_others_have_ended() {
        let running =
            |number| RunningLaunch { launch: id(number), notice: notice("a"), process: process(number) };
        let recovered = settle(Replay { running: vec![running(1), running(2)], ..replay() }, &Even);
        let KeptNotice { app, service, target } = notice("a");
        let kept = Entry::Kept { app, service, target };
        let ended = Entry::Ended { launch: id(1), outcome: Outcome::Unknown };
        assert_eq!(
            recovered.entries,
            [kept, ended],
            "the first before the second, as the second may be lost"
        );
        assert_eq!(recovered.adopted, [Survivor { launch: id(2), app: "a".to_owned(), process: process(2) }]);
        assert_eq!(recovered.remembered, [notice("a")], "it may have ended before it received anything");
    }

    #[test]
    fn an_intent_whose_process_is_found_is_completed() {
        let unfinished = vec![UnfinishedLaunch { launch: id(4), notice: notice("a") }];
        let recovered = settle(Replay { unfinished, ..replay() }, &Even);
        assert_eq!(recovered.entries, [Entry::Started { launch: id(4), process: process(4) }]);
        assert_eq!(recovered.adopted.len(), 1);
        assert!(recovered.remembered.is_empty());
    }

    #[test]
    fn an_intent_without_a_process_is_acted_on_again_and_once_only() {
        let unfinished = vec![UnfinishedLaunch { launch: id(3), notice: notice("a") }];
        let kept = vec![notice("a"), notice("b")];
        let recovered = settle(Replay { unfinished, kept, ..replay() }, &Even);
        assert!(matches!(&recovered.entries[..], [Entry::Kept { .. }, Entry::Failed { .. }]));
        assert_eq!(recovered.remembered, [notice("b"), notice("a")]);
        assert!(recovered.adopted.is_empty());
    }
}
