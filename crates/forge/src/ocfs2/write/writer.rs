//! What a thread that writes groups keeps.

use std::collections::HashMap;
use std::sync::Arc;

use super::Shared;
use crate::Error;
use crate::ocfs2::directory::Shape;
use crate::ocfs2::plan::Extent;
use crate::population::Recipe;

/// What is given out next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    /// The next address of data.
    pub(super) data: u64,
    /// The next extent block.
    pub(super) extent: u32,
}

/// Bytes of grown directories that a thread keeps.
const KEPT: usize = 16 << 20;

/// A thread's buffers.
pub(in crate::ocfs2) struct Writer<'a> {
    pub(super) shared: Shared<'a>,
    /// The blocks of a group.
    pub(super) buffer: Vec<u8>,
    pub(super) extents: Vec<Extent>,
    shapes: HashMap<Recipe, Arc<Shape>>,
    kept: usize,
}

impl<'a> Writer<'a> {
    pub(in crate::ocfs2) fn new(shared: Shared<'a>) -> Self {
        Self {
            shared,
            buffer: Vec::new(),
            extents: Vec::new(),
            shapes: HashMap::new(),
            kept: 0,
        }
    }

    /// A directory grown again, or one like it.
    pub(super) fn shape(&mut self, directory: u32) -> Result<Arc<Shape>, Error> {
        let contents = self.shared.contents;
        let slots = contents.population.slots(directory);
        let history = contents.population.history(directory, &slots);
        if let Some(shape) = self.shapes.get(&history.recipe) {
            return Ok(Arc::clone(shape));
        }
        let shape = Arc::new(contents.shape_of(&slots, &history)?);
        if contents.population.profile().names.sets > 0 && shape.memory() <= KEPT {
            if self.kept + shape.memory() > KEPT {
                self.shapes.clear();
                self.kept = 0;
            }
            self.kept += shape.memory();
            self.shapes.insert(history.recipe, Arc::clone(&shape));
        }
        Ok(shape)
    }
}
