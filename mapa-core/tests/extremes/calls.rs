// Written by `MAPA_BLESS=1 cargo test -p CRATE --test extremes`. Do not edit.

use super::*;

pub fn all(calls: &mut Calls) {
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
    calls . of ("Coefficients::in_domain" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Pattern , Vec < own :: DeviceId > , own :: HardwareGraph ,) | { let _ = own :: Coefficients :: in_domain (& a0 , & a1 [..] , & a2) ; }) ;
    calls . of ("Coefficients::predict" , false , | (mut a0 , mut a1 ,) : (own :: Coefficients , own :: Census ,) | { let _ = own :: Coefficients :: predict (& a0 , & a1) ; }) ;
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
    calls . of ("Fabric::add_device" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , String ,) | { let _ = own :: Fabric :: add_device (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::add_numa" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Fabric , String , u32 ,) | { let _ = own :: Fabric :: add_numa (& mut a0 , a1 , a2) ; }) ;
    calls . of ("Fabric::assume_link_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , Option < f64 > ,) | { let _ = own :: Fabric :: assume_link_gbps (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::assumed_link_gbps" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: assumed_link_gbps (& a0) ; }) ;
    calls . of ("Fabric::device_count" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: device_count (& a0) ; }) ;
    calls . of ("Fabric::host_rates" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: host_rates (& a0) ; }) ;
    calls . of ("Fabric::is_virtual" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: is_virtual (& a0) ; }) ;
    calls . of ("Fabric::links_up" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: links_up (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::lower" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: lower (a0) ; }) ;
    calls . of ("Fabric::lower_with_host" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: lower_with_host (a0) ; }) ;
    calls . of ("Fabric::nodes" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: nodes (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::offered" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: offered (& a0) ; }) ;
    calls . of ("Fabric::own_ways" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: own_ways (& a0) ; }) ;
    calls . of ("Fabric::peer_access" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: peer_access (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::peer_access_elsewhere" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: peer_access_elsewhere (& a0) ; }) ;
    calls . of ("Fabric::set_direct_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , f64 ,) | { let _ = own :: Fabric :: set_direct_gbps (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::set_host_gbps" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , f64 ,) | { let _ = own :: Fabric :: set_host_gbps (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::set_offered" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , Option < Vec < own :: DeviceSet > > ,) | { let _ = own :: Fabric :: set_offered (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::set_products" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , String ,) | { let _ = own :: Fabric :: set_products (& mut a0 , & a1 [..]) ; }) ;
    calls . of ("Fabric::set_virtual" , false , | (mut a0 , mut a1 ,) : (own :: Fabric , bool ,) | { let _ = own :: Fabric :: set_virtual (& mut a0 , a1) ; }) ;
    calls . of ("Fabric::wires" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: wires (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Fabric::with_all_links" , false , | (mut a0 ,) : (own :: Fabric ,) | { let _ = own :: Fabric :: with_all_links (& a0) ; }) ;
    calls . of ("Graph::degree" , false , | (mut a0 , mut a1 ,) : (own :: Graph , u32 ,) | { let _ = own :: Graph :: degree (& a0 , a1) ; }) ;
    calls . of ("Graph::edge_count" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: edge_count (& a0) ; }) ;
    calls . of ("Graph::edges" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: edges (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Graph::is_empty" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: is_empty (& a0) ; }) ;
    calls . of ("Graph::labels" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: labels (& a0) ; }) ;
    calls . of ("Graph::len" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: len (& a0) ; }) ;
    calls . of ("Graph::loops" , false , | (mut a0 ,) : (own :: Graph ,) | { let _ = own :: Graph :: loops (& a0) ; }) ;
    calls . of ("Graph::neighbours" , false , | (mut a0 , mut a1 ,) : (own :: Graph , u32 ,) | { let _ = own :: Graph :: neighbours (& a0 , a1) ; }) ;
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
    calls . of ("HostNetwork::of" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: HostNetwork :: of (& a0) ; }) ;
    calls . of ("Limits::matches" , false , | (mut a0 , mut a1 ,) : (own :: Limits , u64 ,) | { let _ = own :: Limits :: matches (a0 , a1) ; }) ;
    calls . of ("Limits::nodes" , false , | (mut a0 , mut a1 ,) : (own :: Limits , u64 ,) | { let _ = own :: Limits :: nodes (a0 , a1) ; }) ;
    calls . of ("Link::exists" , false , | (mut a0 ,) : (own :: Link ,) | { let _ = own :: Link :: exists (a0) ; }) ;
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
    calls . of ("Lots::new" , false , | (mut a0 , mut a1 ,) : (String , u64 ,) | { let _ = own :: Lots :: new (& a0 [..] , a1) ; }) ;
    calls . of ("MatchConfig::by_rank" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , bool ,) | { let _ = own :: MatchConfig :: by_rank (a0 , a1) ; }) ;
    calls . of ("MatchConfig::compile" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , own :: Pattern ,) | { let _ = own :: MatchConfig :: compile (a0 , & a1) ; }) ;
    calls . of ("MatchConfig::compile_graph" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , own :: Graph ,) | { let _ = own :: MatchConfig :: compile_graph (a0 , & a1) ; }) ;
    calls . of ("MatchConfig::distinct" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , bool ,) | { let _ = own :: MatchConfig :: distinct (a0 , a1) ; }) ;
    calls . of ("MatchConfig::induced" , false , | (mut a0 , mut a1 ,) : (own :: MatchConfig , bool ,) | { let _ = own :: MatchConfig :: induced (a0 , a1) ; }) ;
    calls . of ("Parallelism::dimensions" , false , | (mut a0 ,) : (own :: Parallelism ,) | { let _ = own :: Parallelism :: dimensions (& a0) . take (1000) . for_each (drop) ; }) ;
    calls . of ("Parallelism::new" , false , | (mut a0 , mut a1 , mut a2 ,) : (usize , usize , usize ,) | { let _ = own :: Parallelism :: new (a0 , a1 , a2) ; }) ;
    calls . of ("Parallelism::pattern" , false , | (mut a0 ,) : (own :: Parallelism ,) | { let _ = own :: Parallelism :: pattern (& a0) ; }) ;
    calls . of ("Parallelism::ranks" , false , | (mut a0 ,) : (own :: Parallelism ,) | { let _ = own :: Parallelism :: ranks (& a0) ; }) ;
    calls . of ("Parallelism::with_bytes_of" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , String ,) | { let _ = own :: Parallelism :: with_bytes_of (a0 , & a1 [..]) ; }) ;
    calls . of ("Parallelism::with_bytes_of_model" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , own :: ModelShape ,) | { let _ = own :: Parallelism :: with_bytes_of_model (a0 , & a1) ; }) ;
    calls . of ("Parallelism::with_experts" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Parallelism , usize , bool ,) | { let _ = own :: Parallelism :: with_experts (a0 , a1 , a2) ; }) ;
    calls . of ("Parallelism::with_order" , false , | (mut a0 , mut a1 ,) : (own :: Parallelism , String ,) | { let _ = own :: Parallelism :: with_order (a0 , & a1 [..]) ; }) ;
    calls . of ("Parallelism::with_sequence" , false , | (mut a0 , mut a1 , mut a2 ,) : (own :: Parallelism , usize , bool ,) | { let _ = own :: Parallelism :: with_sequence (a0 , a1 , a2) ; }) ;
    calls . of ("Pattern::all_to_all" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: all_to_all (a0) ; }) ;
    calls . of ("Pattern::binary_tree" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: binary_tree (a0) ; }) ;
    calls . of ("Pattern::chain" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Pattern :: chain (a0) ; }) ;
    calls . of ("Pattern::demands" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Pattern :: demands (& a0) ; }) ;
    calls . of ("Pattern::each" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: Demand ,) | { let _ = own :: Pattern :: each (& a0 , a1) ; }) ;
    calls . of ("Pattern::edges" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: Pattern :: edges (& a0) ; }) ;
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
    calls . of ("Rules::new" , false , | (mut a0 ,) : (String ,) | { let _ = own :: Rules :: new (a0) ; }) ;
    calls . of ("Sensitivity::is_sensitive" , false , | (mut a0 ,) : (own :: Sensitivity ,) | { let _ = own :: Sensitivity :: is_sensitive (a0) ; }) ;
    calls . of ("Sensitivity::known" , false , | (mut a0 ,) : (own :: Sensitivity ,) | { let _ = own :: Sensitivity :: known (a0) ; }) ;
    calls . of ("SetScores::covers" , false , | (mut a0 ,) : (own :: HardwareGraph ,) | { let _ = own :: SetScores :: covers (& a0) ; }) ;
    calls . of ("Shape::pattern" , false , | (mut a0 , mut a1 ,) : (own :: Shape , usize ,) | { let _ = own :: Shape :: pattern (a0 , a1) ; }) ;
    calls . of ("Term::eq_2" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Term :: eq_2 (a0) ; }) ;
    calls . of ("Term::inverse" , false , | (mut a0 ,) : (Vec < usize > ,) | { let _ = own :: Term :: inverse (& a0 [..]) ; }) ;
    calls . of ("Term::linear" , false , | (mut a0 ,) : (usize ,) | { let _ = own :: Term :: linear (a0) ; }) ;
    calls . of ("Term::product" , false , | (mut a0 ,) : (Vec < usize > ,) | { let _ = own :: Term :: product (& a0 [..]) ; }) ;
    calls . of ("Tiers::least" , false , | (mut a0 ,) : (own :: Tiers ,) | { let _ = own :: Tiers :: least (& a0) ; }) ;
    calls . of ("Tiers::len" , false , | (mut a0 ,) : (own :: Tiers ,) | { let _ = own :: Tiers :: len (& a0) ; }) ;
    calls . of ("Tiers::names" , false , | (mut a0 ,) : (own :: Tiers ,) | { let _ = own :: Tiers :: names (& a0) ; }) ;
    calls . of ("Tiers::new" , false , | (mut a0 ,) : (Vec < own :: LinkClass > ,) | { let _ = own :: Tiers :: new (& a0 [..]) ; }) ;
    calls . of ("Tiers::of" , false , | (mut a0 , mut a1 ,) : (own :: Tiers , own :: LinkClass ,) | { let _ = own :: Tiers :: of (& a0 , a1) ; }) ;
    calls . of ("Verifier::new" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: HardwareGraph ,) | { let _ = own :: Verifier :: new (& a0 , & a1) ; }) ;
    calls . of ("check_size" , false , | (mut a0 , mut a1 ,) : (usize , usize ,) | { let _ = own :: check_size (a0 , a1) ; }) ;
    calls . of ("default_model" , false , | (mut a0 , mut a1 ,) : (own :: Pattern , own :: HardwareGraph ,) | { let _ = own :: default_model (& a0 , & a1) ; }) ;
    calls . of ("effective_gbps_with" , false , | (mut a0 , mut a1 ,) : (String , own :: Coefficients ,) | { let _ = own :: effective_gbps_with (& a0 [..] , a1) ; }) ;
    calls . of ("fitting_expected" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: fitting_expected (& a0) ; }) ;
    calls . of ("fitting_model" , false , | (mut a0 ,) : (own :: Pattern ,) | { let _ = own :: fitting_model (& a0) ; }) ;
    calls . of ("least_port_slowdown" , false , | (mut a0 , mut a1 ,) : (f64 , f64 ,) | { let _ = own :: least_port_slowdown (a0 , a1) ; }) ;
    calls . of ("mig::Layout::instances" , false , | (mut a0 ,) : (own :: mig :: Layout ,) | { let _ = own :: mig :: Layout :: instances (& a0) ; }) ;
    calls . of ("mig::Layout::is_whole" , false , | (mut a0 ,) : (own :: mig :: Layout ,) | { let _ = own :: mig :: Layout :: is_whole (& a0) ; }) ;
    calls . of ("mig::Size::covers" , false , | (mut a0 , mut a1 ,) : (own :: mig :: Size , own :: mig :: Size ,) | { let _ = own :: mig :: Size :: covers (a0 , a1) ; }) ;
    calls . of ("mig::Size::new" , false , | (mut a0 , mut a1 ,) : (u8 , u8 ,) | { let _ = own :: mig :: Size :: new (a0 , a1) ; }) ;
    calls . of ("pcie_slowdown" , false , | (mut a0 , mut a1 , mut a2 , mut a3 ,) : (f64 , f64 , u32 , f64 ,) | { let _ = own :: pcie_slowdown (a0 , a1 , a2 , a3) ; }) ;
    calls . of ("random" , false , | (mut a0 , mut a1 , mut a2 ,) : (String , u64 , u64 ,) | { let _ = own :: random (& a0 [..] , a1 , a2) ; }) ;
    calls . of ("shortened" , false , | (mut a0 ,) : (String ,) | { let _ = own :: shortened (& a0 [..]) ; }) ;
}

