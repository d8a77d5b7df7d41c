"""How a certificate's page looks: on a screen, on paper, in black and white."""

from __future__ import annotations

__all__ = ["CSS"]

CSS = """
:root { --ink: #1a1a1a; --muted: #5f6368; --faint: #d9dce0; --wash: #f5f6f7; --accent: #0b4f7d; }
* { box-sizing: border-box; }
html { background: #e9ebee; }
body { margin: 2rem auto; max-width: 53rem; padding: 3.2rem 3.6rem 2.6rem; background: #fff;
  color: var(--ink); font: 16px/1.55 "Source Sans 3", "Segoe UI", "Helvetica Neue", Arial,
  "Liberation Sans", sans-serif; box-shadow: 0 1px 6px rgba(0, 0, 0, .18); }
header { border-bottom: 3px solid var(--ink); padding-bottom: 1.1rem; margin-bottom: 1.4rem; }
.kicker { color: var(--muted); font-size: .82rem; letter-spacing: .09em;
  text-transform: uppercase; margin: 0 0 .3rem; }
h1 { font: 600 2rem/1.2 Georgia, "Liberation Serif", serif; margin: 0 0 .5rem; }
h2 { font: 600 1.28rem/1.3 Georgia, "Liberation Serif", serif; margin: 2.3rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .3rem; }
p { margin: .5rem 0; max-width: 44rem; }
.lead { font-size: 1.08rem; margin-top: 0; }
.quiet { color: var(--muted); font-size: .9rem; }
.seal { display: flex; gap: .9rem; align-items: center; border: 2px solid var(--ink);
  border-radius: 6px; padding: .7rem 1rem; margin: 1.2rem 0; }
.seal b { font-size: 1.7rem; line-height: 1; }
.seal p { margin: 0; max-width: none; }
.seal.failed { background: var(--ink); color: #fff; }
dl { display: grid; grid-template-columns: 9.5rem 1fr; gap: .45rem 1.2rem; margin: .6rem 0; }
dt { color: var(--muted); }
dd { margin: 0; }
table { border-collapse: collapse; width: 100%; margin: .7rem 0; font-size: .93rem;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--muted); font-size: .9rem; padding-bottom: .3rem; }
th { text-align: left; font-weight: 600; vertical-align: bottom; border-bottom: 1.5px solid
  var(--ink); padding: .3rem .7rem .3rem 0; }
td { border-bottom: 1px solid var(--faint); padding: .32rem .7rem .32rem 0;
  vertical-align: top; }
th.n, td.n { text-align: right; }
th:last-child, td:last-child { padding-right: 0; }
th.span { text-align: center; border-bottom: 1px solid var(--muted); }
th.gap, td.gap { padding-left: 1.6rem; }
td .range { color: var(--muted); white-space: nowrap; }
td.strong { font-weight: 600; }
.wide { overflow-x: auto; }
.chain td:first-child { width: 62%; }
.recipe { display: block; color: var(--muted); font-size: .8rem; }
code, .mono { font-family: "SF Mono", Consolas, "Liberation Mono", monospace; font-size: .84em;
  overflow-wrap: anywhere; }
svg.chart { display: block; width: 100%; height: auto; margin: .3rem 0 .2rem; }
svg text { font: 12px "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif;
  fill: var(--ink); }
svg .tick { fill: var(--muted); font-size: 11px; }
svg .grid { stroke: var(--faint); stroke-width: 1; }
svg .axis { stroke: var(--ink); stroke-width: 1.2; }
svg .bar { fill: #b9c3cc; }
svg .interval { stroke: var(--ink); stroke-width: 1.6; fill: none; }
svg .point { fill: var(--accent); stroke: #fff; stroke-width: 1.2; }
svg .before { fill: url(#hatch); stroke: var(--ink); }
svg .this { fill: var(--accent); stroke: var(--ink); }
svg .left { fill: #fff; stroke: var(--ink); }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; font-size: .92rem; margin: .3rem 0; }
.key svg { width: 1rem; height: 1rem; vertical-align: -.15rem; margin-right: .35rem; }
.panels { display: grid; grid-template-columns: 1fr 1fr; gap: .2rem 2rem; }
.checks { list-style: none; padding: 0; margin: .5rem 0; font-size: .95rem; }
.checks li { padding-left: 1.7rem; position: relative; margin: .18rem 0; }
.checks b { position: absolute; left: 0; }
footer { border-top: 1px solid var(--faint); margin-top: 2.4rem; padding-top: .9rem;
  color: var(--muted); font-size: .84rem; }
@media (max-width: 46rem) {
  body { margin: 0; padding: 1.4rem 1.1rem; box-shadow: none; }
  dl, .panels { grid-template-columns: 1fr; }
}
@media print {
  @page { size: A4; margin: 17mm 16mm; }
  html { background: #fff; }
  body { margin: 0; padding: 0; max-width: none; box-shadow: none; font-size: 10.5pt; }
  h2, h3 { break-after: avoid; }
  table, svg, .seal, dl { break-inside: avoid; }
  table.long { break-inside: auto; }
  tr { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
