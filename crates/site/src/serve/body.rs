//! Bodies of answers: bytes that are there, or pieces as they come.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use tokio::sync::mpsc::Receiver;

/// A body.
#[derive(Debug)]
pub(super) enum Body {
    Full(Option<Bytes>),
    Pieces(Receiver<Bytes>),
}

impl Body {
    pub(super) const fn empty() -> Body {
        Body::Full(None)
    }

    pub(super) fn full(bytes: Bytes) -> Body {
        Body::Full(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |bytes| Ok(Frame::data(bytes));
        match self.get_mut() {
            Body::Full(bytes) => Poll::Ready(bytes.take().map(frame)),
            Body::Pieces(pieces) => pieces.poll_recv(context).map(|piece| piece.map(frame)),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Body::Pieces(_) => SizeHint::default(),
        }
    }
}
