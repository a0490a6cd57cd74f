//! Making requests from words.

use mapa_core::{
    BuiltIn, Coefficients, DeviceSet, HardwareGraph, LinkClass, MAX_DEVICES, Pattern, Policy, Request, Shape,
    effective_gbps, effective_gbps_with, preserve_with, preserved_direct_gbps, preserved_gbps,
};
use mapa_topologies::Labels;

use crate::cli::{ConstraintArgs, Effective, PolicyArgs, Preserved};
use crate::failure::Failure;

/// The pattern that `text` describes, for `k` ranks: a shape's name, or edges `0-1,1-2:2.5`.
pub(crate) fn pattern(text: &str, k: usize) -> Result<Pattern, Failure> {
    let is_edges = text.contains(|c: char| c.is_ascii_digit());
    let unknown = |error| Failure::malformed(format_args!("{error}, or edges such as 0-1,1-2"));
    let shape = if is_edges { None } else { Some(text.parse::<Shape>().map_err(unknown)?) };
    match shape {
        Some(shape) => Ok(shape.pattern(k)),
        None => {
            let edges = text.split(',').map(edge).collect::<Result<Vec<_>, _>>()?;
            // More ranks than any machine has devices are a matter for a refusal, once the edges make sense.
            let own = Pattern::from_edges(k.min(MAX_DEVICES), edges)?;
            Ok(if k > MAX_DEVICES { Pattern::ring(k) } else { own })
        }
    }
}

fn edge(text: &str) -> Result<(u16, u16, f64), Failure> {
    let parse = || {
        let (ends, traffic) = text.split_once(':').unwrap_or((text, "1"));
        let (a, b) = ends.split_once('-')?;
        Some((a.trim().parse().ok()?, b.trim().parse().ok()?, traffic.trim().parse().ok()?))
    };
    parse().ok_or_else(|| Failure::malformed(format_args!("pattern edge `{text}`: expected A-B or A-B:TRAFFIC")))
}

/// The devices that a list of ids, names, UUIDs or PCI addresses means.
pub(crate) fn devices<T: AsRef<str>>(list: &[T], graph: &HardwareGraph) -> Result<DeviceSet, Failure> {
    let words = list.iter().map(AsRef::as_ref).filter(|word: &&str| !word.trim().is_empty());
    let mut set = DeviceSet::new();
    for word in words {
        set.insert(graph.find(word)?);
    }
    Ok(set)
}

pub(crate) fn min_link(word: Option<&str>) -> Result<LinkClass, Failure> {
    word.map_or(Ok(LinkClass::None), |word| Labels::default().parse(word).map_err(Failure::malformed))
}

/// The request that the command line describes, checked, and the devices that are free.
pub(crate) fn request(
    pattern: Pattern,
    sensitive: bool,
    args: &ConstraintArgs,
    graph: &HardwareGraph,
) -> Result<(Request, DeviceSet), Failure> {
    let mut request = Request::new(pattern)
        .sensitive(sensitive)
        .must_include(devices(&args.must_include, graph)?)
        .avoid(devices(&args.avoid, graph)?)
        .min_link(min_link(args.min_link.as_deref())?)
        .same_numa(args.same_numa);
    if let Some(nodes) = args.max_nodes {
        request.limits.nodes = nodes;
    }
    request.check(graph)?;
    let free = &graph.all() - &devices(&args.busy, graph)?;
    Ok((request, free))
}

pub(crate) fn policy(args: &PolicyArgs) -> Result<Box<dyn Policy>, Failure> {
    if (args.effective, args.preserved) == Default::default() {
        return Ok(BuiltIn::named(&args.policy)?);
    }
    if args.policy != "preserve" {
        let what = format_args!("--effective and --preserved are for the policy preserve, not {}", args.policy);
        return Err(Failure::malformed(what));
    }
    let effective = match args.effective {
        Effective::Full => effective_gbps(),
        Effective::Printed => effective_gbps_with("effective_printed_gbps", Coefficients::PRINTED),
    };
    let preserved = match args.preserved {
        Preserved::All => preserved_gbps(),
        Preserved::Direct => preserved_direct_gbps(),
    };
    Ok(Box::new(preserve_with(effective, preserved)))
}
