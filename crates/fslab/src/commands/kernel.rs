//! `fslab kernel`: the kernels that guests run.

mod list;
pub(crate) mod probe;

use guest::boot_probe::{Answer, Prober};
use guest::kernel::{Added, Cache, FetchOptions, Form, Kernel, KernelSpec};

use crate::cli::{DocumentFormat, KernelAddArgs, KernelFetchArgs, KernelListArgs, MirrorArgs};
use crate::{exit, out};

pub(crate) fn list(args: &KernelListArgs) -> anyhow::Result<u8> {
    let cache = Cache::open(args.cache.cache.as_deref())?;
    if args.available {
        let offers = cache.available(&options(&args.mirror), &mut out::say)?;
        out::print(&match args.format {
            DocumentFormat::Text => list::offers_text(&offers),
            DocumentFormat::Json => list::offers_json(&offers)?,
        })?;
        return Ok(exit::OK);
    }
    let (kernels, broken) = (cache.kernels()?, cache.broken()?);
    let prober = Prober::new(&cache);
    let known = |kernel: &Kernel| prober.known(kernel).ok().flatten();
    let answers: Vec<Option<Answer>> = kernels.iter().map(known).collect();
    out::print(&match args.format {
        DocumentFormat::Text => list::kernels_text(cache.root(), &kernels, &answers),
        DocumentFormat::Json => list::kernels_json(cache.root(), &kernels, &answers, &broken)?,
    })?;
    for error in broken {
        out::say(&out::line(&error.to_string()));
    }
    Ok(exit::OK)
}

pub(crate) fn fetch(args: &KernelFetchArgs) -> anyhow::Result<u8> {
    let cache = Cache::open(args.cache.cache.as_deref())?;
    let wanted: Vec<KernelSpec> = args
        .versions
        .iter()
        .map(|version| version.parse())
        .collect::<Result<_, _>>()?;
    for wanted in &wanted {
        let fetched = cache.fetch(wanted, &options(&args.mirror), &mut out::say)?;
        if !fetched.new {
            out::say(&format!("{} is in the cache already", fetched.kernel.name));
        }
        if fetched.kernel.form == Form::Uml {
            out::say(&probe::tried(&cache, &fetched.kernel));
        }
        out::print(&fetched.kernel.name)?;
    }
    Ok(exit::OK)
}

pub(crate) fn add(args: &KernelAddArgs) -> anyhow::Result<u8> {
    let cache = Cache::open(args.cache.cache.as_deref())?;
    let added = Added {
        image: args.kernel.clone(),
        modules: args.modules.clone(),
        config: args.config.clone(),
    };
    let kernel = cache.add(&args.name, &added, &mut out::say)?;
    out::say(&format!(
        "{}: release {}, {} modules kept, {}",
        kernel.name,
        kernel.release,
        kernel.modules(),
        match kernel.config {
            Some(_) => "configuration known",
            None => "no configuration: what cannot be a module is not known of it",
        }
    ));
    out::print(&kernel.name)?;
    Ok(exit::OK)
}

fn options(args: &MirrorArgs) -> FetchOptions {
    FetchOptions {
        mirror: args.mirror.clone(),
        suites: args.suites.clone(),
        keyring: args.keyring.clone(),
    }
}
