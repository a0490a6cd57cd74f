//! The answers that a machine keeps: a policy decides the same request on the same free devices once.
//!
//! A server sees few states, and its jobs have few shapes. So a queue that asks again after every
//! change, and a daemon that asks for each job that waits, mostly repeat themselves.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fnv::{FnvBuildHasher, FnvHasher};

use super::decision::Decision;
use super::refusal::Refusal;
use crate::ids::PolicyId;
use crate::request::Request;
use crate::stop_flag::StopFlag;
use crate::topology::{DeviceSet, MemoKey};
use crate::view::View;

/// The most answers that a machine keeps. When there are more, all go: which states come back is not
/// known.
const MOST_ANSWERS: usize = 1 << 11;

/// The memory that is counted for an answer, bytes: most have some ten scores on some eight devices.
const BYTES_OF_ANSWER: usize = 1 << 10;

/// Jobs of more ranks are asked for too seldom to be kept.
const MOST_RANKS: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
struct AnswerMemoKey;

impl MemoKey for AnswerMemoKey {
    type Table = AnswerMemo;
}

/// The answers of one machine.
#[derive(Default)]
struct AnswerMemo(Mutex<AnswersByHash>);

/// The answers, each under a hash of its question.
#[derive(Default)]
struct AnswersByHash {
    by_hash: HashMap<u64, Vec<Answer>, FnvBuildHasher>,
    count: usize,
}

/// A question and its answer.
struct Answer {
    policy: PolicyId,
    request: Request,
    free: DeviceSet,
    found: Result<Decision, Refusal>,
}

impl AnswerMemo {
    fn lock(&self) -> MutexGuard<'_, AnswersByHash> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a question on the state of `view`, if it is kept.
    fn find(
        &self,
        hash: u64,
        policy: PolicyId,
        request: &Request,
        view: &View<'_>,
    ) -> Option<Result<Decision, Refusal>> {
        let kept = self.lock();
        let same = |answer: &&Answer| {
            answer.policy == policy && answer.free == *view.free() && answer.request == *request
        };
        match &kept.by_hash.get(&hash)?.iter().find(same)?.found {
            Ok(decision) => decision.restated(view).map(Ok),
            Err(refusal) => Some(Err(refusal.clone())),
        }
    }

    fn keep(&self, hash: u64, answer: Answer) {
        let mut kept = self.lock();
        if kept.count == MOST_ANSWERS {
            *kept = AnswersByHash::default();
        }
        kept.by_hash.entry(hash).or_default().push(answer);
        kept.count += 1;
    }
}

/// The answer of a policy, which `decide` computes unless the machine has it from an earlier time.
///
/// Only what is [promised](super::Policy::of_free_set) to depend on the free set alone is kept, and only
/// what no limit and no deadline cut short. So an answer never depends on earlier ones.
///
/// # Complexity
/// O(k + e) for a pattern of k ranks and e edges where the answer is kept.
pub(super) fn remembered(
    promise: Option<PolicyId>,
    request: &Request,
    view: &View<'_>,
    decide: impl FnOnce() -> Result<Decision, Refusal>,
) -> Result<Decision, Refusal> {
    let Some(policy) =
        promise.filter(|_| view.is_as_its_free_set() && request.pattern.len() <= MOST_RANKS)
    else {
        return decide();
    };
    let answers = view.graph().memo().get_or_make(&AnswerMemoKey, || {
        (MOST_ANSWERS * BYTES_OF_ANSWER, AnswerMemo::default())
    });
    let hash = hash_of(policy, request, view);
    if let Some(answer) = answers.find(hash, policy, request, view) {
        return answer;
    }
    let found = decide();
    let is_final = match &found {
        Ok(decision) => decision.search().complete(),
        Err(refusal) => !matches!(refusal, Refusal::LimitReached(_)),
    };
    // A refusal after a deadline may be for lack of time, and under a flag that is set so may a choice.
    let is_timely = found.is_ok() || view.stop().is_none();
    if is_final && is_timely && !StopFlag::is_current_set() {
        let answer = Answer {
            policy,
            request: request.clone(),
            free: view.free().clone(),
            found: found.clone(),
        };
        answers.keep(hash, answer);
    }
    found
}

/// A hash of what differs most between questions. The rest is compared.
fn hash_of(policy: PolicyId, request: &Request, view: &View<'_>) -> u64 {
    let mut hasher = FnvHasher::default();
    policy.hash(&mut hasher);
    let pattern = &request.pattern;
    (pattern.len(), pattern.edges().len(), request.sensitivity).hash(&mut hasher);
    view.free().hash(&mut hasher);
    hasher.finish()
}
