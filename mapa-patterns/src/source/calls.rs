//! The calls that communicate, and the arguments that determine their peers. Signatures: NCCL 2.28
//! (`nccl.h`), the CUDA 12 runtime, MPI 4.1, mpi4py 4, torch.distributed of PyTorch 2.

use super::expr::{Argument, Expr, Language};
use super::kinds::{Communication, Library, Role, SourceCall};
use super::names::last;
use super::program::{CallSite, SourceProgram};
use super::{launch, settings};

/// The argument with one of these names, else the one at this position.
fn argument<'a>(arguments: &'a [Argument], index: usize, names: &[&str]) -> Option<&'a Expr> {
    let named = arguments.iter().find(|(keyword, _)| {
        keyword
            .as_deref()
            .is_some_and(|keyword| names.contains(&keyword))
    });
    named
        .or_else(|| {
            arguments
                .get(index)
                .filter(|(keyword, _)| keyword.is_none())
        })
        .map(|(_, value)| value)
}

/// The library, kind and peers of a call; none if it does not communicate.
pub(super) fn classify(program: &SourceProgram, site: &CallSite) -> Option<SourceCall> {
    match program.language {
        Language::Python => python(program, site),
        Language::Shell => launch::classify(site),
        Language::C | Language::Cuda => c(program, site),
    }
}

fn c(program: &SourceProgram, site: &CallSite) -> Option<SourceCall> {
    let name = last(&site.call);
    let known = |name: &str| {
        nccl(name, site)
            .or_else(|| cuda(name, site))
            .or_else(|| mpi(name, site))
    };
    known(name).or_else(|| {
        // `#define reduce ncclAllReduce`
        let stands_for = program
            .bindings
            .get(name)?
            .iter()
            .find_map(|binding| binding.value.path().filter(|_| binding.place.scope == 0))?;
        known(stands_for)
    })
}

fn collective(
    library: Library,
    kind: Communication,
    root: Option<&Expr>,
    group: Option<&Expr>,
) -> SourceCall {
    SourceCall {
        library,
        kind,
        role: Role::Collective {
            root: root.cloned(),
            group: group.cloned(),
        },
    }
}

fn peers(
    library: Library,
    kind: Communication,
    peers: &[Option<&Expr>],
    group: Option<&Expr>,
) -> SourceCall {
    let peers = peers
        .iter()
        .map(|peer| peer.cloned().unwrap_or(Expr::Unknown))
        .collect();
    SourceCall {
        library,
        kind,
        role: Role::Peers {
            peers,
            group: group.cloned(),
        },
    }
}

fn nccl(name: &str, site: &CallSite) -> Option<SourceCall> {
    use Communication as Kind;
    let name = name
        .strip_prefix('p')
        .filter(|name| name.starts_with("nccl"))
        .unwrap_or(name);
    let at = |index: usize| argument(&site.arguments, index, &[]);
    // The communicator is the last but one.
    let comm = site.arguments.len().checked_sub(2).and_then(at);
    let all = |kind| Some(collective(Library::Nccl, kind, None, comm));
    let rooted = |kind, root| Some(collective(Library::Nccl, kind, at(root), comm));
    match name {
        "ncclAllReduce" => all(Kind::AllReduce),
        "ncclAllGather" => all(Kind::AllGather),
        "ncclReduceScatter" => all(Kind::ReduceScatter),
        "ncclBroadcast" | "ncclBcast" => all(Kind::Broadcast),
        "ncclReduce" => all(Kind::Reduce),
        "ncclAlltoAll" | "ncclAllToAll" | "ncclAllToAllv" => all(Kind::AllToAll),
        "ncclGather" => rooted(Kind::Gather, 4),
        "ncclScatter" => rooted(Kind::Scatter, 4),
        "ncclSend" => Some(peers(Library::Nccl, Kind::Send, &[at(3)], comm)),
        "ncclRecv" => Some(peers(Library::Nccl, Kind::Receive, &[at(3)], comm)),
        "ncclCommInitAll" | "ncclCommInitRank" | "ncclCommInitRankConfig" => {
            let ranks = at(1).cloned().unwrap_or(Expr::Unknown);
            Some(SourceCall {
                library: Library::Nccl,
                kind: Kind::Ranks,
                role: Role::Ranks(ranks),
            })
        }
        _ => None,
    }
}

