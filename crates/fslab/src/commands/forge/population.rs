//! What the options say of the population.

use ::forge::Error;
use ::forge::population::{Distribution, Profile};

use crate::cli::PopulationArgs;
use crate::out;

/// Longest profile, in bytes: a distribution of 10,000 sizes fits.
const LONGEST_PROFILE: u64 = 1 << 20;

/// The profile from the file, if one is given, else the preset, with the options on top.
pub(super) fn profile(args: &PopulationArgs, preset: Option<Profile>) -> Result<Profile, Error> {
    let mut profile = match &args.profile {
        None => preset.unwrap_or_default(),
        Some(path) => {
            let name = out::path(path);
            let text = input::text(path, LONGEST_PROFILE).map_err(|error| {
                Error::Option(format!(
                    "{name}: {error}; give a profile as docs/forge.md describes it"
                ))
            })?;
            Profile::parse(&name, &text)?
        }
    };
    if let Some(files) = args.files {
        profile.files = files;
    }
    if let Some(number) = args.per_directory {
        profile.per_directory = Distribution::fixed(number);
    }
    if let Some(size) = args.file_size {
        profile.file_size = Distribution::fixed(size);
    }
    if let Some(seed) = args.seed {
        profile.seed = seed;
    }
    profile.contents |= args.contents;
    Ok(profile)
}

/// A size that must fit 32 bits.
pub(super) fn small(what: &str, bytes: Option<u64>) -> Result<Option<u32>, Error> {
    let too_large = |bytes| {
        Error::Option(format!(
            "{what}: {bytes} bytes are more than any filesystem of the family takes"
        ))
    };
    bytes
        .map(|bytes| u32::try_from(bytes).map_err(|_| too_large(bytes)))
        .transpose()
}
