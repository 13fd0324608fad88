//! A configuration file together with how it is read, to be read again and again.

use super::fault::LoadError;
use super::reading::Reading;
use super::secret::Resolver;
use super::{Loaded, load_with};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a configuration comes from. Cheap to clone.
#[derive(Clone)]
pub struct ConfigFile {
    path: PathBuf,
    reading: Reading,
    resolver: Arc<dyn Resolver + Send + Sync>,
}

impl ConfigFile {
    /// The file at `path`, read as `reading` says; `resolver` is asked for what it refers to, each time.
    pub fn new(
        path: impl Into<PathBuf>,
        reading: Reading,
        resolver: impl Resolver + Send + Sync + 'static,
    ) -> Self {
        Self { path: path.into(), reading, resolver: Arc::new(resolver) }
    }

    /// Its path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads and validates it.
    ///
    /// # Errors
    /// As for [`load`](super::load).
    pub fn load(&self) -> Result<Loaded, LoadError> {
        load_with(&self.path, self.reading, self.resolver.as_ref())
    }
}

impl fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigFile")
            .field("path", &self.path)
            .field("reading", &self.reading)
            .finish_non_exhaustive()
    }
}
