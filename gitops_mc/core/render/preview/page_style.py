"""The sheet of the page. Colours are pairs that can be told apart by contrast alone; each has a word beside it."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --ground: #ffffff; --raised: #f5f7f9; --line: #d0d7de;
  --good: #116329; --bad: #a40e26; --warn: #7a4b00; --git: #0a58b5; --live: #6b3fa0; --added: #e3f6e8; --removed: #fde8e9;
  --likely: #2f6fc2; --late: #a9c8ef; --soak: #c9a227; --shut: #b8bfc6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a4adb7; --ground: #14181c; --raised: #1e242a;
  --line: #39424b; --good: #6fce86; --bad: #ff8b92; --warn: #e8b44c; --git: #7db5f5; --live: #c3a1f0; --added: #12351f;
  --removed: #431c21; --likely: #6ea8ee; --late: #2d4a6e; --soak: #b48f1e; --shut: #59636d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
header, main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
header { border-top: .4rem solid var(--state); }
.ok { --state: var(--good); } .problems { --state: var(--bad); } .unknown { --state: var(--warn); }
.state { margin: 0; color: var(--state); font-weight: 700; text-transform: uppercase; letter-spacing: .05em; font-size: .85rem; }
h1 { margin: .2rem 0 .6rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 0; font-size: 1.2rem; }
.basis, .read { margin: .1rem 0 .6rem; color: var(--soft); font-size: .9rem; }
.basis b { color: var(--part); }
section { margin: 1.5rem 0; padding: .2rem 0 .2rem 1rem; border-left: .25rem solid var(--part); }
.git { --part: var(--git); } .merged, .already, .under-way { --part: var(--live); } .foot { --part: var(--line); }
ul { margin: .4rem 0; padding-left: 1.3rem; }
p { margin: .6rem 0; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; font-size: .88em; }
code { background: var(--raised); border-radius: .2rem; padding: 0 .25em; }
pre { margin: .5rem 0; padding: .6rem; overflow-x: auto; background: var(--raised); border: 1px solid var(--line);
  border-radius: .3rem; line-height: 1.35; overflow-wrap: normal; }
pre code { padding: 0; background: none; }
pre span { display: block; min-height: 1.35em; }
.added { background: var(--added); } .removed { background: var(--removed); } .place { color: var(--soft); }
table { width: 100%; border-collapse: collapse; margin: .6rem 0; font-size: .95rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
td { min-width: 5.2rem; }
th { color: var(--soft); font-weight: 600; }
details { margin: .6rem 0; border: 1px solid var(--line); border-radius: .3rem; padding: 0 .7rem; }
summary { cursor: pointer; padding: .4rem 0; font-weight: 600; }
.bars { display: grid; grid-template-columns: minmax(8rem, 16rem) 1fr minmax(8rem, 18rem); gap: .25rem .8rem; align-items: center;
  font-size: .9rem; margin: .6rem 0; }
.bars svg { width: 100%; height: 1rem; background: var(--raised); border-radius: .2rem; display: block; }
.inner { padding-left: 1.2rem; }
.likely { fill: var(--likely); } .late { fill: var(--late); } .soak { fill: var(--soak); } .shut { fill: var(--shut); }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .85rem; color: var(--soft); }
.key svg { width: 1.4rem; height: .8rem; margin-right: .4rem; }
@media (max-width: 40rem) {
  h1 { font-size: 1.25rem; } section { padding-left: .7rem; }
  table, tbody, tr, td { display: block; } thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  tr { border: 1px solid var(--line); border-radius: .3rem; margin: .5rem 0; padding: .2rem .6rem; }
  td { border: 0; padding: .15rem 0; } td:empty { display: none; }
  td[data-head]:not([data-head=""])::before { content: attr(data-head) ": "; color: var(--soft); font-weight: 600; }
  .bars { grid-template-columns: 1fr; gap: .1rem; } .bars .told { margin-bottom: .5rem; color: var(--soft); }
}
@media print { section, details, pre, tr { break-inside: avoid; } details::details-content { content-visibility: visible; height: auto; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; } }
"""
