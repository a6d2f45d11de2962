// The pages of the guide, which is Markdown in spec/guide. Its README.md is the first page, and lists the others in groups.
import { readFile } from 'node:fs/promises'
import { html } from './html.ts'
import { type RenderedMarkdown, renderMarkdown } from './markdown.ts'
import { renderPage, type SideGroup } from './page-layout.ts'

const FOLDER = new URL('../../../spec/guide/', import.meta.url)
const INDEX = 'README'

/** How documents name a server that runs on the reader's machine. Links to it lead to this server. */
const LOCAL_SERVER = 'http://127.0.0.1:7777/'

interface GuideGroup {
  readonly title: string
  readonly pages: readonly { readonly name: string; readonly title: string }[]
}

/** Rendered pages by name. There are as many as files. */
const renderedPages = new Map<string, Promise<string>>()

/** The page that lists the others. Its URL is `/docs/guide`. */
export function renderGuideIndex(): Promise<string> {
  return remember(INDEX, () => renderGuidePage(INDEX, 'guide/', './'))
}

/** A page by its name, such as `models`, or null if there is none. Its URL is `/docs/guide/{name}`. */
export async function findGuidePage(name: string): Promise<string | null> {
  const known = name === INDEX ? undefined : renderedPages.get(name)
  if (known) return known
  const groups = listGuidePages(await readSource(INDEX))
  const isListed = groups.some(({ pages }) => pages.some((page) => page.name === name))
  return isListed ? remember(name, () => renderGuidePage(name, '', '../')) : null
}

/** The groups of pages that the first page lists. */
export function listGuidePages(index: string): GuideGroup[] {
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.split('\n', 1)[0]!,
      pages: [...section.matchAll(/^- \[([^\]]+)\]\(([a-z-]+)\.md\)/gm)].map(([, title, name]) => ({
        name: name!,
        title: title!,
      })),
    }))
}

function remember(name: string, render: () => Promise<string>): Promise<string> {
  const known = renderedPages.get(name)
  if (known) return known
  const page = render()
  renderedPages.set(name, page)
  page.catch(() => renderedPages.delete(name))
  return page
}

/** `pages` and `docs` are the relative URLs of the guide's pages and of `/docs/`. */
async function renderGuidePage(name: string, pages: string, docs: string): Promise<string> {
  const [index, source] = await Promise.all([readSource(INDEX), readSource(name)])
  const { title, headings, content } = renderMarkdown(source, (target) => resolveGuideLink(target, pages, docs))
  return renderPage({
    title,
    tab: 'guide',
    docs,
    side: listGuidePages(index).map((group) => createSideGroup(group, name, pages)),
    content: name === INDEX ? content : html`${renderContents(headings)}${content}`,
  })
}

function createSideGroup(group: GuideGroup, current: string, pages: string): SideGroup {
  const links = group.pages.map(({ name, title }) => ({ title, href: `${pages}${name}`, current: name === current }))
  return { title: group.title, links }
}

function renderContents(headings: RenderedMarkdown['headings']) {
  if (headings.length < 2) return html``
  const items = headings.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)
  return html`<nav class="contents" aria-label="On this page"><ul>${items}</ul></nav>`
}

function resolveGuideLink(target: string, pages: string, docs: string): string | null {
  if (target.startsWith('#')) return target
  if (target.startsWith(LOCAL_SERVER)) return `${docs}../${target.slice(LOCAL_SERVER.length)}`
  const page = /^([a-z-]+)\.md(#.*)?$/.exec(target)
  if (page) return `${pages}${page[1]}${page[2] ?? ''}`
  return target.startsWith('https://') ? target : null
}

function readSource(name: string): Promise<string> {
  return readFile(new URL(`${name}.md`, FOLDER), 'utf8')
}
