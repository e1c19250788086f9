//! A question of growth as a section: what was measured at each size, the law, and its projections.

use crate::doc::{Block, Cell, Column, Drawing, Item, Plot, Row, Section, Sheet};
use crate::growth::{
    Curve, Growth, LAWS, Projection, PublishedPoint, amount, brief, engineering, interval, reach,
    sentences, tested,
};
use crate::model::ADVISED;
use crate::numbers::{range, short};

/// The section, the `number`th of its kind.
pub(crate) fn section(number: usize, growth: &Growth) -> Section<'_> {
    let mut section = Section::new(format!("growth-{number}"), &growth.title);
    section.blocks.push(Block::Para(growth.about()));
    for curve in &growth.curves {
        section.blocks.push(Block::Heading(curve.name()));
        section.blocks.push(of_curve(growth, curve));
    }
    let level = 100.0 * growth.level;
    section
        .blocks
        .push(Block::Para(format!("{level:.0} % intervals; {LAWS}")));
    section
}

fn of_curve<'a>(growth: &'a Growth, curve: &'a Curve) -> Block<'a> {
    let items = tested(curve).into_iter().chain(sentences(growth, curve));
    let items: Vec<Item> = items.map(Item::from).collect();
    let mut blocks = vec![Block::Table(measured(growth, curve))];
    if !items.is_empty() {
        blocks.push(Block::List(items));
    }
    if !curve.projections.is_empty() {
        blocks.push(Block::Table(projections(growth, curve)));
    }
    let published = curve.published.iter();
    blocks.extend(published.map(|point| Block::Published(point.sentence())));
    let plot = Plot {
        label: String::new(),
        unit: String::new(),
        clock: "",
        few: String::new(),
        reach: 0.0,
        drawing: Drawing::Law(growth, curve),
    };
    Block::Beside(plot, blocks)
}

fn measured(growth: &Growth, curve: &Curve) -> Sheet {
    let columns = [
        Column::figures("n"),
        Column::figures("median").unit(&growth.unit),
        Column::words("interval"),
        Column::words(""),
    ];
    let rows = curve.sizes.iter().map(|size| {
        let x = Cell::from(amount(size.x));
        let Some(summary) = &size.figure.summary else {
            let signs = size.figure.signs();
            return Row::new([x, "0".into(), Cell::from("-").signs(signs)]);
        };
        let interval = summary.median_interval.as_ref();
        let interval = interval.map_or(String::new(), |i| range(i.low, i.high, short));
        let few = if summary.n < ADVISED { "n<5" } else { "" };
        Row::new([
            x,
            summary.n.to_string().into(),
            Cell::from(short(summary.median)).signs(size.figure.signs()),
            interval.into(),
            few.into(),
        ])
    });
    let about = format!("{}: measured", curve.name());
    let mut sheet = Sheet::new(about, &growth.x_unit, columns).rows(rows);
    sheet.columns[0].words = false;
    sheet
}

/// The word is in every row; a published time is below it, as it is no projection.
fn projections(growth: &Growth, curve: &Curve) -> Sheet {
    let laws = curve.reported().iter();
    let laws = laws.map(|fit| Column::figures(brief(fit.law)).unit(&growth.unit));
    let columns = std::iter::once(Column::figures("x largest")).chain(laws);
    let row = |projection: &Projection| {
        let laws = projection.laws.iter();
        let laws = laws.map(|(_, estimate)| interval(estimate, engineering));
        let first = [
            format!("projection {}", amount(projection.x)),
            reach(projection),
        ];
        let published = projection.published.iter();
        let published: Vec<String> = published.map(PublishedPoint::sentence).collect();
        Row {
            below: published.join("; "),
            ..Row::texts(first.into_iter().chain(laws))
        }
    };
    let about = format!("{}: projections", curve.name());
    let label = format!("projection, {}", growth.x_unit);
    let rows = curve.projections.iter().map(row);
    Sheet::new(about, label, columns).rows(rows).class("far")
}
