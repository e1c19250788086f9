//! compilebench: the life of source trees.
