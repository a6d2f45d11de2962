// The frame of the documentation's pages: the bar that all share, a list of pages at the side, and the content.
import { version } from '../../version.ts'
import { type Html, html } from './html.ts'

/** A link in the list at the side of a page. */
export interface SideLink {
  readonly title: string
  /** The URL, relative to the page. */
  readonly href: string
  readonly current: boolean
}

export interface SideGroup {
  readonly title: string
  readonly links: readonly SideLink[]
}

export interface DocumentationPage {
  readonly title: string
  readonly tab: 'guide' | 'nodes'
  /** The relative URL of `/docs/`, so that the page also works behind a proxy that serves it under a path. */
  readonly docs: string
  readonly side: readonly SideGroup[]
  readonly content: Html
}

const TABS = [
  { name: 'guide', title: 'Guide', path: 'guide' },
  { name: 'nodes', title: 'Nodes', path: 'nodes' },
  { name: 'http', title: 'HTTP', path: '../docs#http' },
  { name: 'sockets', title: 'Sockets', path: '../docs#sockets' },
] as const

/** The text of the page, from `<!doctype html>` on. */
export function renderPage({ title, tab, docs, side, content }: DocumentationPage): string {
  const tabs = TABS.map(
    ({ name, title, path }) => html`<a href="${docs}${path}"${currentMark(name === tab)}>${title}</a>`,
  )
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} · Workflow Execution Service</title>
    <link rel="icon" href="${docs}icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="${docs}page.css">
    <link rel="stylesheet" href="${docs}guide.css">
    <script type="module" src="${docs}guide.js"></script>
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header class="bar">
      <p class="brand">Workflow Execution Service <span class="version">${version}</span></p>
      <nav class="tabs" aria-label="Documentation">${tabs}</nav>
      <search class="search" id="search-box" hidden>
        <label class="hidden-label" for="search">Search node types</label>
        <input type="search" id="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false">
        <output class="matches" id="matches" for="search" aria-live="polite"></output>
      </search>
      <p class="sources"><button type="button" id="theme" aria-label="Colours: as the system">◐</button></p>
    </header>
    <div class="columns">
      <nav class="side" aria-label="Pages">${side.map(renderSideGroup)}</nav>
      <main id="content" class="prose" tabindex="-1">
${content}
      </main>
    </div>
  </body>
</html>
`.text
}

function renderSideGroup({ title, links }: SideGroup): Html {
  const items = links.map(
    ({ title, href, current }) => html`<li><a href="${href}"${currentMark(current)}>${title}</a></li>`,
  )
  return html`<h2>${title}</h2><ul>${items}</ul>`
}

function currentMark(current: boolean): Html {
  return current ? html` aria-current="page"` : html``
}
