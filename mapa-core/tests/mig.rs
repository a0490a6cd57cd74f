//! The geometry compared with brute force by the definition alone: instances take spans of slices,
//! spans may not overlap, and a profile has a maximum.

use std::collections::BTreeSet;

use mapa_core::mig::{Instance, Layout, Model, Profile, ProfileId, Size};
use mapa_core::testing::mig_models;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn profile(name: &str, compute: u8, memory: u8, starts: &[u8], max_instances: u8) -> Profile {
    Profile {
        name: name.to_owned(),
        size: Size::new(compute, memory),
        memory_bytes: u64::from(memory) << 30,
        starts: starts.to_vec(),
        max_instances,
    }
}

/// The plain profiles of an A100.
fn a100() -> Model {
    let table = vec![
        profile("1g", 1, 1, &[0, 1, 2, 3, 4, 5, 6], 7),
        profile("2g", 2, 2, &[0, 2, 4], 3),
        profile("3g", 3, 4, &[0, 4], 2),
        profile("4g", 4, 4, &[0], 1),
        profile("7g", 7, 8, &[0], 1),
    ];
    Model::new("a100", Size::new(7, 8), table).unwrap()
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![3 => mig_models(), 1 => Just(()).prop_map(|()| a100())]
}

/// Whether the instances may exist at once, from the definition.
fn legal(model: &Model, instances: &[Instance]) -> bool {
    let slices = instances.iter().flat_map(|&instance| model.span(instance));
    let apart = slices.clone().collect::<BTreeSet<_>>().len() == slices.count();
    let few = |(id, profile): (usize, &Profile)| {
        instances
            .iter()
            .filter(|i| usize::from(i.profile.0) == id)
            .count()
            <= usize::from(profile.max_instances)
    };
    apart && model.profiles().iter().enumerate().all(few)
}