fn cuda(name: &str, site: &CallSite) -> Option<SourceCall> {
    use Communication as Kind;
    let at = |index: usize| {
        argument(&site.arguments, index, &[])
            .cloned()
            .unwrap_or(Expr::Unknown)
    };
    let call = |kind, role| {
        Some(SourceCall {
            library: Library::Cuda,
            kind,
            role,
        })
    };
    match name {
        "cudaMemcpyPeer" | "cudaMemcpyPeerAsync" | "hipMemcpyPeer" | "hipMemcpyPeerAsync" => {
            call(Kind::PeerCopy, Role::Devices(at(3), at(1)))
        }
        "cudaMemcpy3DPeer" | "cudaMemcpy3DPeerAsync" => {
            let member = |name: &str| {
                at(0)
                    .path()
                    .map_or(Expr::Unknown, |path| Expr::Name(format!("{path}.{name}")))
            };
            call(
                Kind::PeerCopy,
                Role::Devices(member("srcDevice"), member("dstDevice")),
            )
        }
        "cuMemcpyPeer" | "cuMemcpyPeerAsync" | "cuMemcpy3DPeer" | "cuMemcpy3DPeerAsync" => call(
            Kind::PeerCopy,
            Role::Unclear("the devices are those of two contexts"),
        ),
        "cudaDeviceEnablePeerAccess" | "hipDeviceEnablePeerAccess" => {
            call(Kind::PeerAccess, Role::Access(at(0)))
        }
        "cuCtxEnablePeerAccess" => call(
            Kind::PeerAccess,
            Role::Unclear("the devices are those of two contexts"),
        ),
        _ => None,
    }
}

fn mpi(name: &str, site: &CallSite) -> Option<SourceCall> {
    use Communication as Kind;
    let name = name
        .strip_prefix("PMPI_")
        .or_else(|| name.strip_prefix("MPI_"))?;
    let at = |index: usize| argument(&site.arguments, index, &[]);
    let group = site
        .arguments
        .iter()
        .map(|(_, value)| value)
        .find(|value| value.path().is_some_and(is_communicator));
    let all = |kind| Some(collective(Library::Mpi, kind, None, group));
    let rooted = |kind, root| Some(collective(Library::Mpi, kind, at(root), group));
    let with = |kind, ranks: &[usize]| {
        let ranks: Vec<_> = ranks.iter().map(|index| at(*index)).collect();
        Some(peers(Library::Mpi, kind, &ranks, group))
    };
    let call = |kind, role| {
        Some(SourceCall {
            library: Library::Mpi,
            kind,
            role,
        })
    };
    match name {
        "Send" | "Ssend" | "Bsend" | "Rsend" | "Isend" | "Issend" | "Ibsend" | "Irsend"
        | "Send_init" | "Ssend_init" | "Put" | "Accumulate" => with(Kind::Send, &[3]),
        "Recv" | "Irecv" | "Recv_init" | "Get" => with(Kind::Receive, &[3]),
        "Sendrecv" | "Isendrecv" => with(Kind::SendReceive, &[3, 8]),
        "Sendrecv_replace" | "Isendrecv_replace" => with(Kind::SendReceive, &[3, 5]),
        "Bcast" | "Ibcast" => rooted(Kind::Broadcast, 3),
        "Reduce" | "Ireduce" => rooted(Kind::Reduce, 5),
        "Gather" | "Igather" => rooted(Kind::Gather, 6),
        "Gatherv" | "Igatherv" => rooted(Kind::Gather, 7),
        "Scatter" | "Iscatter" => rooted(Kind::Scatter, 6),
        "Scatterv" | "Iscatterv" => rooted(Kind::Scatter, 7),
        "Allreduce" | "Iallreduce" => all(Kind::AllReduce),
        "Allgather" | "Iallgather" | "Allgatherv" | "Iallgatherv" => all(Kind::AllGather),
        "Reduce_scatter" | "Reduce_scatter_block" | "Ireduce_scatter" | "Ireduce_scatter_block" => {
            all(Kind::ReduceScatter)
        }
        "Alltoall" | "Ialltoall" | "Alltoallv" | "Ialltoallv" | "Alltoallw" | "Ialltoallw" => {
            all(Kind::AllToAll)
        }
        "Scan" | "Iscan" | "Exscan" | "Iexscan" => all(Kind::Scan),
        "Barrier" | "Ibarrier" => all(Kind::Barrier),
        "Cart_create" => call(
            Kind::Grid,
            Role::Grid(Expr::Call(
                "MPI_Cart_create".to_owned(),
                site.arguments.clone(),
            )),
        ),
        "Graph_create" | "Dist_graph_create" | "Dist_graph_create_adjacent" => call(
            Kind::Graph,
            Role::Unclear("the neighbours are in lists made at run time"),
        ),
        neighbour if neighbour.starts_with("Neighbor_") || neighbour.starts_with("Ineighbor_") => {
            let comm = site
                .arguments
                .iter()
                .rev()
                .find_map(|(_, value)| value.path().map(|_| value.clone()));
            call(
                Kind::Neighbours,
                Role::Grid(group.cloned().or(comm).unwrap_or(Expr::Unknown)),
            )
        }
        _ => None,
    }
}

