//! The blocks of an object: where they are is the plan's, what they hold the population's.

use super::sink::Sink;
use crate::Error;
use crate::ext4::layout::Layout;
use crate::ext4::place::Mapping;
use crate::ext4::plan::{Home, ObjectId, Objects};
use crate::image_file::ImageFile;

/// Lets the population write an object's blocks; `whole` when it must write all of them.
#[allow(clippy::too_many_arguments)] // an object, its surroundings, and where its bytes go
pub(super) fn write_content(
    layout: &Layout,
    population: &dyn Objects,
    id: ObjectId,
    home: &Home<'_>,
    image: &ImageFile,
    mapping: &Mapping,
    whole: bool,
    buffer: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut sink = Sink::new(image, layout.geometry.block_size, &mapping.data, buffer);
    population.content(id, home, &mut sink)?;
    let written = sink.finish()?;
    let blocks: u64 = mapping.data.iter().map(|run| u64::from(run.len)).sum();
    if whole && written != blocks {
        return Err(Error::Population(format!(
            "directory {}: {written} of its {blocks} blocks were written",
            id.directory
        )));
    }
    Ok(())
}