/// Every legal set of instances, including the empty one, in lexicographic order. A set that is not
/// legal stays so with more instances.
fn every_layout(model: &Model) -> Vec<Vec<Instance>> {
    let mut found = vec![Vec::new()];
    for &instance in model.instances() {
        for i in 0..found.len() {
            let wider = [found[i].as_slice(), &[instance]].concat();
            if legal(model, &wider) {
                found.push(wider);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The profiles of a layout, and how often each occurs.
fn profiles(instances: &[Instance]) -> Vec<ProfileId> {
    let mut profiles: Vec<_> = instances.iter().map(|instance| instance.profile).collect();
    profiles.sort_unstable();
    profiles
}

fn ids(model: &Model) -> impl Iterator<Item = ProfileId> + use<> {
    (0..model.profiles().len() as u8).map(ProfileId)
}

fn pick(model: &Model, picks: &[Index]) -> Vec<ProfileId> {
    let mut wanted: Vec<_> = picks
        .iter()
        .map(|pick| ProfileId(pick.index(model.profiles().len()) as u8))
        .collect();
    wanted.sort_unstable();
    wanted
}

/// A layout of the list, or the empty one.
fn some_layout(model: &Model, index: Index) -> Layout {
    match index.index(model.layouts().len() + 1) {
        0 => model.layout(&[]).unwrap(),
        i => model.layouts().nth(i - 1).unwrap(),
    }
}

fn some_of<T: Copy>(items: &[T], bits: u16) -> Vec<T> {
    items
        .iter()
        .enumerate()
        .filter(|(i, _)| bits >> (i % 16) & 1 == 1)
        .map(|(_, &item)| item)
        .collect()
}

proptest! {
    #[test]
    fn the_list_is_every_legal_layout_in_order(model in model()) {
        let every = every_layout(&model);
        let listed: Vec<Vec<Instance>> = model.layouts().map(|layout| layout.instances().to_vec()).collect();
        prop_assert_eq!(&listed[..], &every[1..]);
        let full = |layout: &&Vec<Instance>| {
            model.instances().iter().all(|&more| !legal(&model, &[layout.as_slice(), &[more]].concat()))
        };
        let maximal: Vec<Vec<Instance>> = model.maximal_layouts().map(|layout| layout.instances().to_vec()).collect();
        prop_assert_eq!(maximal, listed.iter().filter(full).cloned().collect::<Vec<_>>());
        for layout in model.layouts() {
            for profile in ids(&model) {
                let count = |instances: &[Instance]| instances.iter().filter(|i| i.profile == profile).count();
                let wider = every.iter().filter(|other| layout.instances().iter().all(|i| other.contains(i)));
                let most = wider.map(|other| count(other)).max().unwrap();
                prop_assert_eq!(model.room(&layout, profile).unwrap(), most - count(layout.instances()));
            }
        }
    }

    #[test]
    fn histories_stay_legal(model in model(), steps in vec((any::<Index>(), 0u8..3), 0..40)) {
        let mut layout = Layout::whole();
        let mut there: Vec<Instance> = Vec::new();
        for (index, what) in steps {
            let instance = model.instances()[index.index(model.instances().len())];
            let name = model.print_instance(instance);
            let wider = [there.as_slice(), &[instance]].concat();
            match what {
                0 => match model.create_at(&layout, instance) {
                    Ok(next) => {
                        prop_assert!(legal(&model, &wider));
                        (layout, there) = (next, wider);
                    }
                    Err(error) => {
                        prop_assert!(!legal(&model, &wider));
                        let overlaps = |other: &&Instance| !legal(&model, &[**other, instance])
                            && model.span(**other).any(|slice| model.span(instance).contains(&slice));
                        let text = error.to_string();
                        if there.iter().any(|other| overlaps(&other)) {
                            let named = |other: &Instance| format!("{} and {name} overlap", model.print_instance(*other));
                            prop_assert!(there.iter().filter(overlaps).any(|other| text == named(other)), "{}", text);
                        } else {
                            let profile = model.profile(instance.profile);
                            let most = format!("at most {} of {} may exist", profile.max_instances, profile.name);
                            prop_assert_eq!(text, most);
                        }
                    }
                },
                1 => match model.create(&layout, instance.profile) {
                    Ok((next, created)) => {
                        prop_assert_eq!(created.profile, instance.profile);
                        // Most legal layouts can still be reached from here; the lowest start of
                        // equals.
                        let reach = |start: Instance| {
                            let with = [there.as_slice(), &[start]].concat();
                            let all = model.layouts().filter(|l| with.iter().all(|&i| l.has(i))).count();
                            legal(&model, &with).then_some((all, std::cmp::Reverse(start.start)))
                        };
                        let starts = model.instances().iter().copied().filter(|i| i.profile == instance.profile);
                        prop_assert_eq!(starts.filter_map(reach).max(), reach(created));
                        there.push(created);
                        layout = next;
                    }
                    Err(error) => {
                        let starts = model.instances().iter().filter(|i| i.profile == instance.profile);
                        for &start in starts {
                            prop_assert!(!legal(&model, &[there.as_slice(), &[start]].concat()));
                        }
                        let profile = &model.profile(instance.profile).name;
                        let expected = format!("no start is left for {profile} beside {}", model.print(&layout));
                        prop_assert_eq!(error.to_string(), expected);
                    }
                },
                _ => match model.destroy(&layout, instance) {
                    Ok(next) => {
                        let place = there.iter().position(|&other| other == instance);
                        there.swap_remove(place.unwrap());
                        layout = next;
                    }
                    Err(error) => {
                        prop_assert!(!there.contains(&instance));
                        let expected = format!("{name} is not in the layout {}", model.print(&layout));
                        prop_assert_eq!(error.to_string(), expected);
                    }
                },
            }
            there.sort_unstable();
            prop_assert_eq!(layout.instances(), there.as_slice());
            prop_assert!(there.is_empty() || model.layouts().any(|listed| listed == layout));
            prop_assert!(there.iter().all(|&instance| layout.has(instance)));
        }
    }
}

/// Whether all wanted profiles can be created one after another, in some order, at some starts.
fn can_be_created(model: &Model, there: &mut Vec<Instance>, wanted: &mut Vec<ProfileId>) -> bool {
    for i in 0..wanted.len() {
        let profile = wanted.swap_remove(i);
        for &start in &model.profile(profile).starts {
            there.push(Instance { start, profile });
            let done = legal(model, there) && can_be_created(model, there, wanted);
            there.pop();
            if done {
                return true;
            }
        }
        wanted.push(profile);
        let last = wanted.len() - 1;
        wanted.swap(i, last);
    }
    wanted.is_empty()
}

fn served(free: &[Instance], wanted: &[ProfileId]) -> usize {
    let count =
        |list: &[ProfileId], profile| list.iter().filter(|&&other| other == profile).count();
    let free = profiles(free);
    let kinds: BTreeSet<ProfileId> = wanted.iter().copied().collect();
    kinds
        .into_iter()
        .map(|profile| count(&free, profile).min(count(wanted, profile)))
        .sum()
}

proptest! {
    #[test]
    fn fit_refuses_what_no_order_of_creation_achieves(model in model(), picks in vec(any::<Index>(), 0..=4)) {
        let wanted = pick(&model, &picks);
        let possible = can_be_created(&model, &mut Vec::new(), &mut wanted.clone());
        match model.fit(&wanted) {
            None => prop_assert!(!possible),
            Some(layout) => {
                prop_assert!(possible && legal(&model, layout.instances()));
                prop_assert_eq!(profiles(layout.instances()), wanted.clone());
                // Of those that have them, the one that is part of most layouts; `min_by_key` takes
                // the first of equals.
                let every = every_layout(&model);
                let part_of = |one: &&Vec<Instance>| {
                    every.iter().filter(|other| one.iter().all(|instance| other.contains(instance))).count()
                };
                let best = every.iter().filter(|other| profiles(other) == wanted);
                let best = best.min_by_key(|one| std::cmp::Reverse(part_of(one)));
                prop_assert_eq!(Some(layout.instances()), best.map(Vec::as_slice));
            }
        }
    }

    #[test]
    fn best_layout_is_that_of_brute_force(
        model in model(), now in any::<Index>(), keep in any::<u16>(), picks in vec(any::<Index>(), 0..=4),
    ) {
        let now = some_layout(&model, now);
        let keep = some_of(now.instances(), keep);
        let wanted = pick(&model, &picks);
        let free = |layout: &[Instance]| -> Vec<Instance> {
            layout.iter().copied().filter(|instance| !keep.contains(instance)).collect()
        };
        let changes = |layout: &[Instance]| {
            let gone = now.instances().iter().filter(|instance| !layout.contains(instance)).count();
            gone + layout.iter().filter(|&&instance| !now.has(instance)).count()
        };
        let every = every_layout(&model);
        let kept = every.iter().filter(|layout| keep.iter().all(|instance| layout.contains(instance)));
        // `min_by_key` takes the first of equals.
        let best = kept.min_by_key(|layout| (std::cmp::Reverse(served(&free(layout), &wanted)), changes(layout)));
        let answer = model.best_layout(&now, &keep, &wanted).unwrap();
        prop_assert_eq!(answer.instances(), best.unwrap().as_slice(), "from {}", model.print(&now));
        let count = model.serves(&answer, &keep, &wanted).unwrap();
        prop_assert_eq!(count, served(&free(answer.instances()), &wanted));
        prop_assert!(count >= model.serves(&now, &keep, &wanted).unwrap());
    }

    #[test]
    fn best_layout_from_a_whole_device_serves_most_or_leaves_it_whole(
        model in model(), picks in vec(any::<Index>(), 0..=4),
    ) {
        let wanted = pick(&model, &picks);
        let best = model.best_layout(&Layout::whole(), &[], &wanted).unwrap();
        let most = every_layout(&model).iter().map(|layout| served(layout, &wanted)).max().unwrap();
        prop_assert_eq!(model.serves(&best, &[], &wanted).unwrap(), most);
        prop_assert_eq!(best.is_whole(), most == 0);
        prop_assert_eq!(best.instances().len(), most, "and has nothing else");
    }

    #[test]
    fn fragmentation_is_that_of_brute_force(model in model(), layout in any::<Index>()) {
        let layout = some_layout(&model, layout);
        let every = every_layout(&model);
        let count = |instances: &[Instance], profile| instances.iter().filter(|i| i.profile == profile).count();
        let room = |instances: &[Instance], profile: ProfileId| {
            let wider = every.iter().filter(|other| instances.iter().all(|instance| other.contains(instance)));
            wider.map(|other| count(other, profile)).max().unwrap() - count(instances, profile)
        };
        let alike = || every.iter().filter(|other| profiles(other) == profiles(layout.instances()));
        let (mut lost, mut best) = (0, 0);
        for profile in ids(&model) {
            let most = alike().map(|other| room(other, profile)).max().unwrap();
            let weight = usize::from(model.profile(profile).size.compute);
            lost += weight * (most - room(layout.instances(), profile));
            best += weight * most;
        }
        let expected = if best == 0 { 0.0 } else { lost as f64 / best as f64 };
        let measured = model.fragmentation(&layout).unwrap();
        prop_assert!((0.0..=1.0).contains(&measured));
        prop_assert_eq!(measured, expected);
        if layout.instances().is_empty() {
            prop_assert_eq!(measured, 0.0);
        }
    }
}

fn parse(model: &Model, text: &str) -> Vec<Instance> {
    let instance = |word: &str| {
        let (name, start) = word.split_once('@').unwrap();
        Instance {
            start: start.parse().unwrap(),
            profile: model.find(name).unwrap(),
        }
    };
    text.split_whitespace().map(instance).collect()
}

fn layout(model: &Model, text: &str) -> Layout {
    model.layout(&parse(model, text)).unwrap()
}

#[test]
fn fragmentation_by_hand() {
    let model = a100();
    let measure = |text: &str| model.fragmentation(&layout(&model, text)).unwrap();
    // Beside 1g@6 there is room for six 1g, three 2g, one 3g, one 4g: 6 + 6 + 3 + 4 = 19, the best
    // of all starts.
    assert_eq!(measure("1g@6"), 0.0);
    // Beside 1g@0: six 1g, two 2g, one 3g, no 4g: 6 + 4 + 3 = 13.
    assert_eq!(measure("1g@0"), 6.0 / 19.0);
    // Beside two 1g there is at best room for five 1g, two 2g, one 3g and one 4g: 5 + 4 + 3 + 4 = 16.
    // In the middle of both halves they leave room for five 1g and two 2g (at 0 and 4, or 2): 5 + 4
    // = 9.
    assert_eq!(measure("1g@4 1g@6"), 0.0);
    assert_eq!(measure("1g@2 1g@6"), 5.0 / 16.0 + 2.0 / 16.0);
    for text in [
        "",
        "7g@0",
        "4g@0 3g@4",
        "1g@0 1g@1 1g@2 1g@3 1g@4 1g@5 1g@6",
    ] {
        assert_eq!(measure(text), 0.0, "{text}");
    }
    assert_eq!(model.fragmentation(&Layout::whole()).unwrap(), 0.0);
    // Two profiles of a half and a quarter: a quarter in the wrong place costs the only start of
    // the half.
    let table = vec![
        profile("1g", 1, 1, &[0, 3], 1),
        profile("2g", 2, 2, &[0], 1),
    ];
    let model = Model::new("worst", Size::new(4, 4), table).unwrap();
    assert_eq!(model.fragmentation(&layout(&model, "1g@0")).unwrap(), 1.0);
}

#[test]
fn create_starts_where_most_can_still_be_reached() {
    let model = a100();
    let mut layout = Layout::whole();
    let mut starts = Vec::new();
    for _ in 0..7 {
        let (next, created) = model.create(&layout, model.find("1g").unwrap()).unwrap();
        (layout, _) = (next, starts.push(created.start));
    }
    assert_eq!(starts[0], 6, "the slice that no 2g wants");
    starts.sort_unstable();
    assert_eq!(starts, [0, 1, 2, 3, 4, 5, 6]);
    let error = model
        .create(&layout, model.find("1g").unwrap())
        .unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"no start is left for 1g beside 1g@0 1g@1 1g@2 1g@3 1g@4 1g@5 1g@6"
    );
    let (_, three) = model
        .create(&Layout::whole(), model.find("3g").unwrap())
        .unwrap();
    assert_eq!(three.start, 4, "4g has no other start than 0");
}

#[test]
fn errors_name_the_instances() {
    let model = a100();
    let [three, two] = ["3g", "2g"].map(|name| model.find(name).unwrap());
    let error = |result: Result<Layout, mapa_core::Error>| result.unwrap_err().to_string();
    let halves = layout(&model, "3g@0 3g@4");
    assert_eq!(
        error(model.create_at(
            &halves,
            Instance {
                start: 2,
                profile: two
            }
        )),
        "3g@0 and 2g@2 overlap"
    );
    assert_eq!(
        error(model.layout(&parse(&model, "3g@0 3g@0"))),
        "3g@0 and 3g@0 overlap"
    );
    let expected = "a100 has no instance 3g@1 here: expected one that exists, at a start that its profile allows";
    assert_eq!(
        error(model.layout(&[Instance {
            start: 1,
            profile: three
        }])),
        expected
    );
    assert_eq!(
        error(model.destroy(
            &halves,
            Instance {
                start: 1,
                profile: three
            }
        )),
        expected
    );
    let not_there = "2g@0 is not in the layout 3g@0 3g@4";
    assert_eq!(
        error(model.destroy(&halves, parse(&model, "2g@0")[0])),
        not_there
    );
    let unknown = model
        .create(&halves, ProfileId(99))
        .unwrap_err()
        .to_string();
    assert_eq!(
        unknown,
        "a100 has no profile 99: expected an id below the number of its profiles"
    );
    let foreign = Instance {
        start: 250,
        profile: ProfileId(9),
    };
    insta::assert_snapshot!(
        error(model.create_at(&halves, foreign)),
        @"a100 has no instance profile 9@250 here: expected one that exists, at a start that its profile allows"
    );
    assert!(!model.exclude(
        Instance {
            start: 250,
            profile: three
        },
        halves.instances()[0]
    ));
    // Keeping an instance that does not exist.
    assert_eq!(
        error(model.best_layout(&halves, &parse(&model, "2g@0"), &[])),
        not_there
    );
    insta::assert_snapshot!(
        error(model.best_layout(&halves, &parse(&model, "3g@0 2g@0"), &[])),
        @"3g@0 and 2g@0 overlap"
    );
    let table = vec![
        profile("media", 1, 1, &[0, 1, 2], 1),
        profile("wide", 1, 2, &[0, 1], 2),
    ];
    let model = Model::new("own", Size::new(4, 3), table).unwrap();
    let wide = layout(&model, "wide@0");
    assert_eq!(
        error(model.create_at(&wide, parse(&model, "wide@1")[0])),
        "wide@0 and wide@1 overlap"
    );
    let media = layout(&model, "media@0");
    assert_eq!(
        error(model.create_at(&media, parse(&model, "media@2")[0])),
        "at most 1 of media may exist"
    );
}

#[test]
fn a_layout_of_another_model_is_refused_everywhere() {
    let quarters = vec![
        profile("a", 1, 1, &[0, 1, 2, 3], 4),
        profile("b", 1, 1, &[0, 1, 2, 3], 4),
    ];
    let other = Model::new("other", Size::new(4, 4), quarters).unwrap();
    let foreign = layout(&other, "b@0 a@1");
    let model = a100();
    // There the second profile takes two slices, so the two would overlap.
    let refused = "a layout of another model than a100";
    let profile = model.find("1g").unwrap();
    let none: [Result<(), mapa_core::Error>; 6] = [
        model.create(&foreign, profile).map(drop),
        model.room(&foreign, profile).map(drop),
        model.fragmentation(&foreign).map(drop),
        model.serves(&foreign, &[], &[]).map(drop),
        model.best_layout(&foreign, &[], &[]).map(drop),
        model.destroy(&foreign, foreign.instances()[0]).map(drop),
    ];
    for result in none {
        assert_eq!(result.unwrap_err().to_string(), refused);
    }
}

#[test]
fn names_are_found_short_and_long() {
    let names = |list: &[&str]| {
        let table = list
            .iter()
            .map(|name| profile(name, 1, 1, &[0], 1))
            .collect();
        Model::new("named", Size::new(4, 4), table).unwrap()
    };
    let model = names(&["1g.5gb", "1g.5gb+me", "1g.10gb"]);
    let find = |name: &str| model.find(name).map(|id| id.0);
    assert_eq!(
        (
            find("1g").unwrap(),
            find(" 1G.10GB ").unwrap(),
            find("1g.5gb+me").unwrap()
        ),
        (0, 2, 1)
    );
    for name in ["", "1", "1g.", "1g.5", "g", "11g"] {
        let error = find(name).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("named has no profile `{name}`: expected one of 1g.5gb, 1g.5gb+me, 1g.10gb")
        );
    }
}

#[test]
fn tables_that_make_no_sense_are_refused() {
    let error = |profiles: Vec<Profile>| {
        Model::new("bad", Size::new(4, 4), profiles)
            .unwrap_err()
            .to_string()
    };
    let said = [
        profile("", 1, 1, &[0], 1),
        profile("a b", 1, 1, &[0], 1),
        profile("p", 0, 1, &[0], 1),
        profile("p", 1, 0, &[0], 1),
        profile("p", 5, 1, &[0], 1),
        profile("p", 1, 5, &[0], 1),
        profile("p", 1, 1, &[], 1),
        profile("p", 1, 2, &[0, 3], 1),
        profile("p", 1, 4, &[255], 1),
        profile("p", 1, 1, &[1, 0], 1),
        profile("p", 1, 1, &[1, 1], 1),
        profile("p", 1, 1, &[0], 0),
    ]
    .map(|row| error(vec![row]));
    insta::assert_snapshot!(said.join("\n"), @"
    profile `` of bad: expected a name without spaces
    profile `a b` of bad: expected a name without spaces
    profile `p` of bad: expected at least one compute and one memory slice, and at most those of the device
    profile `p` of bad: expected at least one compute and one memory slice, and at most those of the device
    profile `p` of bad: expected at least one compute and one memory slice, and at most those of the device
    profile `p` of bad: expected at least one compute and one memory slice, and at most those of the device
    profile `p` of bad: expected at least one start, and room on the grid after the last
    profile `p` of bad: expected at least one start, and room on the grid after the last
    profile `p` of bad: expected at least one start, and room on the grid after the last
    profile `p` of bad: expected starts in ascending order
    profile `p` of bad: expected starts in ascending order
    profile `p` of bad: expected that at least one instance may exist
    ");
    let twice = vec![profile("p", 1, 1, &[0], 1), profile("p", 2, 2, &[0], 1)];
    insta::assert_snapshot!(error(twice), @"profile `p` of bad: expected a name of its own");
    let many = (0..17)
        .map(|i| profile(&format!("p{i}"), 1, 1, &[0, 1, 2, 3], 4))
        .collect();
    insta::assert_snapshot!(
        error(many),
        @"bad: more than 64 instances could exist: expected fewer profiles or starts"
    );
    let starts: Vec<u8> = (0..16).collect();
    let wide = ["a", "b"]
        .map(|name| profile(name, 1, 1, &starts, 16))
        .to_vec();
    let text = Model::new("wide", Size::new(4, 16), wide)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(
        text,
        @"wide: more than 65536 layouts are legal: expected fewer profiles or starts"
    );
    let nothing = Model::new("nothing", Size::new(1, 1), Vec::new()).unwrap();
    assert_eq!(
        (nothing.layouts().len(), nothing.fit(&[])),
        (0, Some(nothing.layout(&[]).unwrap()))
    );
}

#[test]
fn sizes_are_read_as_they_are_printed() {
    for size in [Size::new(1, 1), Size::new(7, 8), Size::new(255, 12)] {
        assert_eq!(size.to_string().parse::<Size>().unwrap(), size);
    }
    let said = [
        "", "1g", "1g.", "1m.1g", "0g.1m", "1g.0m", "01g.1m", "+1g.1m", "1g.5gb", "256g.1m",
        " 1g.1m", "1g.1m.1m",
    ]
    .map(|text| text.parse::<Size>().unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    ``: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `1g.`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `1m.1g`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `0g.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `1g.0m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `01g.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `+1g.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `1g.5gb`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `256g.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    ` 1g.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    `1g.1m.1m`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m)
    ");
}