fn python(program: &SourceProgram, site: &CallSite) -> Option<SourceCall> {
    if let Some(degrees) = settings::degrees(program, site) {
        return Some(degrees);
    }
    let path = program.imported(&site.call);
    let (module, name) = path.rsplit_once('.').unwrap_or(("", &path));
    let stars = || {
        program
            .imports
            .keys()
            .any(|key| key.starts_with("*torch.distributed"))
    };
    if module == "torch.distributed"
        || module.starts_with("torch.distributed.")
        || module == "deepspeed.comm"
    {
        return torch(name, site);
    }
    if module.is_empty() && stars() {
        return torch(name, site);
    }
    if module.starts_with("horovod.") {
        return horovod(name);
    }
    if module == "deepspeed" && name == "initialize" {
        return Some(SourceCall {
            library: Library::DeepSpeed,
            kind: Communication::DataParallel,
            role: Role::DataParallel,
        });
    }
    if name == "DataParallel" && module.starts_with("torch") {
        let role = Role::Unclear(
            "one process copies to and from its devices: the devices are not derived",
        );
        return Some(SourceCall {
            library: Library::Torch,
            kind: Communication::DataParallel,
            role,
        });
    }
    if matches!(
        name,
        "DistributedDataParallel" | "FullyShardedDataParallel" | "fully_shard"
    ) {
        return Some(SourceCall {
            library: Library::Torch,
            kind: Communication::DataParallel,
            role: Role::DataParallel,
        });
    }
    if program
        .imports
        .values()
        .any(|module| module == "mpi4py" || module.starts_with("mpi4py."))
    {
        return mpi4py(program, site);
    }
    None
}

