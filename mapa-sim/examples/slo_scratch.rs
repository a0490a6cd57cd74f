#![allow(missing_docs)]
use mapa_sched::slo::{Config, Levers, Settings, replay::ReplaySettings};
use mapa_sim::slo::*;
use mapa_sim::mean_interval;
use std::time::Instant;
fn show(name:&str, ts:&[Totals], base:Option<&[Totals]>){
  let m=|f:&dyn Fn(&Totals)->f64|{let v:Vec<f64>=ts.iter().map(|t|f(t)).collect(); let i=mean_interval(&v); (i.mean,(i.high-i.low)/2.0)};
  let a=m(&|t|t.miss_percent()); let p=m(&|t|t.percentile(99.0)); let f=m(&|t|t.fail_percent());
  let thr = base.map(|b| ts.iter().zip(b).map(|(t,b)|t.answered_count() as f64/b.answered_count() as f64).sum::<f64>()/ts.len() as f64).unwrap_or(1.0);
  println!("{name:22} miss {:.2}±{:.2} p99 {:.2}±{:.2} fail {:.2}±{:.2} thr {:.3} rel/h {:.2} rb/h {:.2} throt {:.1} thr% {:.1} slices {:.2}", a.0,a.1,p.0,p.1,f.0,f.1,thr, m(&|t|t.relaunches_per_hour()).0, m(&|t|t.relaunched_at.iter().filter(|r|r.1).count() as f64*3600.0/t.seconds).0, m(&|t|t.throttles as f64*3600.0/t.seconds).0, m(&|t|100.0*t.throttled_seconds/t.seconds).0, m(&|t|t.slices()).0);
}
fn main(){
  let n:u64=std::env::args().nth(1).unwrap().parse().unwrap();
  let f0=Scenario::table_3();
  let which=std::env::args().nth(2).unwrap_or("f0".into());
  let sc=match &which[..]{"f1"=>Scenario::reachable(),"f2"=>Scenario::bursts(),_=>f0};
  let t0=Instant::now();
  let traces:Vec<Trace>=(0..n).map(|s|Trace::draw(&sc,90000+s).unwrap()).collect();
  println!("draw {:?}",t0.elapsed());
  let runs=|cond:Conditions,mk:&dyn Fn(u64)->Box<dyn Control>|->Vec<Totals>{ traces.iter().enumerate().map(|(s,t)|{let seed=90000+s as u64; let mut c=mk(seed); run(&sc,t,seed,cond,&mut *c).unwrap()}).collect()};
  let start=Config::at(0);
  let fixed=runs(Conditions::default(),&|_|Box::new(Fixed));
  show("static",&fixed,Some(&fixed));
  let t4=Config{profile:2,..start};
  for (name,l) in [("guards",Levers::GUARDS),("placement",Levers::PLACEMENT),("mig",Levers::MIG),("full",Levers::ALL)]{
    let t=Instant::now();
    let s=sc.settings(l).unwrap();
    let r=runs(Conditions::default(),&|_|Box::new(Paper::new(s.clone(),start)));
    show(name,&r,Some(&fixed)); eprintln!("{:?}",t.elapsed());
  }
  let s=Settings{judge_throttle_afresh:true,..sc.settings(Levers::ALL).unwrap()};
  show("full afresh",&runs(Conditions::default(),&|_|Box::new(Paper::new(s.clone(),start))),Some(&fixed));
  let s=Settings{warm_handover:true,..sc.settings(Levers::ALL).unwrap()};
  show("full warm",&runs(Conditions::default(),&|_|Box::new(Paper::new(s.clone(),start))),Some(&fixed));
  let s=sc.settings(Levers{relax:false,..Levers::ALL}).unwrap();
  show("full norelax",&runs(Conditions::default(),&|_|Box::new(Paper::new(s.clone(),start))),Some(&fixed));
  show("static 4g",&runs(Conditions{start:t4,..Default::default()},&|_|Box::new(Fixed)),Some(&fixed));
  show("admission 2g",&runs(Conditions{admission:true,..Default::default()},&|_|Box::new(Fixed)),Some(&fixed));
  show("clairvoyant 4g",&runs(Conditions{start:t4,free_moves:true,..Default::default()},&|_|Box::new(Fixed)),Some(&fixed));
  let rs=|ff,warm,lasting:f64|{let mut s=ReplaySettings::new(sc.settings(Levers::ALL).unwrap()).unwrap(); s.feed_forward=ff; s.base.warm_handover=warm; s.lasting_s=lasting; s};
  for (name,ff,warm) in [("replay",false,false),("replay+ff",true,false),("replay+ff+warm",true,true)]{
    let t=Instant::now();
    let s=rs(ff,warm,60.0);
    show(name,&runs(Conditions::default(),&|_|Box::new(Replay::new(s.clone(),start))),Some(&fixed)); eprintln!("{:?}",t.elapsed());
  }
  for k in [0.0,1.0,2.0]{ for warm in [false,true]{
    let s=rs(true,warm,60.0);
    show(&format!("live x{k} warm {warm}"),&runs(Conditions::default(),&|seed|Box::new(Live::new(s.clone(),start,Noise::USUAL.times(k),seed))),Some(&fixed));
  }}
}