/// Functions that are not called, with the type that the pool has no values of.
#[rustfmt::skip]
pub const LEFT_OUT: &[&str] = &[
    "AllToAll::new: Rates",
    "AllToAll::objective: Self",
    "AllToAll::of: Self",
    "AllToAll::unrelayed: Self",
    "Allocator::allocate: implPolicy",
    "Allocator::commit: Decision",
    "Allocator::restore: Snapshot",
    "Bandwidth::is_exact: Self",
    "BuiltIn::instances: fn()->Box<dynPolicy>",
    "BuiltIn::new: fn()->Box<dynPolicy>",
    "BuiltIn::policy: Self",
    "BuiltIn::policy_with: Self",
    "Channels::at_most: Self",
    "Channels::new: Rates",
    "Channels::node_limit: Self",
    "Channels::objective: Self",
    "Channels::of: Self",
    "Criterion::blind_to_ids: Self",
    "Criterion::in_steps_of: Self",
    "Decision::answers: Self",
    "Decision::at_most: Self",
    "Decision::best: Self",
    "Decision::checked: View<'_>",
    "Decision::of_use: View<'_>",
    "Decision::order: Self",
    "Decision::pattern: Self",
    "Decision::placement: Self",
    "Decision::policy: Self",
    "Decision::restated: Self",
    "Decision::runners_up: Self",
    "Decision::search: Self",
    "Decision::stamp: Self",
    "Demand::fits: Device",
    "Device::nics_within: Self",
    "Dimension::letters: Self",
    "Domain::holds: Self",
    "Domain::knows: Self",
    "Efficiency::exponent: Self",
    "Efficiency::interval: Self",
    "Efficiency::of: Self",
    "Efficiency::own: Self",
    "Error::is_contradiction: Self",
    "Error::is_other_machine: Self",
    "Error::is_stale: Self",
    "Error::is_tenant_vanishing: Self",
    "Error::is_unknown_lease: Self",
    "Expected::along: Self",
    "Expected::efficiency: Self",
    "Expected::far: Self",
    "Expected::in_switch: Self",
    "Expected::message_bytes: Self",
    "Expected::new: Operation",
    "Expected::nominal: Operation",
    "Expected::objective: Self",
    "Expected::of: Self",
    "Expected::of_large_messages: Self",
    "Expected::operation: Self",
    "Expected::shipped: Operation",
    "Expected::ways: Self",
    "Fabric::add: FabricNode",
    "Fabric::attach: NodeId",
    "Fabric::cores: NodeId",
    "Fabric::limit_switch_links: NodeId",
    "Fabric::link: NodeId",
    "Fabric::node: NodeId",
    "Fabric::set_cores: NodeId",
    "Fabric::set_host_rates: HostRates",
    "Fabric::set_link_generation: &str",
    "Fabric::set_links_up: NodeId",
    "Fabric::set_mig: &Arc<mig::Model>",
    "Fabric::set_mig_of: NodeId",
    "Fabric::set_peer_access: NodeId",
    "Fabric::set_peer_access_everywhere: PeerAccess",
    "Fabric::set_slot_gbps: NodeId",
    "Fabric::slot_gbps: NodeId",
    "Foresight::expecting: Self",
    "Foresight::model: Self",
    "Foresight::new: Objective<'static>",
    "Foresight::sizes: Self",
    "Foresight::weight: Self",
    "Foresight::worth_waiting: Self",
    "Graph::labelled: implIntoIterator<Item=(u32,u32)>",
    "Graph::new: implIntoIterator<Item=(u32,u32)>",
    "GraphMatcher::on: Self",
    "GraphMatcher::pattern: Self",
    "GraphMatches::stats: Self",
    "GraphSearch::count: Self",
    "GraphSearch::first: Self",
    "GraphSearch::is_match: Self",
    "GraphSearch::iter: Self",
    "GraphSearch::limits: Self",
    "GraphSearch::until: Self",
    "GraphSearch::visit: Self",
    "HardwareGraph::bandwidth_within: implFn(Link)->bool",
    "HardwareGraph::of_pairs: implIntoIterator<Item=&'nstr>",
    "HostLinks::capacities: Self",
    "HostLinks::names: Self",
    "HostLinks::path: Self",
    "HostLinks::together: Self",
    "HostNetwork::above: Self",
    "HostNetwork::all_known: Self",
    "HostNetwork::all_linked: Self",
    "HostNetwork::beyond: Self",
    "HostNetwork::has_paths: Self",
    "HostNetwork::in_order: Self",
    "HostNetwork::is_drawn: Self",
    "HostNetwork::is_known: Self",
    "HostNetwork::is_open: Self",
    "HostNetwork::narrow_path_gbps: Self",
    "HostNetwork::root: Self",
    "HostNetwork::share_a_root: Self",
    "HostNetwork::share_a_switch: Self",
    "HostNetwork::share_memory: Self",
    "HostNetwork::slot_gbps: Self",
    "HostNetwork::socket: Self",
    "HostNetwork::sockets_are_assumed: Self",
    "HostNetwork::trunks: Self",
    "HostNetwork::uplinks: Self",
    "Leaf::devices: Self",
    "Leaf::is_empty: Self",
    "Leaf::len: Self",
    "LinkModel::new: Term",
    "LinkModel::with_statistics: BTreeMap<String,f64>",
    "Lots::at: Self",
    "Lots::below: Self",
    "Matcher::is_empty: Self",
    "Matcher::len: Self",
    "Matcher::on: Self",
    "Matcher::placing_order: Self",
    "Matcher::symmetries: Self",
    "Matches::stats: Self",
    "Objective::blind_to_ids: Self",
    "Objective::bounded: Self",
    "Objective::chosen: implFn(Subset<'_>)->f64+Send+Sync+'a",
    "Objective::devices: implFn(&Seat<'_>)->f64+Send+Sync+'a",
    "Objective::domain: Self",
    "Objective::edges: implFn(EdgeOn)->f64+Send+Sync+'a",
    "Objective::form: Self",
    "Objective::in_domain: Self",
    "Objective::links: implFn(&Census)->f64+Send+Sync+'a",
    "Objective::links_left: implFn(Link)->f64+Send+Sync+'a",
    "Objective::name: Self",
    "Objective::of_set: Self",
    "Objective::placement: implFn(&Candidate<'_>)->f64+Send+Sync+'a",
    "Objective::rest: implFn(Subset<'_>)->f64+Send+Sync+'a",
    "Objective::score: Self",
    "Objective::symmetric: Self",
    "Operation::is_collective: Self",
    "Operation::is_of_host: Self",
    "Pair::best: Self",
    "Parallelism::bytes: Dimension",
    "Parallelism::default_bytes: Dimension",
    "Parallelism::degree: Dimension",
    "Parallelism::group_size: Dimension",
    "Parallelism::groups: Dimension",
    "Parallelism::is_all_to_all: Dimension",
    "Parallelism::traffic: Dimension",
    "Parallelism::with_bytes: Dimension",
    "Part::nominal_share: Self",
    "Patience::slowdown_at: Self",
    "Pattern::from_edges: implIntoIterator<Item=(u16,u16,f64)>",
    "Pattern::part: Range<usize>",
    "Placement::set: Self",
    "Refusal::from_commit: Error",
    "Refusal::hope: Self",
    "Refusal::kind: Self",
    "Region::devices: Self",
    "Region::parts: Self",
    "Region::within: Self",
    "Request::sensitive: implInto<Sensitivity>",
    "RingPacking::new: Rates",
    "RingPacking::objective: Self",
    "RingPacking::of: Self",
    "RingPacking::rates: Self",
    "RingPacking::table: Self",
    "Rules::named: Self",
    "Rules::prefer: Self",
    "Rules::report: Self",
    "Rules::report_paper_scores: Self",
    "Rules::require: Self",
    "Rules::require_device: Self",
    "Rules::require_link: Self",
    "Rules::require_placement: Self",
    "Rules::require_score: Self",
    "Rules::require_set: Self",
    "Rules::then: Self",
    "Scored::in_domain: Self",
    "Scored::links: Self",
    "Scored::out_of_domain: Self",
    "Scored::placement: Self",
    "Scored::score: Self",
    "Scored::scores: Self",
    "Search::count: Self",
    "Search::domains: Self",
    "Search::first: Self",
    "Search::fold: Self",
    "Search::is_match: Self",
    "Search::iter: Self",
    "Search::limits: Self",
    "Search::links: Self",
    "Search::sharing: Self",
    "Search::threads: Self",
    "Search::until: Self",
    "Search::visit: Self",
    "Search::visit_leaves: Self",
    "Search::within: Self",
    "SearchStats::complete: Self",
    "Seat::device: Self",
    "Seat::free_memory: Self",
    "Seat::free_siblings: Self",
    "Seat::new: View<'a>",
    "Seat::usage: Self",
    "Seat::usage_of_whole: Self",
    "Seat::whole: Self",
    "SetChoices::at: Self",
    "SetChoices::of: Objective<'static>",
    "SetScores::at: Self",
    "SetScores::iter: Self",
    "SetScores::of: Objective<'static>",
    "Setting::key: Self",
    "Setting::number_or_none: Self",
    "Setting::on_or_off: Self",
    "Setting::one_of: Self",
    "Setting::positive: Self",
    "Setting::read: Self",
    "Setting::value: Self",
    "Setting::whole: Self",
    "Setting::word: Self",
    "Settings::get: Self",
    "Settings::iter: Self",
    "Settings::read: implIntoIterator<Item=&'tstr>",
    "StepTime::by_dimension: Self",
    "StepTime::new: Rates",
    "StepTime::objective: Self",
    "StepTime::overlapping: Self",
    "StepTime::seconds: Self",
    "StopReason::because: Self",
    "Term::factors: Self",
    "Term::is_inverse: Self",
    "Term::label: Self",
    "Term::value: Self",
    "TreePacking::new: Rates",
    "TreePacking::objective: Self",
    "TreePacking::of: Self",
    "TreePacking::trees: Self",
    "Unit::instance: Self",
    "Verifier::check: Self",
    "Verifier::induced: Self",
    "Verifier::within: Self",
    "View::as_if_free: Self",
    "View::as_if_idle: Self",
    "View::as_if_repartitioned: Self",
    "View::changing_to: Self",
    "View::decide: Self",
    "View::free: Self",
    "View::free_memory: Self",
    "View::graph: Self",
    "View::has_room: Self",
    "View::instances_in_use: Self",
    "View::is_cordoned: Self",
    "View::is_of_free_set: Self",
    "View::layout_of: Self",
    "View::limited_to: Self",
    "View::machine: Self",
    "View::parts_of: Self",
    "View::present: Self",
    "View::room_for: Self",
    "View::stamp: Self",
    "View::tenants: Self",
    "View::until: Self",
    "View::usage: Self",
    "View::usage_of_numa: Self",
    "View::usage_of_port: Self",
    "View::usage_of_whole: Self",
    "WhatIf::view: Self",
    "Within::parts_of_free_set: Self",
    "auto_by: Efficiency",
    "auto_for: Rates",
    "auto_for_edges: Rates",
    "auto_with: Objective<'static>",
    "best_partition: implFn(&HardwareGraph,DeviceId,DeviceId)->i32+Send+Sync+'a",
    "criteria::least: implFn(&Seat<'_>)->T+Send+Sync+'a",
    "criteria::max: Objective<'_>",
    "criteria::min: Objective<'_>",
    "criteria::most: implFn(&Seat<'_>)->T+Send+Sync+'a",
    "edges_seconds: Rates",
    "least_weight: implFn(&HardwareGraph,(DeviceId,DeviceId),bool)->u32+Send+Sync+'a",
    "max_bandwidth_with: Objective<'static>",
    "mig::Layout::has: Instance",
    "mig::Model::best_layout: Self",
    "mig::Model::create: Self",
    "mig::Model::create_at: Self",
    "mig::Model::destroy: Self",
    "mig::Model::exclude: Self",
    "mig::Model::find: Self",
    "mig::Model::fit: Self",
    "mig::Model::fragmentation: Self",
    "mig::Model::instances: Self",
    "mig::Model::layout: Self",
    "mig::Model::layouts: Self",
    "mig::Model::maximal_layouts: Self",
    "mig::Model::name: Self",
    "mig::Model::new: Profile",
    "mig::Model::own: Self",
    "mig::Model::print: Self",
    "mig::Model::print_instance: Self",
    "mig::Model::profile: Self",
    "mig::Model::profiles: Self",
    "mig::Model::room: Self",
    "mig::Model::serves: Self",
    "mig::Model::size: Self",
    "mig::Model::span: Self",
    "min_edges_seconds: Rates",
    "min_step_time: Rates",
    "pcie_slowdown_on: Seat<'_>",
    "preserve_with: Objective<'static>",
    "sharing::Flow::new: implIntoIterator<Item=u32>",
    "sharing::Flow::weight: Self",
    "sharing::max_min: Flow",
    "step_seconds: Rates",
    "when: implFn(&Request)->bool+Send+Sync+'a",
    "within: implFn(&Request,&View<'_>)->Vec<DeviceSet>+Send+Sync+'a",
];