fn torch(name: &str, site: &CallSite) -> Option<SourceCall> {
    use Communication as Kind;
    let at = |index: usize, names: &[&str]| argument(&site.arguments, index, names);
    let place_of_group = match name {
        "barrier" | "monitored_barrier" => 0,
        "reduce" | "reduce_scatter" | "reduce_scatter_tensor" | "_reduce_scatter_base" => 3,
        "gather" | "gather_object" | "scatter" | "scatter_object_list" => 3,
        "all_to_all_single" => 4,
        name if name.starts_with("all_") || name.starts_with("broadcast") => 2,
        _ => usize::MAX,
    };
    let group = argument(&site.arguments, place_of_group, &["group"]);
    let group = group.filter(|group| {
        !matches!(
            group.path(),
            Some("None" | "dist.group.WORLD" | "group.WORLD")
        )
    });
    let zero = Expr::Int(0);
    let all = |kind| Some(collective(Library::Torch, kind, None, group));
    let rooted = |kind, root: Option<&Expr>| {
        Some(collective(
            Library::Torch,
            kind,
            root.or(Some(&zero)),
            group,
        ))
    };
    let call = |kind, role| {
        Some(SourceCall {
            library: Library::Torch,
            kind,
            role,
        })
    };
    match name {
        "all_reduce" | "all_reduce_coalesced" => all(Kind::AllReduce),
        "all_gather"
        | "all_gather_into_tensor"
        | "all_gather_coalesced"
        | "all_gather_object"
        | "_all_gather_base" => all(Kind::AllGather),
        "reduce_scatter" | "reduce_scatter_tensor" | "_reduce_scatter_base" => {
            all(Kind::ReduceScatter)
        }
        "broadcast" | "broadcast_object_list" => all(Kind::Broadcast),
        "reduce" => all(Kind::Reduce),
        "all_to_all" | "all_to_all_single" => all(Kind::AllToAll),
        "gather" | "gather_object" => rooted(Kind::Gather, at(2, &["dst"])),
        "scatter" | "scatter_object_list" => rooted(Kind::Scatter, at(2, &["src"])),
        "barrier" | "monitored_barrier" => all(Kind::Barrier),
        "send" | "isend" | "send_object_list" => {
            Some(peers(Library::Torch, Kind::Send, &[at(1, &["dst"])], group))
        }
        "recv" | "irecv" | "recv_object_list" => {
            let any = Expr::Name("MPI_ANY_SOURCE".to_owned());
            Some(peers(
                Library::Torch,
                Kind::Receive,
                &[at(1, &["src"]).or(Some(&any))],
                group,
            ))
        }
        "P2POp" => Some(peers(
            Library::Torch,
            Kind::SendReceive,
            &[at(2, &["peer"])],
            group,
        )),
        "init_process_group" => {
            let ranks = argument(&site.arguments, usize::MAX, &["world_size"])?;
            call(Kind::Ranks, Role::Ranks(ranks.clone()))
        }
        "init_device_mesh" => call(
            Kind::Mesh,
            Role::Mesh {
                shape: at(1, &["mesh_shape"]).cloned().unwrap_or(Expr::Unknown),
                names: at(usize::MAX, &["mesh_dim_names"]).cloned(),
            },
        ),
        "DistributedDataParallel" | "FullyShardedDataParallel" | "fully_shard" => {
            call(Kind::DataParallel, Role::DataParallel)
        }
        "parallelize_module" | "PipelineStage" => call(Kind::Degrees, Role::InGroups),
        _ => None,
    }
}

