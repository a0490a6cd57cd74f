// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("AnswerSchema::schema" , false , | (mut a0 ,) : (own :: AnswerSchema ,) | { let _ = own :: AnswerSchema :: schema (& a0) ; }) ;
    calls . of ("Error::answer" , false , | (mut a0 ,) : (own :: Error ,) | { let _ = own :: Error :: answer (& a0) ; }) ;
    calls . of ("Error::at" , false , | (mut a0 , mut a1 ,) : (String , String ,) | { let _ = own :: Error :: at (a0 , a1) ; }) ;
    calls . of ("Error::malformed" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Error :: malformed (a0) ; }) ;
    calls . of ("Error::within" , false , | (mut a0 , mut a1 ,) : (own :: Error , String ,) | { let _ = own :: Error :: within (a0 , a1) ; }) ;
    calls . of ("FileKind::most_bytes" , false , | (mut a0 ,) : (own :: FileKind ,) | { let _ = own :: FileKind :: most_bytes (a0) ; }) ;
    calls . of ("InMemory::with" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: InMemory , String , String ,) | { let _ = own :: InMemory :: with (a0 , a1 , a2) ; }) ;
    calls . of ("Loaded::graph" , false , | (mut a0 ,) : (own :: Loaded ,) | { let _ = own :: Loaded :: graph (& a0) ; }) ;
    calls . of ("MachineSpec::check" , false , | (mut a0 ,) : (own :: MachineSpec ,) | { let _ = own :: MachineSpec :: check (& a0) ; }) ;
    calls . of ("MachineSpec::complete" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: MachineSpec , String , mapa_topologies :: Machine , () ,) | { let _ = own :: MachineSpec :: complete (& a0 , & a1 [..] , a2 , & mut | _ | { }) ; }) ;
    calls . of ("MachineSpec::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: MachineSpec :: from_str (& a0 [..]) ; }) ;
    calls . of ("MachineSpec::load" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: MachineSpec , own :: InMemory , () ,) | { let _ = own :: MachineSpec :: load (& a0 , & a1 , & mut | _ | { }) ; }) ;
    calls . of ("MachineSpec::named" , false , | (mut a0 ,) : (String ,) | { let _ = own :: MachineSpec :: named (a0) ; }) ;
    calls . of ("Model::expected" , false , | (mut a0 ,) : (mapa_core :: Expected ,) | { let _ = own :: Model :: expected (a0) ; }) ;
    calls . of ("Model::links" , false , | (mut a0 ,) : (LinkModel ,) | { let _ = own :: Model :: links (a0) ; }) ;
    calls . of ("Model::own" , false , | (mut a0 ,) : (Objective ,) | { let _ = own :: Model :: own (a0) ; }) ;
    calls . of ("Model::packing" , false , | (mut a0 ,) : (own :: Packing ,) | { let _ = own :: Model :: packing (a0) ; }) ;
    calls . of ("P2p::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: P2p :: from_str (& a0 [..]) ; }) ;
    calls . of ("Packing::of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Packing , HardwareGraph , DeviceSet ,) | { let _ = own :: Packing :: of (& a0 , & a1 , & a2) ; }) ;
    calls . of ("TimeWord::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: TimeWord :: from_str (& a0 [..]) ; }) ;
    calls . of ("WorkloadSpec::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: WorkloadSpec :: from_str (& a0 [..]) ; }) ;
    calls . of ("WorkloadSpec::load" , false , | (mut a0 , mut a1 ,) : (own :: WorkloadSpec , own :: InMemory ,) | { let _ = own :: WorkloadSpec :: load (& a0 , & a1) ; }) ;
    calls . of ("WorkloadSpec::reads_standard_input" , false , | (mut a0 ,) : (own :: WorkloadSpec ,) | { let _ = own :: WorkloadSpec :: reads_standard_input (& a0) ; }) ;
    calls . of ("WorkloadSpec::seed" , false , | (mut a0 ,) : (own :: WorkloadSpec ,) | { let _ = own :: WorkloadSpec :: seed (& a0) ; }) ;
    calls . of ("answer::Bandwidth::is_assumed" , false , | (mut a0 ,) : (own :: answer :: Bandwidth ,) | { let _ = own :: answer :: Bandwidth :: is_assumed (& a0) ; }) ;
    calls . of ("answer::Bandwidth::of" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: answer :: ModelChoice , mapa_core :: Pattern , mapa_core :: Scored , ViewParts ,) | { let _ = own :: answer :: Bandwidth :: of (& a0 , & a1 , & a2 , & a3 . view ()) ; }) ;
    calls . of ("answer::Bandwidth::of_decision" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: answer :: ModelChoice , mapa_core :: Decision , ViewParts ,) | { let _ = own :: answer :: Bandwidth :: of_decision (& a0 , & a1 , & a2 . view ()) ; }) ;
    calls . of ("answer::Bandwidth::text" , false , | (mut a0 ,) : (own :: answer :: Bandwidth ,) | { let _ = own :: answer :: Bandwidth :: text (& a0) ; }) ;
    calls . of ("answer::Decision::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (mapa_core :: Decision , HardwareGraph , Option < Vendor > ,) | { let _ = own :: answer :: Decision :: new (& a0 , & a1 , a2) ; }) ;
    calls . of ("answer::Links::new" , false , | (mut a0 ,) : (Census ,) | { let _ = own :: answer :: Links :: new (& a0) ; }) ;
    calls . of ("answer::Refusal::new" , false , | (mut a0 , mut a1 ,) : (String , String ,) | { let _ = own :: answer :: Refusal :: new (a0 , a1) ; }) ;
    calls . of ("answer::Scored::new" , false , | (mut a0 , mut a1 ,) : (mapa_core :: Scored , HardwareGraph ,) | { let _ = own :: answer :: Scored :: new (& a0 , & a1) ; }) ;
    calls . of ("answer::Streamed::object" , false , | (mut a0 ,) : (Value ,) | { let _ = own :: answer :: Streamed :: object (a0) ; }) ;
    calls . of ("answer::allocate::RunnerUp::of" , false , | (mut a0 , mut a1 ,) : (mapa_core :: Decision , HardwareGraph ,) | { let _ = own :: answer :: allocate :: RunnerUp :: of (& a0 , & a1) ; }) ;
    calls . of ("answer::defrag::Defrag::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , u32 , Vec < (usize , Reach) > ,) | { let _ = own :: answer :: defrag :: Defrag :: new (a0 , a1 , a2) ; }) ;
    calls . of ("answer::defrag::Defrag::refused" , false , | (mut a0 ,) : (own :: answer :: defrag :: Defrag ,) | { let _ = own :: answer :: defrag :: Defrag :: refused (& a0) ; }) ;
    calls . of ("answer::defrag::Wanted::least" , false , | (mut a0 ,) : (own :: answer :: defrag :: Wanted ,) | { let _ = own :: answer :: defrag :: Wanted :: least (& a0) ; }) ;
    calls . of ("answer::defrag::Wanted::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , f64 , Reach ,) | { let _ = own :: answer :: defrag :: Wanted :: new (a0 , a1 , a2) ; }) ;
    calls . of ("answer::environment_by_server" , false , | (mut a0 , mut a1 , mut a2 ,) : (Placement , HardwareGraph , Option < Vendor > ,) | { let _ = own :: answer :: environment_by_server (& a0 , & a1 , a2) ; }) ;
    calls . of ("answer::fit::doubts" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < Measurement > , Samples , mapa_regress :: Fit , bool ,) | { let _ = own :: answer :: fit :: doubts (& a0 [..] , & a1 , & a2 , a3) ; }) ;
    calls . of ("answer::fit::left_out" , false , | (mut a0 ,) : (Samples ,) | { let _ = own :: answer :: fit :: left_out (& a0) ; }) ;
    calls . of ("answer::fit::rings" , false , | (mut a0 , mut a1 ,) : (mapa_regress :: Fit , Samples ,) | { let _ = own :: answer :: fit :: rings (& a0 , & a1) ; }) ;
    calls . of ("answer::id_list" , false , | (mut a0 ,) : (Vec < DeviceId > ,) | { let _ = own :: answer :: id_list (& a0 [..]) ; }) ;
    calls . of ("answer::ids" , false , | (mut a0 ,) : (Vec < DeviceId > ,) | { let _ = own :: answer :: ids (& a0 [..]) ; }) ;
    calls . of ("answer::is_defined" , false , | (mut a0 , mut a1 ,) : (String , Placement ,) | { let _ = own :: answer :: is_defined (& a0 [..] , & a1) ; }) ;
    calls . of ("answer::label" , false , | (mut a0 , mut a1 ,) : (DeviceId , HardwareGraph ,) | { let _ = own :: answer :: label (a0 , & a1) ; }) ;
    calls . of ("answer::labels" , false , | (mut a0 , mut a1 ,) : (Vec < DeviceId > , HardwareGraph ,) | { let _ = own :: answer :: labels (& a0 [..] , & a1) ; }) ;
    calls . of ("answer::links_text" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (mapa_core :: Pattern , Vec < DeviceId > , HardwareGraph , Labels ,) | { let _ = own :: answer :: links_text (& a0 , & a1 [..] , & a2 , & a3) ; }) ;
    calls . of ("answer::matches::Count::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (SearchStats , bool , bool ,) | { let _ = own :: answer :: matches :: Count :: new (a0 , a1 , a2) ; }) ;
    calls . of ("answer::mig::About::new" , false , | (mut a0 ,) : (Gpu ,) | { let _ = own :: answer :: mig :: About :: new (& a0) ; }) ;
    calls . of ("answer::mig::Instance::of_layout" , false , | (mut a0 , mut a1 ,) : (mapa_core :: mig :: Model , Layout ,) | { let _ = own :: answer :: mig :: Instance :: of_layout (& a0 , & a1) ; }) ;
    calls . of ("answer::model_text" , false , | (mut a0 ,) : (String ,) | { let _ = own :: answer :: model_text (& a0 [..]) ; }) ;
    calls . of ("answer::names" , false , | (mut a0 , mut a1 ,) : (Vec < DeviceId > , HardwareGraph ,) | { let _ = own :: answer :: names (& a0 [..] , & a1) ; }) ;
    calls . of ("answer::nccl::NcclPattern::new" , false , | (mut a0 , mut a1 ,) : (NcclJob , Algorithm ,) | { let _ = own :: answer :: nccl :: NcclPattern :: new (& a0 , a1) ; }) ;
    calls . of ("answer::node::Diagnosis::broken" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: answer :: node :: Diagnosis , String , String , String ,) | { let _ = own :: answer :: node :: Diagnosis :: broken (& mut a0 , & a1 [..] , a2 , & a3 [..]) ; }) ;
    calls . of ("answer::node::Diagnosis::missing" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: answer :: node :: Diagnosis , String , String , String ,) | { let _ = own :: answer :: node :: Diagnosis :: missing (& mut a0 , & a1 [..] , a2 , & a3 [..]) ; }) ;
    calls . of ("answer::node::Diagnosis::ok" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: answer :: node :: Diagnosis , String , String ,) | { let _ = own :: answer :: node :: Diagnosis :: ok (& mut a0 , & a1 [..] , a2) ; }) ;
    calls . of ("answer::on_assumed_rates" , false , | (mut a0 ,) : (bool ,) | { let _ = own :: answer :: on_assumed_rates (a0) ; }) ;
    calls . of ("answer::score::Expected::new" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (Estimate , Operation , Option < u64 > , Option < Vendor > , bool ,) | { let _ = own :: answer :: score :: Expected :: new (& a0 , a1 , a2 , a3 , a4) ; }) ;
    calls . of ("answer::score::Expected::none" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , Operation , Option < u64 > ,) | { let _ = own :: answer :: score :: Expected :: none (& a0 [..] , a1 , a2) ; }) ;
    calls . of ("answer::score::note_on_peers" , false , | (mut a0 , mut a1 , mut a2 ,) : (Estimate , Option < Vendor > , bool ,) | { let _ = own :: answer :: score :: note_on_peers (& a0 , a1 , a2) ; }) ;
    calls . of ("answer::score::notes_on" , false , | (mut a0 , mut a1 , mut a2 ,) : (Estimate , Option < Vendor > , bool ,) | { let _ = own :: answer :: score :: notes_on (& a0 , a1 , a2) ; }) ;
    calls . of ("answer::simulate::PolicyRun::jobs_table" , false , | (mut a0 , mut a1 ,) : (own :: answer :: simulate :: PolicyRun , own :: answer :: simulate :: Simulated ,) | { let _ = own :: answer :: simulate :: PolicyRun :: jobs_table (& a0 , a1) ; }) ;
    calls . of ("answer::simulate::PolicyRun::jobs_tables" , false , | (mut a0 , mut a1 ,) : (own :: answer :: simulate :: PolicyRun , own :: answer :: simulate :: Simulated ,) | { let _ = own :: answer :: simulate :: PolicyRun :: jobs_tables (& a0 , a1) ; }) ;
    calls . of ("answer::simulate::PolicyRun::remarks" , false , | (mut a0 , mut a1 ,) : (own :: answer :: simulate :: PolicyRun , own :: answer :: simulate :: Simulated ,) | { let _ = own :: answer :: simulate :: PolicyRun :: remarks (& a0 , a1) ; }) ;
    calls . of ("answer::simulate::PolicyRun::tasks" , false , | (mut a0 , mut a1 ,) : (own :: answer :: simulate :: PolicyRun , own :: answer :: simulate :: Simulated ,) | { let _ = own :: answer :: simulate :: PolicyRun :: tasks (& a0 , a1) . take (1000) . for_each (drop) ; }) ;
    calls . of ("answer::simulate::Simulate::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: answer :: simulate :: Simulated , Vec < own :: answer :: simulate :: PolicyRun > , Vec < String > ,) | { let _ = own :: answer :: simulate :: Simulate :: new (a0 , & a1 [..] , & a2 [..]) ; }) ;
    calls . of ("answer::simulate::Simulate::streamed" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: answer :: simulate :: Simulated , Vec < own :: answer :: simulate :: PolicyRun > , Vec < String > ,) | { let _ = own :: answer :: simulate :: Simulate :: streamed (a0 , & a1 [..] , & a2 [..]) ; }) ;
    calls . of ("answer::sweep::RowsOf::file_name" , false , | (mut a0 ,) : (own :: answer :: sweep :: RowsOf ,) | { let _ = own :: answer :: sweep :: RowsOf :: file_name (a0) ; }) ;
    calls . of ("answer::sweep::SweepResults::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: answer :: sweep :: RowsOf , Table , String ,) | { let _ = own :: answer :: sweep :: SweepResults :: new (a0 , & a1 , & a2 [..]) ; }) ;
    calls . of ("answer::table::Cell::of" , false , | (mut a0 , mut a1 ,) : (Column , usize ,) | { let _ = own :: answer :: table :: Cell :: of (& a0 , a1) ; }) ;
    calls . of ("answer::table::record" , false , | (mut a0 , mut a1 ,) : (Table , usize ,) | { let _ = own :: answer :: table :: record (& a0 , a1) ; }) ;
    calls . of ("answer::table::records" , false , | (mut a0 ,) : (Table ,) | { let _ = own :: answer :: table :: records (& a0) ; }) ;
    calls . of ("choose_model" , false , | (mut a0 , mut a1 , mut a2 ,) : (Option < own :: Model > , mapa_core :: Pattern , HardwareGraph ,) | { let _ = own :: choose_model (a0 . as_ref () , & a1 , & a2) ; }) ;
    calls . of ("commands::AllocateOutcome::answer" , false , | (mut a0 , mut a1 ,) : (own :: commands :: AllocateOutcome , HardwareGraph ,) | { let _ = own :: commands :: AllocateOutcome :: answer (& a0 , & a1) ; }) ;
    calls . of ("commands::AllocateRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: commands :: AllocateRequest , own :: Names , own :: InMemory , own :: Loaded ,) | { let _ = own :: commands :: AllocateRequest :: outcome (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::Batch::answer" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: Batch , usize , String ,) | { let _ = own :: commands :: Batch :: answer (& mut a0 , a1 , a2 . as_bytes ()) ; }) ;
    calls . of ("commands::Batch::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Names , own :: InMemory , own :: Loaded ,) | { let _ = own :: commands :: Batch :: new (& a0 , & a1 , a2) ; }) ;
    calls . of ("commands::CompareOutcome::answer" , false , | (mut a0 ,) : (own :: commands :: CompareOutcome ,) | { let _ = own :: commands :: CompareOutcome :: answer (& a0) ; }) ;
    calls . of ("commands::CompareRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: commands :: CompareRequest , own :: Names , own :: InMemory , own :: Loaded ,) | { let _ = own :: commands :: CompareRequest :: outcome (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::DefragRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: DefragRequest , own :: InMemory , own :: Loaded ,) | { let _ = own :: commands :: DefragRequest :: outcome (& a0 , & a1 , & a2) ; }) ;
    calls . of ("commands::EvidenceRequest::evidence" , false , | (mut a0 ,) : (own :: commands :: EvidenceRequest ,) | { let _ = own :: commands :: EvidenceRequest :: evidence (& a0) ; }) ;
    calls . of ("commands::ExplainedSum::links" , false , | (mut a0 ,) : (own :: commands :: ExplainedSum ,) | { let _ = own :: commands :: ExplainedSum :: links (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("commands::ExplainedSum::terms" , false , | (mut a0 ,) : (own :: commands :: ExplainedSum ,) | { let _ = own :: commands :: ExplainedSum :: terms (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("commands::FinishedCell::error" , false , | (mut a0 ,) : (own :: commands :: FinishedCell ,) | { let _ = own :: commands :: FinishedCell :: error (& a0) ; }) ;
    calls . of ("commands::FinishedCell::has_jobs" , false , | (mut a0 ,) : (own :: commands :: FinishedCell ,) | { let _ = own :: commands :: FinishedCell :: has_jobs (& a0) ; }) ;
    calls . of ("commands::FinishedCell::key" , false , | (mut a0 ,) : (own :: commands :: FinishedCell ,) | { let _ = own :: commands :: FinishedCell :: key (& a0) ; }) ;
    calls . of ("commands::FinishedCell::number" , false , | (mut a0 , mut a1 ,) : (own :: commands :: FinishedCell , String ,) | { let _ = own :: commands :: FinishedCell :: number (& a0 , & a1 [..]) ; }) ;
    calls . of ("commands::FinishedCell::without_jobs" , false , | (mut a0 ,) : (own :: commands :: FinishedCell ,) | { let _ = own :: commands :: FinishedCell :: without_jobs (a0) ; }) ;
    calls . of ("commands::FinishedCell::words" , false , | (mut a0 ,) : (own :: commands :: FinishedCell ,) | { let _ = own :: commands :: FinishedCell :: words (& a0) ; }) ;
    calls . of ("commands::FitOutcome::answer" , false , | (mut a0 , mut a1 ,) : (own :: commands :: FitOutcome , Vec < String > ,) | { let _ = own :: commands :: FitOutcome :: answer (& a0 , & a1 [..]) ; }) ;
    calls . of ("commands::FitRequest::check" , false , | (mut a0 ,) : (own :: commands :: FitRequest ,) | { let _ = own :: commands :: FitRequest :: check (& a0) ; }) ;
    calls . of ("commands::FitRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: commands :: FitRequest , own :: InMemory , own :: Loaded , () ,) | { let _ = own :: commands :: FitRequest :: outcome (& a0 , & a1 , & a2 , & mut | _ , _ | { }) ; }) ;
    calls . of ("commands::GraphMatchOutcome::answer" , false , | (mut a0 , mut a1 ,) : (own :: commands :: GraphMatchOutcome , own :: commands :: GraphMatchRequest ,) | { let _ = own :: commands :: GraphMatchOutcome :: answer (& a0 , & a1) ; }) ;
    calls . of ("commands::GraphMatchRequest::outcome" , false , | (mut a0 , mut a1 ,) : (own :: commands :: GraphMatchRequest , own :: InMemory ,) | { let _ = own :: commands :: GraphMatchRequest :: outcome (& a0 , & a1) ; }) ;
    calls . of ("commands::MatchOutcome::answer" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: MatchOutcome , own :: Loaded , own :: commands :: MatchRequest ,) | { let _ = own :: commands :: MatchOutcome :: answer (& a0 , & a1 , & a2) ; }) ;
    calls . of ("commands::MatchRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: commands :: MatchRequest , own :: Names , own :: InMemory , own :: Loaded ,) | { let _ = own :: commands :: MatchRequest :: outcome (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::MeasuredOutcome::answer" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: MeasuredOutcome , Option < String > , Option < String > ,) | { let _ = own :: commands :: MeasuredOutcome :: answer (a0 , a1 , a2) ; }) ;
    calls . of ("commands::MeasuredRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: MeasuredRequest , own :: InMemory , own :: Loaded ,) | { let _ = own :: commands :: MeasuredRequest :: outcome (& a0 , & a1 , & a2) ; }) ;
    calls . of ("commands::MigOutcome::answer" , false , | (mut a0 , mut a1 ,) : (own :: commands :: MigOutcome , bool ,) | { let _ = own :: commands :: MigOutcome :: answer (& a0 , a1) ; }) ;
    calls . of ("commands::MigRequest::outcome" , false , | (mut a0 ,) : (own :: commands :: MigRequest ,) | { let _ = own :: commands :: MigRequest :: outcome (& a0) ; }) ;
    calls . of ("commands::PackedLinks::is_imitated" , false , | (mut a0 ,) : (own :: commands :: PackedLinks ,) | { let _ = own :: commands :: PackedLinks :: is_imitated (& a0) ; }) ;
    calls . of ("commands::PackedLinks::of_pair" , false , | (mut a0 ,) : (own :: commands :: PackedLinks ,) | { let _ = own :: commands :: PackedLinks :: of_pair (& a0) ; }) ;
    calls . of ("commands::PatternOutcome::answer" , false , | (mut a0 ,) : (own :: commands :: PatternOutcome ,) | { let _ = own :: commands :: PatternOutcome :: answer (& a0) ; }) ;
    calls . of ("commands::ReadFile::host" , false , | (mut a0 ,) : (own :: commands :: ReadFile ,) | { let _ = own :: commands :: ReadFile :: host (& a0) ; }) ;
    calls . of ("commands::ReadFile::of_bytes" , false , | (mut a0 , mut a1 ,) : (String , String ,) | { let _ = own :: commands :: ReadFile :: of_bytes (a0 , a1 . as_bytes ()) ; }) ;
    calls . of ("commands::ReadFile::of_dump" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , mapa_topologies :: Kind , Dump ,) | { let _ = own :: commands :: ReadFile :: of_dump (a0 , a1 , a2) ; }) ;
    calls . of ("commands::ReadFile::unreadable" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , Option < mapa_topologies :: Kind > , String ,) | { let _ = own :: commands :: ReadFile :: unreadable (a0 , a1 , a2) ; }) ;
    calls . of ("commands::ReadFile::what" , false , | (mut a0 ,) : (own :: commands :: ReadFile ,) | { let _ = own :: commands :: ReadFile :: what (& a0) ; }) ;
    calls . of ("commands::ReadOutcome::name" , false , | (mut a0 ,) : (own :: commands :: ReadOutcome ,) | { let _ = own :: commands :: ReadOutcome :: name (a0) ; }) ;
    calls . of ("commands::RunningJobs::count" , false , | (mut a0 ,) : (own :: commands :: RunningJobs ,) | { let _ = own :: commands :: RunningJobs :: count (& a0) ; }) ;
    calls . of ("commands::RunningJobs::name" , false , | (mut a0 , mut a1 ,) : (own :: commands :: RunningJobs , (MachineId , LeaseId) ,) | { let _ = own :: commands :: RunningJobs :: name (& a0 , a1) ; }) ;
    calls . of ("commands::ScoreOutcome::answer" , false , | (mut a0 , mut a1 ,) : (own :: commands :: ScoreOutcome , own :: Loaded ,) | { let _ = own :: commands :: ScoreOutcome :: answer (& a0 , & a1) ; }) ;
    calls . of ("commands::ScoreRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: commands :: ScoreRequest , own :: Names , own :: InMemory , own :: Loaded ,) | { let _ = own :: commands :: ScoreRequest :: outcome (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::SimulateOutcome::answer" , false , | (mut a0 , mut a1 ,) : (own :: commands :: SimulateOutcome , Vec < String > ,) | { let _ = own :: commands :: SimulateOutcome :: answer (& a0 , & a1 [..]) ; }) ;
    calls . of ("commands::SimulateOutcome::simulated" , false , | (mut a0 ,) : (own :: commands :: SimulateOutcome ,) | { let _ = own :: commands :: SimulateOutcome :: simulated (& a0) ; }) ;
    calls . of ("commands::SimulateOutcome::streamed" , false , | (mut a0 , mut a1 ,) : (own :: commands :: SimulateOutcome , Vec < String > ,) | { let _ = own :: commands :: SimulateOutcome :: streamed (& a0 , & a1 [..]) ; }) ;
    calls . of ("commands::SimulateRequest::check_network" , false , | (mut a0 ,) : (own :: commands :: SimulateRequest ,) | { let _ = own :: commands :: SimulateRequest :: check_network (& a0) ; }) ;
    calls . of ("commands::SimulateRequest::fleet" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: SimulateRequest , own :: InMemory , () ,) | { let _ = own :: commands :: SimulateRequest :: fleet (& a0 , & a1 , & mut | _ | { }) ; }) ;
    calls . of ("commands::SimulateRequest::outcome" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 , mut a5 , mut a6 ,) : (own :: commands :: SimulateRequest , own :: Names , own :: InMemory , Vec < Box < dyn mapa_core :: Policy > > , (String , Fleet) , bool , () ,) | { let _ = own :: commands :: SimulateRequest :: outcome (& a0 , & a1 , & a2 , a3 , a4 , a5 , & mut | _ | { }) ; }) ;
    calls . of ("commands::SimulateRequest::policies" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: SimulateRequest , own :: Names , own :: InMemory ,) | { let _ = own :: commands :: SimulateRequest :: policies (& a0 , & a1 , & a2) ; }) ;
    calls . of ("commands::SweepGroup::all" , false , | (mut a0 ,) : (Vec < (own :: commands :: SweepPoint , own :: commands :: FinishedCell) > ,) | { let _ = own :: commands :: SweepGroup :: all (& a0 [..]) ; }) ;
    calls . of ("commands::SweepGroup::failed" , false , | (mut a0 ,) : (own :: commands :: SweepGroup ,) | { let _ = own :: commands :: SweepGroup :: failed (& a0) ; }) ;
    calls . of ("commands::SweepGroup::mean" , false , | (mut a0 , mut a1 ,) : (own :: commands :: SweepGroup , String ,) | { let _ = own :: commands :: SweepGroup :: mean (& a0 , & a1 [..]) ; }) ;
    calls . of ("commands::SweepPlan::cells" , false , | (mut a0 ,) : (own :: commands :: SweepPlan ,) | { let _ = own :: commands :: SweepPlan :: cells (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("commands::SweepPlan::new" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Names , own :: InMemory , own :: commands :: SweepRequest , () ,) | { let _ = own :: commands :: SweepPlan :: new (& a0 , & a1 , & a2 , & mut | _ | { }) ; }) ;
    calls . of ("commands::SweepPoint::answer" , false , | (mut a0 , mut a1 ,) : (own :: commands :: SweepPoint , Option < bool > ,) | { let _ = own :: commands :: SweepPoint :: answer (& a0 , a1) ; }) ;
    calls . of ("commands::SweepPoint::key" , false , | (mut a0 ,) : (own :: commands :: SweepPoint ,) | { let _ = own :: commands :: SweepPoint :: key (& a0) ; }) ;
    calls . of ("commands::SweepPoint::run" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: commands :: SweepPoint , own :: Names , bool ,) | { let _ = own :: commands :: SweepPoint :: run (& a0 , & a1 , a2) ; }) ;
    calls . of ("commands::SweepRequest::from_toml" , false , | (mut a0 ,) : (String ,) | { let _ = own :: commands :: SweepRequest :: from_toml (& a0 [..]) ; }) ;
    calls . of ("commands::SweepRows::learn" , false , | (mut a0 , mut a1 ,) : (own :: commands :: SweepRows , own :: commands :: FinishedCell ,) | { let _ = own :: commands :: SweepRows :: learn (& mut a0 , & a1) ; }) ;
    calls . of ("commands::SweepRows::table" , false , | (mut a0 , mut a1 ,) : (own :: commands :: SweepRows , Vec < (own :: commands :: SweepPoint , own :: commands :: FinishedCell) > ,) | { let _ = own :: commands :: SweepRows :: table (& a0 , & a1 [..]) ; }) ;
    calls . of ("commands::SweepTables::new" , false , | (mut a0 , mut a1 ,) : (Vec < (own :: commands :: SweepPoint , own :: commands :: FinishedCell) > , bool ,) | { let _ = own :: commands :: SweepTables :: new (& a0 [..] , a1) ; }) ;
    calls . of ("commands::allocate" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Names , own :: InMemory , own :: Loaded , own :: commands :: AllocateRequest ,) | { let _ = own :: commands :: allocate (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::compare" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Names , own :: InMemory , own :: Loaded , own :: commands :: CompareRequest ,) | { let _ = own :: commands :: compare (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::defrag" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: InMemory , own :: Loaded , own :: commands :: DefragRequest ,) | { let _ = own :: commands :: defrag (& a0 , & a1 , & a2) ; }) ;
    calls . of ("commands::direct_links" , false , | (mut a0 , mut a1 ,) : (HardwareGraph , DeviceId ,) | { let _ = own :: commands :: direct_links (& a0 , a1) ; }) ;
    calls . of ("commands::find_in_graph" , false , | (mut a0 , mut a1 ,) : (own :: InMemory , own :: commands :: GraphMatchRequest ,) | { let _ = own :: commands :: find_in_graph (& a0 , & a1) ; }) ;
    calls . of ("commands::find_matches" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Names , own :: InMemory , own :: Loaded , own :: commands :: MatchRequest ,) | { let _ = own :: commands :: find_matches (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::fit" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: InMemory , own :: Loaded , own :: commands :: FitRequest ,) | { let _ = own :: commands :: fit (& a0 , & a1 , & a2) ; }) ;
    calls . of ("commands::link_census" , false , | (mut a0 ,) : (HardwareGraph ,) | { let _ = own :: commands :: link_census (& a0) ; }) ;
    calls . of ("commands::machines" , false , | (mut a0 ,) : (Vec < String > ,) | { let _ = own :: commands :: machines (& a0 [..]) ; }) ;
    calls . of ("commands::measured" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: InMemory , own :: Loaded , own :: commands :: MeasuredRequest ,) | { let _ = own :: commands :: measured (& a0 , & a1 , & a2) ; }) ;
    calls . of ("commands::mig" , false , | (mut a0 ,) : (own :: commands :: MigRequest ,) | { let _ = own :: commands :: mig (& a0) ; }) ;
    calls . of ("commands::network_cards" , false , | (mut a0 ,) : (mapa_topologies :: Machine ,) | { let _ = own :: commands :: network_cards (& a0) ; }) ;
    calls . of ("commands::parted" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , Option < own :: Loaded > , own :: commands :: PartedRequest ,) | { let _ = own :: commands :: parted (& a0 [..] , a1 . as_ref () , & a2) ; }) ;
    calls . of ("commands::pattern" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: InMemory , Option < own :: Loaded > , own :: commands :: PatternRequest ,) | { let _ = own :: commands :: pattern (& a0 , a1 . as_ref () , & a2) ; }) ;
    calls . of ("commands::read_files" , false , | (mut a0 ,) : (Vec < own :: commands :: ReadFile > ,) | { let _ = own :: commands :: read_files (& a0 [..]) ; }) ;
    calls . of ("commands::read_summary" , false , | (mut a0 ,) : (Vec < own :: commands :: ReadFile > ,) | { let _ = own :: commands :: read_summary (& a0 [..]) ; }) ;
    calls . of ("commands::score" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Names , own :: InMemory , own :: Loaded , own :: commands :: ScoreRequest ,) | { let _ = own :: commands :: score (& a0 , & a1 , & a2 , & a3) ; }) ;
    calls . of ("commands::sensitivity" , false , | (mut a0 ,) : (own :: commands :: EvidenceRequest ,) | { let _ = own :: commands :: sensitivity (& a0) ; }) ;
    calls . of ("commands::simulate" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Names , own :: InMemory , Option < own :: Loaded > , own :: commands :: SimulateRequest ,) | { let _ = own :: commands :: simulate (& a0 , & a1 , a2 . as_ref () , & a3) ; }) ;
    calls . of ("commands::sweep" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 , mut a5 ,) : (own :: Names , own :: InMemory , own :: commands :: SweepRequest , bool , Vec < own :: commands :: FinishedCell > , () ,) | { let _ = own :: commands :: sweep (& a0 , & a1 , & a2 , a3 , a4 , & mut | _ , _ | Ok (())) ; }) ;
    calls . of ("commands::topo" , false , | (mut a0 ,) : (own :: Loaded ,) | { let _ = own :: commands :: topo (& a0) ; }) ;
    calls . of ("drive_log::ActionLine::action" , false , | (mut a0 , mut a1 ,) : (own :: drive_log :: ActionLine , HardwareGraph ,) | { let _ = own :: drive_log :: ActionLine :: action (& a0 , & a1) ; }) ;
    calls . of ("drive_log::ActionLine::of" , false , | (mut a0 ,) : (Action ,) | { let _ = own :: drive_log :: ActionLine :: of (& a0) ; }) ;
    calls . of ("drive_log::EventLine::event" , false , | (mut a0 , mut a1 ,) : (own :: drive_log :: EventLine , HardwareGraph ,) | { let _ = own :: drive_log :: EventLine :: event (& a0 , & a1) ; }) ;
    calls . of ("drive_log::EventLine::of" , false , | (mut a0 ,) : (Event ,) | { let _ = own :: drive_log :: EventLine :: of (& a0) ; }) ;
    calls . of ("drive_log::JobLine::job" , false , | (mut a0 , mut a1 ,) : (own :: drive_log :: JobLine , HardwareGraph ,) | { let _ = own :: drive_log :: JobLine :: job (& a0 , & a1) ; }) ;
    calls . of ("drive_log::JobLine::of" , false , | (mut a0 ,) : (mapa_sched :: Job ,) | { let _ = own :: drive_log :: JobLine :: of (& a0) ; }) ;
    calls . of ("drive_log::ReplayedDrive::is_same" , false , | (mut a0 ,) : (own :: drive_log :: ReplayedDrive ,) | { let _ = own :: drive_log :: ReplayedDrive :: is_same (& a0) ; }) ;
    calls . of ("drive_log::Replayer::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: drive_log :: RecordHead , own :: Names , own :: InMemory ,) | { let _ = own :: drive_log :: Replayer :: new (& a0 , & a1 , & a2) ; }) ;
    calls . of ("drive_log::Replayer::turn" , false , | (mut a0 , mut a1 ,) : (own :: drive_log :: Replayer , own :: drive_log :: TurnLine ,) | { let _ = own :: drive_log :: Replayer :: turn (& mut a0 , & a1) ; }) ;
    calls . of ("drive_log::replay" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , own :: Names , own :: InMemory ,) | { let _ = own :: drive_log :: replay (a0 . as_bytes () , & a1 , & a2) ; }) ;
    calls . of ("generated" , false , | (mut a0 , mut a1 ,) : (String , u64 ,) | { let _ = own :: generated (& a0 [..] , a1) ; }) ;
    calls . of ("instances::fit" , false , | (mut a0 , mut a1 ,) : (mapa_core :: mig :: Model , Vec < ProfileId > ,) | { let _ = own :: instances :: fit (& a0 , & a1 [..]) ; }) ;
    calls . of ("instances::wanted" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (String , String , Gpu , Offer , mapa_core :: mig :: Model ,) | { let _ = own :: instances :: wanted (& a0 [..] , & a1 [..] , & a2 , a3 , & a4) ; }) ;
    calls . of ("job::Job::auto" , false , | (mut a0 ,) : (own :: job :: Job ,) | { let _ = own :: job :: Job :: auto (& a0) ; }) ;
    calls . of ("job::Job::fastest" , false , | (mut a0 ,) : (own :: job :: Job ,) | { let _ = own :: job :: Job :: fastest (& a0) ; }) ;
    calls . of ("job::Job::name" , false , | (mut a0 , mut a1 ,) : (own :: job :: Job , String ,) | { let _ = own :: job :: Job :: name (& a0 , & a1 [..]) ; }) ;
    calls . of ("job::Job::sensitivity" , false , | (mut a0 , mut a1 ,) : (own :: job :: Job , Option < bool > ,) | { let _ = own :: job :: Job :: sensitivity (& a0 , a1) ; }) ;
    calls . of ("job::Job::verdict" , false , | (mut a0 , mut a1 ,) : (own :: job :: Job , Option < bool > ,) | { let _ = own :: job :: Job :: verdict (& a0 , a1) ; }) ;
    calls . of ("job::Step::of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: job :: Job , mapa_core :: Decision , HardwareGraph ,) | { let _ = own :: job :: Step :: of (& a0 , & a1 , & a2) ; }) ;
    calls . of ("job::Step::text" , false , | (mut a0 ,) : (own :: job :: Step ,) | { let _ = own :: job :: Step :: text (& a0) ; }) ;
    calls . of ("job::Step::times" , false , | (mut a0 ,) : (own :: job :: Step ,) | { let _ = own :: job :: Step :: times (& a0) ; }) ;
    calls . of ("job::is_file" , false , | (mut a0 , mut a1 ,) : (String , own :: InMemory ,) | { let _ = own :: job :: is_file (& a0 [..] , & a1) ; }) ;
    calls . of ("job::job" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (String , Option < String > , Option < usize > , own :: InMemory ,) | { let _ = own :: job :: job (& a0 [..] , a1 . as_deref () , a2 , & a3) ; }) ;
    calls . of ("job::pattern" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , usize , own :: InMemory ,) | { let _ = own :: job :: pattern (& a0 [..] , a1 , & a2) ; }) ;
    calls . of ("measured::Question::model" , false , | (mut a0 , mut a1 ,) : (own :: measured :: Question , std :: sync :: Arc < Efficiency > ,) | { let _ = own :: measured :: Question :: model (& a0 , a1) ; }) ;
    calls . of ("measured::Ways::of" , false , | (mut a0 ,) : (MeasuredRow ,) | { let _ = own :: measured :: Ways :: of (& a0) ; }) ;
    calls . of ("measured::observation" , false , | (mut a0 , mut a1 , mut a2 ,) : (MeasuredRow , own :: measured :: Question , std :: sync :: Arc < Efficiency > ,) | { let _ = own :: measured :: observation (& a0 , & a1 , a2) ; }) ;
    calls . of ("measured::operation_of" , false , | (mut a0 ,) : (String ,) | { let _ = own :: measured :: operation_of (& a0 [..]) ; }) ;
    calls . of ("names::ModelSpec::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: names :: ModelSpec :: from_str (& a0 [..]) ; }) ;
    calls . of ("names::ModelSpec::load" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: names :: ModelSpec , own :: names :: Names , Option < Rates > , own :: InMemory ,) | { let _ = own :: names :: ModelSpec :: load (& a0 , & a1 , a2 , & a3) ; }) ;
    calls . of ("names::Named::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: names :: Named :: from_str (& a0 [..]) ; }) ;
    calls . of ("names::Named::name" , false , | (mut a0 ,) : (own :: names :: Named ,) | { let _ = own :: names :: Named :: name (& a0) ; }) ;
    calls . of ("names::Named::settings" , false , | (mut a0 ,) : (own :: names :: Named ,) | { let _ = own :: names :: Named :: settings (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("names::Named::words" , false , | (mut a0 ,) : (own :: names :: Named ,) | { let _ = own :: names :: Named :: words (& a0) ; }) ;
    calls . of ("names::Names::model" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: names :: Names , String , Option < Rates > , own :: InMemory ,) | { let _ = own :: names :: Names :: model (& a0 , & a1 [..] , a2 , & a3) ; }) ;
    calls . of ("names::Names::own_policy" , false , | (mut a0 , mut a1 ,) : (own :: names :: Names , own :: names :: Named ,) | { let _ = own :: names :: Names :: own_policy (& a0 , & a1) ; }) ;
    calls . of ("names::Names::policies_by_model" , false , | (mut a0 ,) : (own :: names :: Names ,) | { let _ = own :: names :: Names :: policies_by_model (& a0) ; }) ;
    calls . of ("names::Names::policies_of_streams" , false , | (mut a0 ,) : (own :: names :: Names ,) | { let _ = own :: names :: Names :: policies_of_streams (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("names::Names::policy" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: names :: Names , String , own :: names :: Choice ,) | { let _ = own :: names :: Names :: policy (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("names::Names::policy_names" , false , | (mut a0 , mut a1 ,) : (own :: names :: Names , Vec < String > ,) | { let _ = own :: names :: Names :: policy_names (& a0 , & a1 [..]) ; }) ;
    calls . of ("names::Names::scheduler" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: names :: Names , own :: names :: Named , Box < dyn mapa_core :: Policy > , own :: names :: Named ,) | { let _ = own :: names :: Names :: scheduler (& a0 , & a1 , a2 , & a3) ; }) ;
    calls . of ("names::PolicyRow::needs_seed" , false , | (mut a0 ,) : (own :: names :: PolicyRow ,) | { let _ = own :: names :: PolicyRow :: needs_seed (a0) ; }) ;
    calls . of ("names::PolicySpec::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: names :: PolicySpec :: from_str (& a0 [..]) ; }) ;
    calls . of ("names::PolicySpec::model" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: names :: PolicySpec , own :: names :: Names , own :: InMemory ,) | { let _ = own :: names :: PolicySpec :: model (& a0 , & a1 , & a2) ; }) ;
    calls . of ("names::PolicySpec::policy" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: names :: PolicySpec , own :: names :: Names , Option < own :: Model > , Option < own :: Job > ,) | { let _ = own :: names :: PolicySpec :: policy (& a0 , & a1 , a2 . as_ref () , a3 . as_ref ()) ; }) ;
    calls . of ("names::PolicySpec::scheduler" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: names :: PolicySpec , own :: names :: Names , own :: names :: Named , own :: names :: Named , own :: InMemory ,) | { let _ = own :: names :: PolicySpec :: scheduler (& a0 , & a1 , & a2 , & a3 , & a4) ; }) ;
    calls . of ("names::Preserved::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: names :: Preserved :: from_str (& a0 [..]) ; }) ;
    calls . of ("names::score_row" , false , | (mut a0 ,) : (String ,) | { let _ = own :: names :: score_row (& a0 [..]) ; }) ;
    calls . of ("names::score_text" , false , | (mut a0 , mut a1 ,) : (String , f64 ,) | { let _ = own :: names :: score_text (& a0 [..] , a1) ; }) ;
    calls . of ("notes" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 , mut a5 ,) : (own :: Names , mapa_core :: Decision , Request , ViewParts , Option < own :: Model > , Option < Vendor > ,) | { let _ = own :: notes (& a0 , & a1 , & a2 , & a3 . view () , a4 . as_ref () , a5) ; }) ;
    calls . of ("request::DeviceName::find" , false , | (mut a0 , mut a1 ,) : (own :: request :: DeviceName , HardwareGraph ,) | { let _ = own :: request :: DeviceName :: find (& a0 , & a1) ; }) ;
    calls . of ("request::JobSpec::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: request :: JobSpec :: from_str (& a0 [..]) ; }) ;
    calls . of ("request::JobSpec::job" , false , | (mut a0 , mut a1 ,) : (own :: request :: JobSpec , own :: InMemory ,) | { let _ = own :: request :: JobSpec :: job (& a0 , & a1) ; }) ;
    calls . of ("request::JobSpec::request" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: request :: JobSpec , own :: Job , HardwareGraph ,) | { let _ = own :: request :: JobSpec :: request (& a0 , & a1 , & a2) ; }) ;
    calls . of ("request::Like::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: request :: Like :: from_str (& a0 [..]) ; }) ;
    calls . of ("request::NicFor::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: request :: NicFor :: from_str (& a0 [..]) ; }) ;
    calls . of ("request::devices" , false , | (mut a0 , mut a1 ,) : (Vec < own :: request :: DeviceName > , HardwareGraph ,) | { let _ = own :: request :: devices (& a0 [..] , & a1) ; }) ;
    calls . of ("request::min_link" , false , | (mut a0 ,) : (Option < String > ,) | { let _ = own :: request :: min_link (a0 . as_deref ()) ; }) ;
    calls . of ("request::slice" , false , | (mut a0 , mut a1 ,) : (Option < String > , HardwareGraph ,) | { let _ = own :: request :: slice (a0 . as_deref () , & a1) ; }) ;
    calls . of ("request::with_busy" , false , | (mut a0 , mut a1 ,) : (Allocator , Vec < own :: request :: DeviceName > ,) | { let _ = own :: request :: with_busy (& a0 , & a1 [..]) ; }) ;
    calls . of ("shell::completions" , false , | (mut a0 , mut a1 , mut a2 ,) : (Command , own :: shell :: Shell , Vec < own :: shell :: OptionValues > ,) | { let _ = own :: shell :: completions (& a0 , a1 , & a2 [..]) ; }) ;
    calls . of ("shell::fault" , false , | (mut a0 ,) : (clap :: Error ,) | { let _ = own :: shell :: fault (& a0) ; }) ;
    calls . of ("shell::named_values" , false , | (mut a0 ,) : (own :: Names ,) | { let _ = own :: shell :: named_values (& a0) ; }) ;
    calls . of ("shell::pages" , false , | (mut a0 , mut a1 ,) : (Command , Vec < own :: shell :: CommandGroup > ,) | { let _ = own :: shell :: pages (a0 , & a1 [..]) ; }) ;
    calls . of ("simulation::fleet" , false , | (mut a0 ,) : (own :: Loaded ,) | { let _ = own :: simulation :: fleet (& a0) ; }) ;
    calls . of ("simulation::servers" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (Vec < String > , own :: MachineSpec , own :: InMemory , () ,) | { let _ = own :: simulation :: servers (& a0 [..] , & a1 , & a2 , & mut | _ | { }) ; }) ;
    calls . of ("simulation::simulation" , false , | (mut a0 , mut a1 ,) : (Workload , Fleet ,) | { let _ = own :: simulation :: simulation (& a0 , a1) ; }) ;
    calls . of ("text::counted" , false , | (mut a0 , mut a1 ,) : (usize , String ,) | { let _ = own :: text :: counted (a0 , & a1 [..]) ; }) ;
    calls . of ("text::duration" , false , | (mut a0 ,) : (f64 ,) | { let _ = own :: text :: duration (a0) ; }) ;
    calls . of ("text::duration_within" , false , | (mut a0 , mut a1 ,) : (f64 , f64 ,) | { let _ = own :: text :: duration_within (a0 , a1) ; }) ;
    calls . of ("text::gbps" , false , | (mut a0 ,) : (f64 ,) | { let _ = own :: text :: gbps (a0) ; }) ;
    calls . of ("text::seconds" , false , | (mut a0 ,) : (f64 ,) | { let _ = own :: text :: seconds (a0) ; }) ;
    calls . of ("text::table" , false , | (mut a0 , mut a1 ,) : (Vec < String > , Vec < usize > ,) | { let _ = own :: text :: table (a0 . iter () . map (| part | & part [..]) , a1) ; }) ;
    calls . of ("withheld" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 , mut a5 ,) : (own :: Names , mapa_core :: Decision , Request , ViewParts , own :: ModelChoice , Labels ,) | { let _ = own :: withheld (& a0 , & a1 , & a2 , & a3 . view () , & a4 , & a5) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "AnswerSchema::lines: T:JsonSchema",
    "AnswerSchema::of: T:JsonSchema",
    "Packing::at_most: Bandwidth",
    "answer::Streamed::long: implFn()->I+'a",
    "answer::Versioned::new: T",
    "answer::Versioned::of_node: T",
    "answer::defrag::Defrag::wanting: implFn((MachineId,LeaseId))->&'nstr",
    "answer::fit::Fit::new: Validated",
    "answer::mig::Fit::new: Result<Layout,String>",
    "commands::PatternRequest::outcome: PatternInput<'_>",
    "measured::question: dynFn(&str)->Option<Vec<u8>>",
    "names::ModelRow::new: implFn()->Result<Model,mapa_core::Error>+Send+Sync+'static",
    "names::PolicyRow::new: implFn(&Choice<'_>)->Result<Box<dynPolicy>,Error>+Send+Sync+'static",
    "names::PolicyRow::takes_model: ModelUse",
    "names::Registry::add: Registry",
    "names::Registry::empty: R",
    "names::Registry::get: Registry",
    "names::Registry::hint: Registry",
    "names::Registry::iter: Registry",
    "names::Registry::list: Registry",
    "names::SchedulerRow::made: &'static[&'staticstr]",
    "names::SchedulerRow::new: implFn(Box<dynPolicy>)->Boxed+Send+Sync+'static",
    "request::DeviceName::of_texts: T",
    "shell::OptionValues::new: implIterator<Item=&'nstr>",
    "shell::with_help: OsString",
    "simulation::Runner::new: &'aWorkload",
    "simulation::Runner::under: Runner",
];
