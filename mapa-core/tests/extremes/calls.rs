// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use std::str::FromStr;
use std::time::Duration;

use crate::shared::Calls;

use super::*;

pub(super) fn all(calls: &mut Calls) {
    calls . of ("AllToAll::new" , false , | (mut a0 ,) : (own :: Rates ,) | { let _ = own :: AllToAll :: new (a0) ; }) ;
    calls . of ("Allocator::allocate" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Allocator , Box < dyn mapa_core :: Policy > , own :: Request ,) | { let _ = own :: Allocator :: allocate (& mut a0 , a1 , & a2) ; }) ;
    calls . of ("Allocator::begin_repartition" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Allocator , own :: DeviceId , own :: mig :: Layout ,) | { let _ = own :: Allocator :: begin_repartition (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Allocator::cordon" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Allocator , own :: DeviceId , bool ,) | { let _ = own :: Allocator :: cordon (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Allocator::cordoned" , false , | (mut a0 ,) : (own :: Allocator ,) | { let _ = own :: Allocator :: cordoned (& a0) ; }) ;
    calls . of ("Allocator::graph" , false , | (mut a0 ,) : (own :: Allocator ,) | { let _ = own :: Allocator :: graph (& a0) ; }) ;
    calls . of ("Allocator::id" , false , | (mut a0 ,) : (own :: Allocator ,) | { let _ = own :: Allocator :: id (& a0) ; }) ;
    calls . of ("Allocator::layout_is" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Allocator , own :: DeviceId , own :: mig :: Layout ,) | { let _ = own :: Allocator :: layout_is (& mut a0 , a1 , & a2) ; }) ;
    calls . of ("Allocator::lease" , false , | (mut a0 , mut a1 ,) : (own :: Allocator , own :: LeaseId ,) | { let _ = own :: Allocator :: lease (& a0 , a1) ; }) ;
    calls . of ("Allocator::leases" , false , | (mut a0 ,) : (own :: Allocator ,) | { let _ = own :: Allocator :: leases (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Allocator::new" , false , | (mut a0 ,) : (std :: sync :: Arc < own :: HardwareGraph > ,) | { let _ = own :: Allocator :: new (a0) ; }) ;
    calls . of ("Allocator::release" , false , | (mut a0 , mut a1 ,) : (own :: Allocator , own :: LeaseId ,) | { let _ = own :: Allocator :: release (& mut a0 , a1) ; }) ;
    calls . of ("Allocator::snapshot" , false , | (mut a0 ,) : (own :: Allocator ,) | { let _ = own :: Allocator :: snapshot (& a0) ; }) ;
    calls . of ("Allocator::stamp" , false , | (mut a0 ,) : (own :: Allocator ,) | { let _ = own :: Allocator :: stamp (& a0) ; }) ;
    calls . of ("Allocator::view" , false , | (mut a0 ,) : (own :: Allocator ,) | { let _ = own :: Allocator :: view (& a0) ; }) ;
    calls . of ("Allocator::with_id" , false , | (mut a0 , mut a1 ,) : (own :: MachineId , std :: sync :: Arc < own :: HardwareGraph > ,) | { let _ = own :: Allocator :: with_id (a0 , a1) ; }) ;
    calls . of ("Allocator::without" , false , | (mut a0 , mut a1 ,) : (own :: Allocator , own :: LeaseId ,) | { let _ = own :: Allocator :: without (& a0 , a1) ; }) ;
    calls . of ("BuiltIn::named" , false , | (mut a0 ,) : (String ,) | { let _ = own :: BuiltIn :: named (& a0 [..]) ; }) ;
    calls . of ("Census::count" , false , | (mut a0 , mut a1 ,) : (own :: Census , usize ,) | { let _ = own :: Census :: count (& a0 , a1) ; }) ;
    calls . of ("Census::counts" , false , | (mut a0 ,) : (own :: Census ,) | { let _ = own :: Census :: counts (& a0) ; }) ;
    calls . of ("Census::edges" , false , | (mut a0 ,) : (own :: Census ,) | { let _ = own :: Census :: edges (& a0) ; }) ;
    calls . of ("Census::from_counts" , false , | (mut a0 ,) : (Vec < u32 > ,) | { let _ = own :: Census :: from_counts (& a0 [..]) ; }) ;
    calls . of ("Census::from_xyz" , false , | (mut a0 , mut a1 , mut a2 ,) : (u32 , u32 , u32 ,) | { let _ = own :: Census :: from_xyz (a0 , a1 , a2) ; }) ;
    calls . of ("Census::of" , true , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Pattern , Vec < own :: DeviceId > , own :: HardwareGraph , own :: Tiers ,) | { let _ = own :: Census :: of (& a0 , & a1 [..] , & a2 , & a3) ; }) ;
    calls . of ("Census::xyz" , false , | (mut a0 ,) : (own :: Census ,) | { let _ = own :: Census :: xyz (& a0) ; }) ;
    calls . of ("Channels::new" , false , | (mut a0 , mut a1 ,) : (own :: Rates , Vec < f64 > ,) | { let _ = own :: Channels :: new (a0 , & a1 [..]) ; }) ;
    calls . of ("Class::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Class :: from_str (& a0 [..]) ; }) ;
    calls . of ("Coefficients::in_domain" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Pattern , Vec < own :: DeviceId > , own :: HardwareGraph ,) | { let _ = own :: Coefficients :: in_domain (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("Coefficients::predict" , false , | (mut a0 , mut a1 ,) : (own :: Coefficients , own :: Census ,) | { let _ = own :: Coefficients :: predict (& a0 , & a1) ; }) ;
    calls . of ("Decision::checked" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (String , own :: Request , ViewParts , Vec < own :: DeviceId > ,) | { let _ = own :: Decision :: checked (a0 , & a1 , & a2 . view () , a3) ; }) ;
    calls . of ("Decision::of_use" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (String , own :: Request , ViewParts , Vec < own :: DeviceId > ,) | { let _ = own :: Decision :: of_use (a0 , & a1 , & a2 . view () , a3) ; }) ;
    calls . of ("Demand::at_least" , false , | (mut a0 ,) : (own :: mig :: Size ,) | { let _ = own :: Demand :: at_least (a0) ; }) ;
    calls . of ("Demand::exclusive" , false , | (mut a0 ,) : (own :: Demand ,) | { let _ = own :: Demand :: exclusive (a0) ; }) ;
    calls . of ("Demand::is_shared" , false , | (mut a0 ,) : (own :: Demand ,) | { let _ = own :: Demand :: is_shared (& a0) ; }) ;
    calls . of ("Demand::memory" , false , | (mut a0 , mut a1 ,) : (own :: Demand , u64 ,) | { let _ = own :: Demand :: memory (a0 , a1) ; }) ;
    calls . of ("Demand::near_nics" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Demand , u8 , own :: LinkClass ,) | { let _ = own :: Demand :: near_nics (a0 , a1 , a2) ; }) ;
    calls . of ("Demand::pcie_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Demand , f64 ,) | { let _ = own :: Demand :: pcie_gbps (a0 , a1) ; }) ;
    calls . of ("Demand::profile" , false , | (mut a0 ,) : (own :: mig :: ProfileId ,) | { let _ = own :: Demand :: profile (a0) ; }) ;
    calls . of ("Demand::role" , false , | (mut a0 , mut a1 ,) : (own :: Demand , u16 ,) | { let _ = own :: Demand :: role (a0 , a1) ; }) ;
    calls . of ("Demand::shared" , false , | (mut a0 ,) : (own :: Demand ,) | { let _ = own :: Demand :: shared (a0) ; }) ;
    calls . of ("Demand::slice" , false , | (mut a0 ,) : (own :: mig :: Size ,) | { let _ = own :: Demand :: slice (a0) ; }) ;
    calls . of ("Demand::warps" , false , | (mut a0 , mut a1 ,) : (own :: Demand , u32 ,) | { let _ = own :: Demand :: warps (a0 , a1) ; }) ;
    calls . of ("DeviceId::index" , false , | (mut a0 ,) : (own :: DeviceId ,) | { let _ = own :: DeviceId :: index (a0) ; }) ;
    calls . of ("DeviceSet::contains" , false , | (mut a0 , mut a1 ,) : (own :: DeviceSet , own :: DeviceId ,) | { let _ = own :: DeviceSet :: contains (& a0 , a1) ; }) ;
    calls . of ("DeviceSet::first" , false , | (mut a0 ,) : (own :: DeviceSet ,) | { let _ = own :: DeviceSet :: first (& a0) ; }) ;
    calls . of ("DeviceSet::first_n" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: DeviceSet :: first_n (a0) ; }) ;
    calls . of ("DeviceSet::insert" , false , | (mut a0 , mut a1 ,) : (own :: DeviceSet , own :: DeviceId ,) | { let _ = own :: DeviceSet :: insert (& mut a0 , a1) ; }) ;
    calls . of ("DeviceSet::is_disjoint" , false , | (mut a0 , mut a1 ,) : (own :: DeviceSet , own :: DeviceSet ,) | { let _ = own :: DeviceSet :: is_disjoint (& a0 , & a1) ; }) ;
    calls . of ("DeviceSet::is_empty" , false , | (mut a0 ,) : (own :: DeviceSet ,) | { let _ = own :: DeviceSet :: is_empty (& a0) ; }) ;
    calls . of ("DeviceSet::is_subset" , false , | (mut a0 , mut a1 ,) : (own :: DeviceSet , own :: DeviceSet ,) | { let _ = own :: DeviceSet :: is_subset (& a0 , & a1) ; }) ;
    calls . of ("DeviceSet::iter" , false , | (mut a0 ,) : (own :: DeviceSet ,) | { let _ = own :: DeviceSet :: iter (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("DeviceSet::last" , false , | (mut a0 ,) : (own :: DeviceSet ,) | { let _ = own :: DeviceSet :: last (& a0) ; }) ;
    calls . of ("DeviceSet::len" , false , | (mut a0 ,) : (own :: DeviceSet ,) | { let _ = own :: DeviceSet :: len (& a0) ; }) ;
    calls . of ("DeviceSet::remove" , false , | (mut a0 , mut a1 ,) : (own :: DeviceSet , own :: DeviceId ,) | { let _ = own :: DeviceSet :: remove (& mut a0 , a1) ; }) ;
    calls . of ("DeviceSet::word" , false , | (mut a0 , mut a1 ,) : (own :: DeviceSet , usize ,) | { let _ = own :: DeviceSet :: word (& a0 , a1) ; }) ;
    calls . of ("Dimension::letters" , false , | (mut a0 ,) : (own :: Dimension ,) | { let _ = own :: Dimension :: letters (a0) ; }) ;
    calls . of ("Efficiency::exponent" , false , | (mut a0 , mut a1 ,) : (own :: Efficiency , String ,) | { let _ = own :: Efficiency :: exponent (& a0 , & a1 [..]) ; }) ;
    calls . of ("Expected::along" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: Expected , own :: HardwareGraph , Vec < own :: DeviceId > ,) | { let _ = own :: Expected :: along (& a0 , & a1 , & a2 [..]) ; }) ;
    calls . of ("Expected::efficiency" , false , | (mut a0 ,) : (own :: Expected ,) | { let _ = own :: Expected :: efficiency (& a0) ; }) ;
    calls . of ("Expected::far" , false , | (mut a0 , mut a1 ,) : (own :: Expected , bool ,) | { let _ = own :: Expected :: far (a0 , a1) ; }) ;
    calls . of ("Expected::in_switch" , false , | (mut a0 , mut a1 ,) : (own :: Expected , bool ,) | { let _ = own :: Expected :: in_switch (a0 , a1) ; }) ;
    calls . of ("Expected::message_bytes" , false , | (mut a0 , mut a1 ,) : (own :: Expected , Option < u64 > ,) | { let _ = own :: Expected :: message_bytes (a0 , a1) ; }) ;
    calls . of ("Expected::new" , false , | (mut a0 , mut a1 ,) : (own :: Operation , std :: sync :: Arc < own :: Efficiency > ,) | { let _ = own :: Expected :: new (a0 , a1) ; }) ;
    calls . of ("Expected::nominal" , false , | (mut a0 ,) : (own :: Operation ,) | { let _ = own :: Expected :: nominal (a0) ; }) ;
    calls . of ("Expected::objective" , false , | (mut a0 ,) : (own :: Expected ,) | { let _ = own :: Expected :: objective (& a0) ; }) ;
    calls . of ("Expected::of" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: Expected , own :: HardwareGraph , own :: DeviceSet ,) | { let _ = own :: Expected :: of (& a0 , & a1 , & a2) ; }) ;
    calls . of ("Expected::of_large_messages" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Expected , f64 , usize ,) | { let _ = own :: Expected :: of_large_messages (& a0 , a1 , a2) ; }) ;
    calls . of ("Expected::operation" , false , | (mut a0 ,) : (own :: Expected ,) | { let _ = own :: Expected :: operation (& a0) ; }) ;
    calls . of ("Expected::shipped" , false , | (mut a0 ,) : (own :: Operation ,) | { let _ = own :: Expected :: shipped (a0) ; }) ;
    calls . of ("Expected::ways" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: Expected , own :: HardwareGraph , Vec < own :: DeviceId > ,) | { let _ = own :: Expected :: ways (& a0 , & a1 , & a2 [..]) ; }) ;
    calls . of ("Fabric::add_device" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , String ,) | { let _ = own :: Fabric :: add_device (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::add_numa" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fabric , String , u32 ,) | { let _ = own :: Fabric :: add_numa (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Fabric::assume_link_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , Option < f64 > ,) | { let _ = own :: Fabric :: assume_link_gbps (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::assumed_link_gbps" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: assumed_link_gbps (& a0) ; }) ;
    calls . of ("Fabric::attach" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: Fabric , own :: NodeId , own :: NodeId , f64 ,) | { let _ = own :: Fabric :: attach (& mut a0 , a1 , a2 , a3) ; }) ;
    calls . of ("Fabric::cores" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , own :: NodeId ,) | { let _ = own :: Fabric :: cores (& a0 , a1) ; }) ;
    calls . of ("Fabric::device_count" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: device_count (& a0) ; }) ;
    calls . of ("Fabric::host_rates" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: host_rates (& a0) ; }) ;
    calls . of ("Fabric::is_virtual" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: is_virtual (& a0) ; }) ;
    calls . of ("Fabric::limit_switch_links" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fabric , own :: NodeId , u32 ,) | { let _ = own :: Fabric :: limit_switch_links (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Fabric::link" , false , | (mut a0 , mut a1 , mut a2 , mut a3 , mut a4 ,) : (own :: Fabric , own :: NodeId , own :: NodeId , own :: LinkClass , f64 ,) | { let _ = own :: Fabric :: link (& mut a0 , a1 , a2 , a3 , a4) ; }) ;
    calls . of ("Fabric::links_up" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: links_up (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::lower" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: lower (a0) ; }) ;
    calls . of ("Fabric::lower_with_host" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: lower_with_host (a0) ; }) ;
    calls . of ("Fabric::node" , true , | (mut a0 , mut a1 ,) : (own :: Fabric , own :: NodeId ,) | { let _ = own :: Fabric :: node (& a0 , a1) ; }) ;
    calls . of ("Fabric::nodes" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: nodes (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::offered" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: offered (& a0) ; }) ;
    calls . of ("Fabric::own_ways" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: own_ways (& a0) ; }) ;
    calls . of ("Fabric::peer_access" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: peer_access (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::peer_access_elsewhere" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: peer_access_elsewhere (& a0) ; }) ;
    calls . of ("Fabric::set_cores" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fabric , own :: NodeId , String ,) | { let _ = own :: Fabric :: set_cores (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Fabric::set_direct_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , f64 ,) | { let _ = own :: Fabric :: set_direct_gbps (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::set_host_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , f64 ,) | { let _ = own :: Fabric :: set_host_gbps (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::set_link_generation" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , Option < String > ,) | { let _ = own :: Fabric :: set_link_generation (& mut a0 , a1 . as_deref ()) ; }) ;
    calls . of ("Fabric::set_mig" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , Option < std :: sync :: Arc < own :: mig :: Model > > ,) | { let _ = own :: Fabric :: set_mig (& mut a0 , a1 . as_ref ()) ; }) ;
    calls . of ("Fabric::set_mig_of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fabric , own :: NodeId , std :: sync :: Arc < own :: mig :: Model > ,) | { let _ = own :: Fabric :: set_mig_of (& mut a0 , a1 , & a2) ; }) ;
    calls . of ("Fabric::set_offered" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , Option < Vec < own :: DeviceSet > > ,) | { let _ = own :: Fabric :: set_offered (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::set_products" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , String ,) | { let _ = own :: Fabric :: set_products (& mut a0 , & a1 [..]) ; }) ;
    calls . of ("Fabric::set_slot_gbps" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fabric , own :: NodeId , f64 ,) | { let _ = own :: Fabric :: set_slot_gbps (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Fabric::set_virtual" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , bool ,) | { let _ = own :: Fabric :: set_virtual (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::slot_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , own :: NodeId ,) | { let _ = own :: Fabric :: slot_gbps (& a0 , a1) ; }) ;
    calls . of ("Fabric::wires" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: wires (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::with_all_links" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: with_all_links (& a0) ; }) ;
    calls . of ("Foresight::new" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: Foresight :: new (a0) ; }) ;
    calls . of ("Graph::degree" , false , | (mut a0 , mut a1 ,) : (own :: Graph , u32 ,) | { let _ = own :: Graph :: degree (& a0 , a1) ; }) ;
    calls . of ("Graph::edge_count" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: edge_count (& a0) ; }) ;
    calls . of ("Graph::edges" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: edges (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Graph::is_empty" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: is_empty (& a0) ; }) ;
    calls . of ("Graph::labelled" , false , | (mut a0 , mut a1 ,) : (Vec < u32 > , Vec < (u32 , u32) > ,) | { let _ = own :: Graph :: labelled (a0 , a1) ; }) ;
    calls . of ("Graph::labels" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: labels (& a0) ; }) ;
    calls . of ("Graph::len" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: len (& a0) ; }) ;
    calls . of ("Graph::loops" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: loops (& a0) ; }) ;
    calls . of ("Graph::neighbours" , false , | (mut a0 , mut a1 ,) : (own :: Graph , u32 ,) | { let _ = own :: Graph :: neighbours (& a0 , a1) ; }) ;
    calls . of ("Graph::new" , false , | (mut a0 , mut a1 ,) : (usize , Vec < (u32 , u32) > ,) | { let _ = own :: Graph :: new (a0 , a1) ; }) ;
    calls . of ("HardwareGraph::all" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: all (& a0) ; }) ;
    calls . of ("HardwareGraph::assumed_link_gbps" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: assumed_link_gbps (& a0) ; }) ;
    calls . of ("HardwareGraph::candidates" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: Demand ,) | { let _ = own :: HardwareGraph :: candidates (& a0 , & a1) ; }) ;
    calls . of ("HardwareGraph::check" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: check (& a0 , a1) ; }) ;
    calls . of ("HardwareGraph::device" , true , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: device (& a0 , a1) ; }) ;
    calls . of ("HardwareGraph::devices" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: devices (& a0) ; }) ;
    calls . of ("HardwareGraph::fabric" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: fabric (& a0) ; }) ;
    calls . of ("HardwareGraph::find" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , String ,) | { let _ = own :: HardwareGraph :: find (& a0 , & a1 [..]) ; }) ;
    calls . of ("HardwareGraph::fingerprint" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: fingerprint (& a0) ; }) ;
    calls . of ("HardwareGraph::host_links" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: host_links (& a0) ; }) ;
    calls . of ("HardwareGraph::host_rates" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: host_rates (& a0) ; }) ;
    calls . of ("HardwareGraph::host_tree" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: host_tree (& a0) ; }) ;
    calls . of ("HardwareGraph::is_empty" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: is_empty (& a0) ; }) ;
    calls . of ("HardwareGraph::len" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: len (& a0) ; }) ;
    calls . of ("HardwareGraph::link" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: HardwareGraph , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: link (& a0 , a1 , a2) ; }) ;
    calls . of ("HardwareGraph::link_generation" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: link_generation (& a0) ; }) ;
    calls . of ("HardwareGraph::link_of_ranks" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: HardwareGraph , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: link_of_ranks (& a0 , a1 , a2) ; }) ;
    calls . of ("HardwareGraph::model" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: model (& a0 , a1) ; }) ;
    calls . of ("HardwareGraph::neighbours" , true , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: neighbours (& a0 , a1) ; }) ;
    calls . of ("HardwareGraph::numa_nodes" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: numa_nodes (& a0) ; }) ;
    calls . of ("HardwareGraph::of_pairs" , false , | (mut a0 , mut a1 ,) : (Vec < String > , Vec < (usize , usize , own :: LinkClass , f64) > ,) | { let _ = own :: HardwareGraph :: of_pairs (a0 . iter () . map (| part | & part [..]) , a1) ; }) ;
    calls . of ("HardwareGraph::offered" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: offered (& a0) ; }) ;
    calls . of ("HardwareGraph::offers" , true , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , Vec < own :: DeviceId > ,) | { let _ = own :: HardwareGraph :: offers (& a0 , & a1 [..]) ; }) ;
    calls . of ("HardwareGraph::overlap" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: overlap (& a0 , a1) ; }) ;
    calls . of ("HardwareGraph::pair" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: HardwareGraph , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: pair (& a0 , a1 , a2) ; }) ;
    calls . of ("HardwareGraph::peer_access" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: HardwareGraph , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: peer_access (& a0 , a1 , a2) ; }) ;
    calls . of ("HardwareGraph::products" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: products (& a0) ; }) ;
    calls . of ("HardwareGraph::table_bytes" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: table_bytes (& a0) ; }) ;
    calls . of ("HardwareGraph::vertices" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceId ,) | { let _ = own :: HardwareGraph :: vertices (& a0 , a1) ; }) ;
    calls . of ("HardwareGraph::vertices_in" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: HardwareGraph , own :: DeviceId , own :: mig :: Layout ,) | { let _ = own :: HardwareGraph :: vertices_in (& a0 , a1 , & a2) ; }) ;
    calls . of ("HardwareGraph::visible_devices" , true , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , Vec < own :: DeviceId > ,) | { let _ = own :: HardwareGraph :: visible_devices (& a0 , & a1 [..]) ; }) ;
    calls . of ("HardwareGraph::wholes" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HardwareGraph :: wholes (& a0) ; }) ;
    calls . of ("HardwareGraph::with_free" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceSet ,) | { let _ = own :: HardwareGraph :: with_free (& a0 , & a1) ; }) ;
    calls . of ("HardwareGraph::with_parts" , false , | (mut a0 , mut a1 ,) : (own :: HardwareGraph , own :: DeviceSet ,) | { let _ = own :: HardwareGraph :: with_parts (& a0 , & a1) ; }) ;
    calls . of ("HostNetwork::above" , false , | (mut a0 , mut a1 ,) : (own :: HostNetwork , own :: DeviceId ,) | { let _ = own :: HostNetwork :: above (& a0 , a1) . take (1000) . for_each (drop) ; }) ;
    calls . of ("HostNetwork::all_known" , false , | (mut a0 ,) : (own :: HostNetwork ,) | { let _ = own :: HostNetwork :: all_known (& a0) ; }) ;
    calls . of ("HostNetwork::all_linked" , false , | (mut a0 ,) : (own :: HostNetwork ,) | { let _ = own :: HostNetwork :: all_linked (& a0) ; }) ;
    calls . of ("HostNetwork::beyond" , false , | (mut a0 , mut a1 ,) : (own :: HostNetwork , own :: DeviceId ,) | { let _ = own :: HostNetwork :: beyond (& a0 , a1) . take (1000) . for_each (drop) ; }) ;
    calls . of ("HostNetwork::has_paths" , false , | (mut a0 ,) : (own :: HostNetwork ,) | { let _ = own :: HostNetwork :: has_paths (& a0) ; }) ;
    calls . of ("HostNetwork::in_order" , false , | (mut a0 , mut a1 ,) : (own :: HostNetwork , own :: DeviceSet ,) | { let _ = own :: HostNetwork :: in_order (& a0 , & a1) ; }) ;
    calls . of ("HostNetwork::is_drawn" , false , | (mut a0 ,) : (own :: HostNetwork ,) | { let _ = own :: HostNetwork :: is_drawn (& a0) ; }) ;
    calls . of ("HostNetwork::is_known" , false , | (mut a0 , mut a1 ,) : (own :: HostNetwork , own :: DeviceId ,) | { let _ = own :: HostNetwork :: is_known (& a0 , a1) ; }) ;
    calls . of ("HostNetwork::is_open" , false , | (mut a0 ,) : (own :: HostNetwork ,) | { let _ = own :: HostNetwork :: is_open (& a0) ; }) ;
    calls . of ("HostNetwork::narrow_path_gbps" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: HostNetwork , own :: HardwareGraph , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HostNetwork :: narrow_path_gbps (& a0 , & a1 , a2 , a3) ; }) ;
    calls . of ("HostNetwork::of" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HostNetwork :: of (& a0) ; }) ;
    calls . of ("HostNetwork::root" , false , | (mut a0 , mut a1 ,) : (own :: HostNetwork , own :: DeviceId ,) | { let _ = own :: HostNetwork :: root (& a0 , a1) ; }) ;
    calls . of ("HostNetwork::share_a_root" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: HostNetwork , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HostNetwork :: share_a_root (& a0 , a1 , a2) ; }) ;
    calls . of ("HostNetwork::share_a_switch" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: HostNetwork , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HostNetwork :: share_a_switch (& a0 , a1 , a2) ; }) ;
    calls . of ("HostNetwork::share_memory" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: HostNetwork , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HostNetwork :: share_memory (& a0 , a1 , a2) ; }) ;
    calls . of ("HostNetwork::slot_gbps" , false , | (mut a0 , mut a1 ,) : (own :: HostNetwork , own :: DeviceId ,) | { let _ = own :: HostNetwork :: slot_gbps (& a0 , a1) ; }) ;
    calls . of ("HostNetwork::socket" , false , | (mut a0 , mut a1 ,) : (own :: HostNetwork , own :: DeviceId ,) | { let _ = own :: HostNetwork :: socket (& a0 , a1) ; }) ;
    calls . of ("HostNetwork::sockets_are_assumed" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: HostNetwork , own :: DeviceId , own :: DeviceId ,) | { let _ = own :: HostNetwork :: sockets_are_assumed (& a0 , a1 , a2) ; }) ;
    calls . of ("HostNetwork::trunks" , false , | (mut a0 ,) : (own :: HostNetwork ,) | { let _ = own :: HostNetwork :: trunks (& a0) ; }) ;
    calls . of ("HostNetwork::uplinks" , false , | (mut a0 ,) : (own :: HostNetwork ,) | { let _ = own :: HostNetwork :: uplinks (& a0) ; }) ;
    calls . of ("Limits::matches" , false , | (mut a0 , mut a1 ,) : (own :: Limits , u64 ,) | { let _ = own :: Limits :: matches (a0 , a1) ; }) ;
    calls . of ("Limits::nodes" , false , | (mut a0 , mut a1 ,) : (own :: Limits , u64 ,) | { let _ = own :: Limits :: nodes (a0 , a1) ; }) ;
    calls . of ("Link::exists" , false , | (mut a0 ,) : (own :: Link ,) | { let _ = own :: Link :: exists (a0) ; }) ;
    calls . of ("LinkClass::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: LinkClass :: from_str (& a0 [..]) ; }) ;
    calls . of ("LinkClass::is_direct" , false , | (mut a0 ,) : (own :: LinkClass ,) | { let _ = own :: LinkClass :: is_direct (a0) ; }) ;
    calls . of ("LinkClass::is_host" , false , | (mut a0 ,) : (own :: LinkClass ,) | { let _ = own :: LinkClass :: is_host (a0) ; }) ;
    calls . of ("LinkModel::domain" , false , | (mut a0 ,) : (own :: LinkModel ,) | { let _ = own :: LinkModel :: domain (& a0) ; }) ;
    calls . of ("LinkModel::explain" , false , | (mut a0 , mut a1 ,) : (own :: LinkModel , own :: Census ,) | { let _ = own :: LinkModel :: explain (& a0 , & a1) . take (1000) . for_each (drop) ; }) ;
    calls . of ("LinkModel::in_domain" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: LinkModel , own :: Census , usize ,) | { let _ = own :: LinkModel :: in_domain (& a0 , & a1 , a2) ; }) ;
    calls . of ("LinkModel::name" , false , | (mut a0 ,) : (own :: LinkModel ,) | { let _ = own :: LinkModel :: name (& a0) ; }) ;
    calls . of ("LinkModel::objective" , false , | (mut a0 ,) : (own :: LinkModel ,) | { let _ = own :: LinkModel :: objective (& a0) ; }) ;
    calls . of ("LinkModel::predict" , false , | (mut a0 , mut a1 ,) : (own :: LinkModel , own :: Census ,) | { let _ = own :: LinkModel :: predict (& a0 , & a1) ; }) ;
    calls . of ("LinkModel::source" , false , | (mut a0 ,) : (own :: LinkModel ,) | { let _ = own :: LinkModel :: source (& a0) ; }) ;
    calls . of ("LinkModel::statistics" , false , | (mut a0 ,) : (own :: LinkModel ,) | { let _ = own :: LinkModel :: statistics (& a0) ; }) ;
    calls . of ("LinkModel::terms" , false , | (mut a0 ,) : (own :: LinkModel ,) | { let _ = own :: LinkModel :: terms (& a0) ; }) ;
    calls . of ("LinkModel::tiers" , false , | (mut a0 ,) : (own :: LinkModel ,) | { let _ = own :: LinkModel :: tiers (& a0) ; }) ;
    calls . of ("LinkModel::with_source" , false , | (mut a0 , mut a1 ,) : (own :: LinkModel , String ,) | { let _ = own :: LinkModel :: with_source (a0 , a1) ; }) ;
    calls . of ("LinkModel::with_statistics" , false , | (mut a0 , mut a1 ,) : (own :: LinkModel , std :: collections :: BTreeMap < String , f64 > ,) | { let _ = own :: LinkModel :: with_statistics (a0 , a1) ; }) ;
    calls . of ("Lots::new" , false , | (mut a0 , mut a1 ,) : (String , u64 ,) | { let _ = own :: Lots :: new (& a0 [..] , a1) ; }) ;
    calls . of ("MatchConfig::by_rank" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , bool ,) | { let _ = own :: MatchConfig :: by_rank (a0 , a1) ; }) ;
    calls . of ("MatchConfig::compile" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , own :: Pattern ,) | { let _ = own :: MatchConfig :: compile (a0 , & a1) ; }) ;
    calls . of ("MatchConfig::compile_graph" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , own :: Graph ,) | { let _ = own :: MatchConfig :: compile_graph (a0 , & a1) ; }) ;
    calls . of ("MatchConfig::distinct" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , bool ,) | { let _ = own :: MatchConfig :: distinct (a0 , a1) ; }) ;
    calls . of ("MatchConfig::induced" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , bool ,) | { let _ = own :: MatchConfig :: induced (a0 , a1) ; }) ;
    calls . of ("ModelShape::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: ModelShape :: from_str (& a0 [..]) ; }) ;
    calls . of ("Objective::blind_to_ids" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: Objective :: blind_to_ids (a0) ; }) ;
    calls . of ("Objective::form" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: Objective :: form (& a0) ; }) ;
    calls . of ("Objective::name" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: Objective :: name (& a0) ; }) ;
    calls . of ("Objective::of_set" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: Objective :: of_set (a0) ; }) ;
    calls . of ("Objective::symmetric" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: Objective :: symmetric (a0) ; }) ;
    calls . of ("Operation::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Operation :: from_str (& a0 [..]) ; }) ;
    calls . of ("Operation::is_collective" , false , | (mut a0 ,) : (own :: Operation ,) | { let _ = own :: Operation :: is_collective (a0) ; }) ;
    calls . of ("Operation::is_of_host" , false , | (mut a0 ,) : (own :: Operation ,) | { let _ = own :: Operation :: is_of_host (a0) ; }) ;
    calls . of ("Parallelism::bytes" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Dimension ,) | { let _ = own :: Parallelism :: bytes (& a0 , a1) ; }) ;
    calls . of ("Parallelism::default_bytes" , false , | (mut a0 , mut a1 ,) : (own :: Dimension , bool ,) | { let _ = own :: Parallelism :: default_bytes (a0 , a1) ; }) ;
    calls . of ("Parallelism::degree" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Dimension ,) | { let _ = own :: Parallelism :: degree (& a0 , a1) ; }) ;
    calls . of ("Parallelism::dimensions" , false , | (mut a0 ,) : (own :: Parallelism ,) | { let _ = own :: Parallelism :: dimensions (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Parallelism::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Parallelism :: from_str (& a0 [..]) ; }) ;
    calls . of ("Parallelism::group_size" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Dimension ,) | { let _ = own :: Parallelism :: group_size (& a0 , a1) ; }) ;
    calls . of ("Parallelism::groups" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Dimension ,) | { let _ = own :: Parallelism :: groups (& a0 , a1) ; }) ;
    calls . of ("Parallelism::is_all_to_all" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Dimension ,) | { let _ = own :: Parallelism :: is_all_to_all (& a0 , a1) ; }) ;
    calls . of ("Parallelism::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (usize , usize , usize ,) | { let _ = own :: Parallelism :: new (a0 , a1 , a2) ; }) ;
    calls . of ("Parallelism::pattern" , false , | (mut a0 ,) : (own :: Parallelism ,) | { let _ = own :: Parallelism :: pattern (& a0) ; }) ;
    calls . of ("Parallelism::ranks" , false , | (mut a0 ,) : (own :: Parallelism ,) | { let _ = own :: Parallelism :: ranks (& a0) ; }) ;
    calls . of ("Parallelism::traffic" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Dimension ,) | { let _ = own :: Parallelism :: traffic (& a0 , a1) ; }) ;
    calls . of ("Parallelism::with_bytes" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Parallelism , own :: Dimension , f64 ,) | { let _ = own :: Parallelism :: with_bytes (a0 , a1 , a2) ; }) ;
    calls . of ("Parallelism::with_bytes_of" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , String ,) | { let _ = own :: Parallelism :: with_bytes_of (a0 , & a1 [..]) ; }) ;
    calls . of ("Parallelism::with_bytes_of_model" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: ModelShape ,) | { let _ = own :: Parallelism :: with_bytes_of_model (a0 , & a1) ; }) ;
    calls . of ("Parallelism::with_experts" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Parallelism , usize , bool ,) | { let _ = own :: Parallelism :: with_experts (a0 , a1 , a2) ; }) ;
    calls . of ("Parallelism::with_order" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , String ,) | { let _ = own :: Parallelism :: with_order (a0 , & a1 [..]) ; }) ;
    calls . of ("Parallelism::with_sequence" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Parallelism , usize , bool ,) | { let _ = own :: Parallelism :: with_sequence (a0 , a1 , a2) ; }) ;
    calls . of ("Part::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Part :: from_str (& a0 [..]) ; }) ;
    calls . of ("Pattern::all_to_all" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: all_to_all (a0) ; }) ;
    calls . of ("Pattern::binary_tree" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: binary_tree (a0) ; }) ;
    calls . of ("Pattern::chain" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: chain (a0) ; }) ;
    calls . of ("Pattern::demands" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Pattern :: demands (& a0) ; }) ;
    calls . of ("Pattern::each" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: Demand ,) | { let _ = own :: Pattern :: each (& a0 , a1) ; }) ;
    calls . of ("Pattern::edges" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Pattern :: edges (& a0) ; }) ;
    calls . of ("Pattern::from_edges" , false , | (mut a0 , mut a1 ,) : (usize , Vec < (u16 , u16 , f64) > ,) | { let _ = own :: Pattern :: from_edges (a0 , a1) ; }) ;
    calls . of ("Pattern::independent" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: independent (a0) ; }) ;
    calls . of ("Pattern::is_empty" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Pattern :: is_empty (& a0) ; }) ;
    calls . of ("Pattern::len" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Pattern :: len (& a0) ; }) ;
    calls . of ("Pattern::matcher" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Pattern :: matcher (& a0) ; }) ;
    calls . of ("Pattern::ring" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: ring (a0) ; }) ;
    calls . of ("Pattern::ring_tree" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: ring_tree (a0) ; }) ;
    calls . of ("Pattern::single" , false , | (mut a0 ,) : (own :: Demand ,) | { let _ = own :: Pattern :: single (a0) ; }) ;
    calls . of ("Pattern::star" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: star (a0) ; }) ;
    calls . of ("Pattern::union" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: Pattern ,) | { let _ = own :: Pattern :: union (& a0 , & a1) ; }) ;
    calls . of ("Pattern::with_demand" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Pattern , usize , own :: Demand ,) | { let _ = own :: Pattern :: with_demand (& a0 , a1 , a2) ; }) ;
    calls . of ("Placement::set" , false , | (mut a0 ,) : (own :: Placement ,) | { let _ = own :: Placement :: set (& a0) ; }) ;
    calls . of ("Rates::calibrated" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: HardwareGraph , own :: DeviceId , own :: DeviceId , f64 ,) | { let _ = own :: Rates :: calibrated (& a0 , a1 , a2 , a3) ; }) ;
    calls . of ("Request::avoid" , false , | (mut a0 , mut a1 ,) : (own :: Request , own :: DeviceSet ,) | { let _ = own :: Request :: avoid (a0 , a1) ; }) ;
    calls . of ("Request::check" , false , | (mut a0 , mut a1 ,) : (own :: Request , own :: HardwareGraph ,) | { let _ = own :: Request :: check (& a0 , & a1) ; }) ;
    calls . of ("Request::is_sensitive" , false , | (mut a0 ,) : (own :: Request ,) | { let _ = own :: Request :: is_sensitive (& a0) ; }) ;
    calls . of ("Request::limits" , false , | (mut a0 , mut a1 ,) : (own :: Request , own :: Limits ,) | { let _ = own :: Request :: limits (a0 , a1) ; }) ;
    calls . of ("Request::min_link" , false , | (mut a0 , mut a1 ,) : (own :: Request , own :: LinkClass ,) | { let _ = own :: Request :: min_link (a0 , a1) ; }) ;
    calls . of ("Request::must_include" , false , | (mut a0 , mut a1 ,) : (own :: Request , own :: DeviceSet ,) | { let _ = own :: Request :: must_include (a0 , a1) ; }) ;
    calls . of ("Request::new" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Request :: new (a0) ; }) ;
    calls . of ("Request::only" , false , | (mut a0 , mut a1 ,) : (own :: Request , own :: DeviceSet ,) | { let _ = own :: Request :: only (a0 , a1) ; }) ;
    calls . of ("Request::relaxed" , false , | (mut a0 ,) : (own :: Request ,) | { let _ = own :: Request :: relaxed (a0) ; }) ;
    calls . of ("Request::runners_up" , false , | (mut a0 , mut a1 ,) : (own :: Request , usize ,) | { let _ = own :: Request :: runners_up (a0 , a1) ; }) ;
    calls . of ("Request::same_numa" , false , | (mut a0 , mut a1 ,) : (own :: Request , bool ,) | { let _ = own :: Request :: same_numa (a0 , a1) ; }) ;
    calls . of ("Request::unlike" , false , | (mut a0 , mut a1 ,) : (own :: Request , bool ,) | { let _ = own :: Request :: unlike (a0 , a1) ; }) ;
    calls . of ("RingPacking::new" , false , | (mut a0 ,) : (own :: Rates ,) | { let _ = own :: RingPacking :: new (a0) ; }) ;
    calls . of ("Rules::named" , false , | (mut a0 , mut a1 ,) : (own :: Rules , String ,) | { let _ = own :: Rules :: named (a0 , a1) ; }) ;
    calls . of ("Rules::new" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Rules :: new (a0) ; }) ;
    calls . of ("Rules::report" , false , | (mut a0 , mut a1 ,) : (own :: Rules , own :: Objective ,) | { let _ = own :: Rules :: report (a0 , a1) ; }) ;
    calls . of ("Rules::report_paper_scores" , false , | (mut a0 ,) : (own :: Rules ,) | { let _ = own :: Rules :: report_paper_scores (a0) ; }) ;
    calls . of ("Seat::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (ViewParts , own :: Demand , own :: DeviceId ,) | { let _ = own :: Seat :: new (a0 . view () , & a1 , a2) ; }) ;
    calls . of ("Sensitivity::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Sensitivity :: from_str (& a0 [..]) ; }) ;
    calls . of ("Sensitivity::is_sensitive" , false , | (mut a0 ,) : (own :: Sensitivity ,) | { let _ = own :: Sensitivity :: is_sensitive (a0) ; }) ;
    calls . of ("Sensitivity::known" , false , | (mut a0 ,) : (own :: Sensitivity ,) | { let _ = own :: Sensitivity :: known (a0) ; }) ;
    calls . of ("SetScores::covers" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: SetScores :: covers (& a0) ; }) ;
    calls . of ("SetScores::of" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: HardwareGraph , own :: Objective , own :: Pattern ,) | { let _ = own :: SetScores :: of (& a0 , & a1 , & a2) ; }) ;
    calls . of ("Shape::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Shape :: from_str (& a0 [..]) ; }) ;
    calls . of ("Shape::pattern" , false , | (mut a0 , mut a1 ,) : (own :: Shape , usize ,) | { let _ = own :: Shape :: pattern (a0 , a1) ; }) ;
    calls . of ("StepTime::new" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Rates ,) | { let _ = own :: StepTime :: new (& a0 , a1) ; }) ;
    calls . of ("Term::eq_2" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Term :: eq_2 (a0) ; }) ;
    calls . of ("Term::inverse" , false , | (mut a0 ,) : (Vec < usize > ,) | { let _ = own :: Term :: inverse (& a0 [..]) ; }) ;
    calls . of ("Term::linear" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Term :: linear (a0) ; }) ;
    calls . of ("Term::product" , false , | (mut a0 ,) : (Vec < usize > ,) | { let _ = own :: Term :: product (& a0 [..]) ; }) ;
    calls . of ("Tiers::least" , false , | (mut a0 ,) : (own :: Tiers ,) | { let _ = own :: Tiers :: least (& a0) ; }) ;
    calls . of ("Tiers::len" , false , | (mut a0 ,) : (own :: Tiers ,) | { let _ = own :: Tiers :: len (& a0) ; }) ;
    calls . of ("Tiers::names" , false , | (mut a0 ,) : (own :: Tiers ,) | { let _ = own :: Tiers :: names (& a0) ; }) ;
    calls . of ("Tiers::new" , false , | (mut a0 ,) : (Vec < own :: LinkClass > ,) | { let _ = own :: Tiers :: new (& a0 [..]) ; }) ;
    calls . of ("Tiers::of" , false , | (mut a0 , mut a1 ,) : (own :: Tiers , own :: LinkClass ,) | { let _ = own :: Tiers :: of (& a0 , a1) ; }) ;
    calls . of ("TreePacking::new" , false , | (mut a0 ,) : (own :: Rates ,) | { let _ = own :: TreePacking :: new (a0) ; }) ;
    calls . of ("Use::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Use :: from_str (& a0 [..]) ; }) ;
    calls . of ("Verifier::new" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: HardwareGraph ,) | { let _ = own :: Verifier :: new (& a0 , & a1) ; }) ;
    calls . of ("View::as_if_free" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceSet ,) | { let _ = own :: View :: as_if_free (a0 . view () , & a1) ; }) ;
    calls . of ("View::as_if_idle" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: as_if_idle (a0 . view ()) ; }) ;
    calls . of ("View::as_if_repartitioned" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: as_if_repartitioned (a0 . view ()) ; }) ;
    calls . of ("View::changing_to" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: changing_to (& a0 . view () , a1) ; }) ;
    calls . of ("View::decide" , false , | (mut a0 , mut a1 , mut a2 ,) : (ViewParts , Box < dyn mapa_core :: Policy > , own :: Request ,) | { let _ = own :: View :: decide (& a0 . view () , a1 , & a2) ; }) ;
    calls . of ("View::free" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: free (& a0 . view ()) ; }) ;
    calls . of ("View::free_memory" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: free_memory (& a0 . view () , a1) ; }) ;
    calls . of ("View::graph" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: graph (& a0 . view ()) ; }) ;
    calls . of ("View::has_room" , false , | (mut a0 , mut a1 , mut a2 ,) : (ViewParts , own :: Demand , own :: DeviceId ,) | { let _ = own :: View :: has_room (& a0 . view () , & a1 , a2) ; }) ;
    calls . of ("View::instances_in_use" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: instances_in_use (& a0 . view () , a1) ; }) ;
    calls . of ("View::is_cordoned" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: is_cordoned (& a0 . view () , a1) ; }) ;
    calls . of ("View::is_of_free_set" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: is_of_free_set (& a0 . view ()) ; }) ;
    calls . of ("View::layout_of" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: layout_of (& a0 . view () , a1) ; }) ;
    calls . of ("View::limited_to" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceSet ,) | { let _ = own :: View :: limited_to (a0 . view () , & a1) ; }) ;
    calls . of ("View::machine" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: machine (& a0 . view ()) ; }) ;
    calls . of ("View::parts_of" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: parts_of (& a0 . view () , a1) . take (1000) . for_each (drop) ; }) ;
    calls . of ("View::present" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: present (& a0 . view ()) ; }) ;
    calls . of ("View::room_for" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: Demand ,) | { let _ = own :: View :: room_for (& a0 . view () , & a1) ; }) ;
    calls . of ("View::stamp" , false , | (mut a0 ,) : (ViewParts ,) | { let _ = own :: View :: stamp (& a0 . view ()) ; }) ;
    calls . of ("View::tenants" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: tenants (& a0 . view () , a1) ; }) ;
    calls . of ("View::usage" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: usage (& a0 . view () , a1) ; }) ;
    calls . of ("View::usage_of_numa" , false , | (mut a0 , mut a1 ,) : (ViewParts , u32 ,) | { let _ = own :: View :: usage_of_numa (& a0 . view () , a1) ; }) ;
    calls . of ("View::usage_of_whole" , false , | (mut a0 , mut a1 ,) : (ViewParts , own :: DeviceId ,) | { let _ = own :: View :: usage_of_whole (& a0 . view () , a1) ; }) ;
    calls . of ("auto_by" , false , | (mut a0 ,) : (std :: sync :: Arc < own :: Efficiency > ,) | { let _ = own :: auto_by (& a0) ; }) ;
    calls . of ("auto_for" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Rates ,) | { let _ = own :: auto_for (& a0 , a1) ; }) ;
    calls . of ("auto_for_edges" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: Rates ,) | { let _ = own :: auto_for_edges (& a0 , a1) ; }) ;
    calls . of ("auto_with" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: auto_with (a0) ; }) ;
    calls . of ("check_size" , false , | (mut a0 , mut a1 ,) : (usize , usize ,) | { let _ = own :: check_size (a0 , a1) ; }) ;
    calls . of ("criteria::max" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: criteria :: max (a0) ; }) ;
    calls . of ("criteria::min" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: criteria :: min (a0) ; }) ;
    calls . of ("default_model" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: HardwareGraph ,) | { let _ = own :: default_model (& a0 , & a1) ; }) ;
    calls . of ("edges_seconds" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: Rates ,) | { let _ = own :: edges_seconds (& a0 , a1) ; }) ;
    calls . of ("effective_gbps_with" , false , | (mut a0 , mut a1 ,) : (String , own :: Coefficients ,) | { let _ = own :: effective_gbps_with (a0 . leak () , a1) ; }) ;
    calls . of ("fitting_expected" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: fitting_expected (& a0) ; }) ;
    calls . of ("fitting_model" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: fitting_model (& a0) ; }) ;
    calls . of ("least_port_slowdown" , false , | (mut a0 , mut a1 ,) : (f64 , f64 ,) | { let _ = own :: least_port_slowdown (a0 , a1) ; }) ;
    calls . of ("max_bandwidth_with" , false , | (mut a0 ,) : (own :: Objective ,) | { let _ = own :: max_bandwidth_with (a0) ; }) ;
    calls . of ("mig::Layout::has" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Layout , own :: mig :: Instance ,) | { let _ = own :: mig :: Layout :: has (& a0 , a1) ; }) ;
    calls . of ("mig::Layout::instances" , false , | (mut a0 ,) : (own :: mig :: Layout ,) | { let _ = own :: mig :: Layout :: instances (& a0) ; }) ;
    calls . of ("mig::Layout::is_whole" , false , | (mut a0 ,) : (own :: mig :: Layout ,) | { let _ = own :: mig :: Layout :: is_whole (& a0) ; }) ;
    calls . of ("mig::Model::best_layout" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: mig :: Model , own :: mig :: Layout , Vec < own :: mig :: Instance > , Vec < own :: mig :: ProfileId > ,) | { let _ = own :: mig :: Model :: best_layout (& a0 , & a1 , & a2 [..] , & a3 [..]) ; }) ;
    calls . of ("mig::Model::create" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: mig :: Model , own :: mig :: Layout , own :: mig :: ProfileId ,) | { let _ = own :: mig :: Model :: create (& a0 , & a1 , a2) ; }) ;
    calls . of ("mig::Model::create_at" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: mig :: Model , own :: mig :: Layout , own :: mig :: Instance ,) | { let _ = own :: mig :: Model :: create_at (& a0 , & a1 , a2) ; }) ;
    calls . of ("mig::Model::destroy" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: mig :: Model , own :: mig :: Layout , own :: mig :: Instance ,) | { let _ = own :: mig :: Model :: destroy (& a0 , & a1 , a2) ; }) ;
    calls . of ("mig::Model::exclude" , true , | (mut a0 , mut a1 , mut a2 ,) : (own :: mig :: Model , own :: mig :: Instance , own :: mig :: Instance ,) | { let _ = own :: mig :: Model :: exclude (& a0 , a1 , a2) ; }) ;
    calls . of ("mig::Model::find" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Model , String ,) | { let _ = own :: mig :: Model :: find (& a0 , & a1 [..]) ; }) ;
    calls . of ("mig::Model::fit" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Model , Vec < own :: mig :: ProfileId > ,) | { let _ = own :: mig :: Model :: fit (& a0 , & a1 [..]) ; }) ;
    calls . of ("mig::Model::fragmentation" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Model , own :: mig :: Layout ,) | { let _ = own :: mig :: Model :: fragmentation (& a0 , & a1) ; }) ;
    calls . of ("mig::Model::instances" , false , | (mut a0 ,) : (own :: mig :: Model ,) | { let _ = own :: mig :: Model :: instances (& a0) ; }) ;
    calls . of ("mig::Model::layout" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Model , Vec < own :: mig :: Instance > ,) | { let _ = own :: mig :: Model :: layout (& a0 , & a1 [..]) ; }) ;
    calls . of ("mig::Model::layouts" , false , | (mut a0 ,) : (own :: mig :: Model ,) | { let _ = own :: mig :: Model :: layouts (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("mig::Model::maximal_layouts" , false , | (mut a0 ,) : (own :: mig :: Model ,) | { let _ = own :: mig :: Model :: maximal_layouts (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("mig::Model::name" , false , | (mut a0 ,) : (own :: mig :: Model ,) | { let _ = own :: mig :: Model :: name (& a0) ; }) ;
    calls . of ("mig::Model::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , own :: mig :: Size , Vec < own :: mig :: Profile > ,) | { let _ = own :: mig :: Model :: new (a0 , a1 , a2) ; }) ;
    calls . of ("mig::Model::own" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Model , own :: mig :: Layout ,) | { let _ = own :: mig :: Model :: own (& a0 , & a1) ; }) ;
    calls . of ("mig::Model::print" , true , | (mut a0 , mut a1 ,) : (own :: mig :: Model , own :: mig :: Layout ,) | { let _ = own :: mig :: Model :: print (& a0 , & a1) ; }) ;
    calls . of ("mig::Model::print_instance" , true , | (mut a0 , mut a1 ,) : (own :: mig :: Model , own :: mig :: Instance ,) | { let _ = own :: mig :: Model :: print_instance (& a0 , a1) ; }) ;
    calls . of ("mig::Model::profile" , true , | (mut a0 , mut a1 ,) : (own :: mig :: Model , own :: mig :: ProfileId ,) | { let _ = own :: mig :: Model :: profile (& a0 , a1) ; }) ;
    calls . of ("mig::Model::profiles" , false , | (mut a0 ,) : (own :: mig :: Model ,) | { let _ = own :: mig :: Model :: profiles (& a0) ; }) ;
    calls . of ("mig::Model::room" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: mig :: Model , own :: mig :: Layout , own :: mig :: ProfileId ,) | { let _ = own :: mig :: Model :: room (& a0 , & a1 , a2) ; }) ;
    calls . of ("mig::Model::serves" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (own :: mig :: Model , own :: mig :: Layout , Vec < own :: mig :: Instance > , Vec < own :: mig :: ProfileId > ,) | { let _ = own :: mig :: Model :: serves (& a0 , & a1 , & a2 [..] , & a3 [..]) ; }) ;
    calls . of ("mig::Model::size" , false , | (mut a0 ,) : (own :: mig :: Model ,) | { let _ = own :: mig :: Model :: size (& a0) ; }) ;
    calls . of ("mig::Model::span" , true , | (mut a0 , mut a1 ,) : (own :: mig :: Model , own :: mig :: Instance ,) | { let _ = own :: mig :: Model :: span (& a0 , a1) ; }) ;
    calls . of ("mig::Size::covers" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Size , own :: mig :: Size ,) | { let _ = own :: mig :: Size :: covers (a0 , a1) ; }) ;
    calls . of ("mig::Size::from_str" , false , | (mut a0 ,) : (String ,) | { let _ = own :: mig :: Size :: from_str (& a0 [..]) ; }) ;
    calls . of ("mig::Size::new" , false , | (mut a0 , mut a1 ,) : (u8 , u8 ,) | { let _ = own :: mig :: Size :: new (a0 , a1) ; }) ;
    calls . of ("min_edges_seconds" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: Rates ,) | { let _ = own :: min_edges_seconds (& a0 , a1) ; }) ;
    calls . of ("min_step_time" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Rates ,) | { let _ = own :: min_step_time (& a0 , a1) ; }) ;
    calls . of ("pcie_slowdown" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (f64 , f64 , u32 , f64 ,) | { let _ = own :: pcie_slowdown (a0 , a1 , a2 , a3) ; }) ;
    calls . of ("preserve_with" , false , | (mut a0 , mut a1 ,) : (own :: Objective , own :: Objective ,) | { let _ = own :: preserve_with (a0 , a1) ; }) ;
    calls . of ("random" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , u64 , u64 ,) | { let _ = own :: random (& a0 [..] , a1 , a2) ; }) ;
    calls . of ("sharing::Flow::new" , false , | (mut a0 , mut a1 ,) : (Vec < u32 > , f64 ,) | { let _ = own :: sharing :: Flow :: new (a0 , a1) ; }) ;
    calls . of ("shortened" , false , | (mut a0 ,) : (String ,) | { let _ = own :: shortened (& a0 [..]) ; }) ;
    calls . of ("step_seconds" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: Rates ,) | { let _ = own :: step_seconds (& a0 , a1) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
const _LEFT_OUT: &[&str] = &[
    "AllToAll::objective: AllToAll",
    "AllToAll::of: AllToAll",
    "AllToAll::unrelayed: AllToAll",
    "Allocator::commit: Decision",
    "Allocator::restore: Snapshot",
    "Bandwidth::is_exact: Bandwidth",
    "BuiltIn::instances: fn()->Box<dynPolicy>",
    "BuiltIn::new: fn()->Box<dynPolicy>",
    "BuiltIn::policy: BuiltIn",
    "BuiltIn::policy_with: BuiltIn",
    "Channels::at_most: Channels",
    "Channels::node_limit: Channels",
    "Channels::objective: Channels",
    "Channels::of: Channels",
    "Criterion::blind_to_ids: Criterion",
    "Criterion::in_steps_of: Criterion",
    "Decision::answers: Decision",
    "Decision::at_most: Decision",
    "Decision::best: Decision",
    "Decision::order: Decision",
    "Decision::pattern: Decision",
    "Decision::placement: Decision",
    "Decision::policy: Decision",
    "Decision::restated: Decision",
    "Decision::runners_up: Decision",
    "Decision::search: Decision",
    "Decision::stamp: Decision",
    "Demand::fits: Device",
    "Device::nics_within: Device",
    "Domain::holds: Domain",
    "Domain::knows: Domain",
    "Efficiency::interval: Class",
    "Efficiency::of: Part",
    "Efficiency::own: Part",
    "Error::is_contradiction: Error",
    "Error::is_other_machine: Error",
    "Error::is_stale: Error",
    "Error::is_tenant_vanishing: Error",
    "Error::is_unknown_lease: Error",
    "Fabric::add: FabricNode",
    "Fabric::set_host_rates: HostRates",
    "Fabric::set_links_up: LinksUp",
    "Fabric::set_peer_access: PeerAccess",
    "Fabric::set_peer_access_everywhere: PeerAccess",
    "Foresight::expecting: Foresight",
    "Foresight::model: Foresight",
    "Foresight::sizes: Foresight",
    "Foresight::weight: Foresight",
    "Foresight::worth_waiting: Foresight",
    "GraphMatcher::on: GraphMatcher",
    "GraphMatcher::pattern: GraphMatcher",
    "GraphMatches::stats: GraphMatches",
    "GraphSearch::count: GraphSearch",
    "GraphSearch::first: GraphSearch",
    "GraphSearch::is_match: GraphSearch",
    "GraphSearch::iter: GraphSearch",
    "GraphSearch::limits: GraphSearch",
    "GraphSearch::until: GraphSearch",
    "GraphSearch::visit: GraphSearch",
    "HardwareGraph::bandwidth_within: implFn(Link)->bool",
    "HostLinks::capacities: HostLinks",
    "HostLinks::names: HostLinks",
    "HostLinks::path: HostLinks",
    "HostLinks::together: HostLinks",
    "Leaf::devices: Leaf",
    "Leaf::is_empty: Leaf",
    "Leaf::len: Leaf",
    "LinkModel::new: Term",
    "Lots::at: Lots",
    "Lots::below: Lots",
    "Matcher::is_empty: Matcher",
    "Matcher::is_whole: Matcher",
    "Matcher::len: Matcher",
    "Matcher::on: Matcher",
    "Matcher::placing_order: Matcher",
    "Matcher::symmetries: Matcher",
    "Matches::stats: Matches",
    "Objective::bounded: implFn(Subset<'_>)->f64+Send+Sync+'a",
    "Objective::chosen: implFn(Subset<'_>)->f64+Send+Sync+'a",
    "Objective::devices: implFn(&Seat<'_>)->f64+Send+Sync+'a",
    "Objective::domain: implFn(&Candidate<'_>)->bool+Send+Sync+'a",
    "Objective::edges: implFn(EdgeOn)->f64+Send+Sync+'a",
    "Objective::in_domain: Candidate<'_>",
    "Objective::links: implFn(&Census)->f64+Send+Sync+'a",
    "Objective::links_left: implFn(Link)->f64+Send+Sync+'a",
    "Objective::placement: implFn(&Candidate<'_>)->f64+Send+Sync+'a",
    "Objective::rest: implFn(Subset<'_>)->f64+Send+Sync+'a",
    "Objective::score: Candidate<'_>",
    "Pair::best: Pair",
    "Part::nominal_share: Part",
    "Patience::slowdown_at: Patience",
    "Pattern::part: Range<usize>",
    "Refusal::from_commit: Error",
    "Refusal::hope: Refusal",
    "Refusal::kind: Refusal",
    "Region::devices: Region",
    "Region::parts: Region",
    "Region::within: Region",
    "Request::sensitive: implInto<Sensitivity>",
    "RingPacking::objective: RingPacking",
    "RingPacking::of: RingPacking",
    "RingPacking::rates: RingPacking",
    "RingPacking::table: RingPacking",
    "Rules::prefer: Criterion<'a>",
    "Rules::require: implFn(&Seat<'_>)->bool+Send+Sync+'a",
    "Rules::require_device: implFn(&Device)->bool+Send+Sync+'a",
    "Rules::require_link: implFn(EdgeOn)->bool+Send+Sync+'a",
    "Rules::require_placement: implFn(&Candidate<'_>)->bool+Send+Sync+'a",
    "Rules::require_score: implFn(f64)->bool+Send+Sync+'a",
    "Rules::require_set: implFn(Subset<'_>)->bool+Send+Sync+'a",
    "Rules::then: Criterion<'a>",
    "Scored::in_domain: Scored",
    "Scored::links: Scored",
    "Scored::out_of_domain: Scored",
    "Scored::placement: Scored",
    "Scored::score: Scored",
    "Scored::scores: Scored",
    "Search::count: Search",
    "Search::domains: Search",
    "Search::first: Search",
    "Search::fold: Search",
    "Search::is_match: Search",
    "Search::iter: Search",
    "Search::limits: Search",
    "Search::links: Search",
    "Search::sharing: Search",
    "Search::threads: Search",
    "Search::until: Search",
    "Search::visit: Search",
    "Search::visit_leaves: Search",
    "Search::within: Search",
    "SearchStats::complete: SearchStats",
    "Seat::device: Seat",
    "Seat::free_memory: Seat",
    "Seat::free_siblings: Seat",
    "Seat::usage: Seat",
    "Seat::usage_of_whole: Seat",
    "Seat::whole: Seat",
    "SetChoices::at: SetChoices",
    "SetChoices::of: Prefer",
    "SetScores::at: SetScores",
    "SetScores::iter: SetScores",
    "Setting::key: Setting",
    "Setting::number_or_none: Setting",
    "Setting::on_or_off: Setting",
    "Setting::one_of: Setting",
    "Setting::positive: Setting",
    "Setting::read: Setting",
    "Setting::value: Setting",
    "Setting::whole: Setting",
    "Setting::whole_to: Setting",
    "Setting::word: Setting",
    "Settings::get: Settings",
    "Settings::iter: Settings",
    "Settings::read: K",
    "StepTime::by_dimension: StepTime",
    "StepTime::objective: StepTime",
    "StepTime::overlapping: StepTime",
    "StepTime::seconds: StepTime",
    "StopFlag::is_set: StopFlag",
    "StopFlag::pass_on: StopFlag",
    "StopFlag::set: StopFlag",
    "StopFlag::watch: StopFlag",
    "StopFlag::when: implFn()->bool+Send+Sync+'static",
    "StopReason::because: StopReason",
    "Term::factors: Term",
    "Term::is_inverse: Term",
    "Term::label: Term",
    "Term::value: Term",
    "TreePacking::objective: TreePacking",
    "TreePacking::of: TreePacking",
    "TreePacking::trees: TreePacking",
    "Unit::instance: Unit",
    "Verifier::check: Verifier",
    "Verifier::induced: Verifier",
    "Verifier::within: Verifier",
    "View::until: Stop<'a>",
    "View::usage_of_port: PortId",
    "WhatIf::view: WhatIf",
    "Within::parts_of_free_set: Within",
    "best_partition: implFn(&HardwareGraph,DeviceId,DeviceId)->i32+Send+Sync+'a",
    "criteria::least: implFn(&Seat<'_>)->T+Send+Sync+'a",
    "criteria::most: implFn(&Seat<'_>)->T+Send+Sync+'a",
    "least_weight: implFn(&HardwareGraph,(DeviceId,DeviceId),bool)->u32+Send+Sync+'a",
    "pcie_slowdown_on: Seat<'_>",
    "sharing::Flow::weight: Flow",
    "sharing::max_min: Flow",
    "when: implFn(&Request)->bool+Send+Sync+'a",
    "within: implFn(&Request,&View<'_>)->Vec<DeviceSet>+Send+Sync+'a",
];