/// Whether a name is typical of a communicator: `comm`, `MPI_COMM_WORLD`, `row_comm`,
/// `newcomm`, `comm2`, `commRow`; not `command`.
fn is_communicator(path: &str) -> bool {
    let own = last(path);
    let name = own.to_ascii_lowercase();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    plain.ends_with("comm")
        || plain.ends_with("communicator")
        || name.split('_').any(|word| word == "comm")
        || own
            .strip_prefix("comm")
            .is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

fn horovod(name: &str) -> Option<SourceCall> {
    use Communication as Kind;
    let kind = match name {
        "allreduce" | "allreduce_" | "allreduce_async" | "grouped_allreduce" => Kind::AllReduce,
        "allgather" | "allgather_async" => Kind::AllGather,
        "broadcast" | "broadcast_" | "broadcast_parameters" | "broadcast_optimizer_state" => {
            Kind::Broadcast
        }
        "alltoall" => Kind::AllToAll,
        "reducescatter" => Kind::ReduceScatter,
        "DistributedOptimizer" | "DistributedGradientTape" => {
            return Some(SourceCall {
                library: Library::Horovod,
                kind: Kind::DataParallel,
                role: Role::DataParallel,
            });
        }
        _ => return None,
    };
    Some(collective(Library::Horovod, kind, None, None))
}

fn mpi4py(program: &SourceProgram, site: &CallSite) -> Option<SourceCall> {
    use Communication as Kind;
    let (object, name) = site.call.rsplit_once('.')?;
    let is_comm = is_communicator(object)
        || program
            .bindings
            .get(object)
            .into_iter()
            .flatten()
            .any(|binding| match &binding.value {
                Expr::Name(path) => path.ends_with("COMM_WORLD"),
                Expr::Call(call, _) => matches!(
                    last(call),
                    "Create_cart" | "Split" | "Dup" | "Clone" | "Sub"
                ),
                _ => false,
            });
    if !is_comm {
        return None;
    }
    let comm = Expr::Name(object.to_owned());
    let at = |index: usize, names: &[&str]| argument(&site.arguments, index, names);
    let all = |kind| Some(collective(Library::Mpi, kind, None, Some(&comm)));
    let zero = Expr::Int(0);
    let rooted = |kind, root: usize| {
        Some(collective(
            Library::Mpi,
            kind,
            at(root, &["root"]).or(Some(&zero)),
            Some(&comm),
        ))
    };
    let any = Expr::Name("MPI_ANY_SOURCE".to_owned());
    let source = |index: usize| at(index, &["source"]).or(Some(&any));
    let with = |kind, ranks: &[Option<&Expr>]| Some(peers(Library::Mpi, kind, ranks, Some(&comm)));
    let is_object = name.starts_with(char::is_lowercase);
    match name.to_ascii_lowercase().as_str() {
        "send" | "isend" | "ssend" | "issend" | "bsend" | "ibsend" | "rsend" | "irsend"
        | "send_init" => with(Kind::Send, &[at(1, &["dest"])]),
        "recv" | "irecv" | "recv_init" => with(Kind::Receive, &[source(1)]),
        "sendrecv" => with(Kind::SendReceive, &[at(1, &["dest"]), source(4)]),
        "sendrecv_replace" => with(Kind::SendReceive, &[at(1, &["dest"]), source(3)]),
        "bcast" | "ibcast" => rooted(Kind::Broadcast, 1),
        "reduce" | "ireduce" => rooted(Kind::Reduce, if is_object { 2 } else { 3 }),
        "gather" | "gatherv" | "igather" => rooted(Kind::Gather, if is_object { 1 } else { 2 }),
        "scatter" | "scatterv" | "iscatter" => rooted(Kind::Scatter, if is_object { 1 } else { 2 }),
        "allreduce" | "iallreduce" => all(Kind::AllReduce),
        "allgather" | "allgatherv" | "iallgather" | "iallgatherv" => all(Kind::AllGather),
        "reduce_scatter" | "reduce_scatter_block" => all(Kind::ReduceScatter),
        "alltoall" | "alltoallv" | "alltoallw" | "ialltoall" => all(Kind::AllToAll),
        "scan" | "exscan" => all(Kind::Scan),
        "barrier" | "ibarrier" => all(Kind::Barrier),
        "create_cart" => {
            let grid = Expr::Call(site.call.clone(), site.arguments.clone());
            Some(SourceCall {
                library: Library::Mpi,
                kind: Kind::Grid,
                role: Role::Grid(grid),
            })
        }
        "neighbor_alltoall"
        | "neighbor_allgather"
        | "neighbor_alltoallv"
        | "neighbor_allgatherv" => Some(SourceCall {
            library: Library::Mpi,
            kind: Kind::Neighbours,
            role: Role::Grid(comm),
        }),
        "create_dist_graph_adjacent" | "create_dist_graph" | "create_graph" => {
            let why = "the neighbours are in lists made at run time";
            Some(SourceCall {
                library: Library::Mpi,
                kind: Kind::Graph,
                role: Role::Unclear(why),
            })
        }
        _ => None,
    }
}
