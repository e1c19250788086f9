//! `fslab serve`.

use crate::cli::ServeArgs;

#[cfg(not(feature = "serve"))]
pub(crate) fn run(_args: &ServeArgs) -> anyhow::Result<u8> {
    let why = "this fslab was built without the server; build it with --features serve, or make the pages with `fslab site DIR`";
    Err(lab::Error::Preflight(why.into()).into())
}

#[cfg(feature = "serve")]
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<u8> {
    use ::site::serve::guard::Token;
    use ::site::serve::{Limits, Options, Server};

    use crate::commands::site::{comparisons, origin};
    use crate::{exit, out};

    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    let has_token = token.is_some();
    let interrupt = lab::Interrupt::on_signals().unwrap_or_default();
    let server = Server::bind(Options {
        listen: args.listen,
        hosts: args.host.clone(),
        token,
        origin: origin(&args.pages)?,
        comparisons: comparisons(&args.pages),
        tool: super::tool(),
        limits: Limits::default(),
    })?;
    out::print(&format!("http://{}/\n", server.address()))?;
    let token = if has_token {
        "; add ?token=TOKEN to the address once"
    } else {
        ""
    };
    out::say(&format!(
        "fslab: serving {} read-only{token}; Ctrl-C ends it",
        out::line(&args.pages.from)
    ));
    server.run(&|| interrupt.is_raised())?;
    Ok(exit::OK)
}
