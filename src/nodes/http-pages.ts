// The pages of a list that a server gives piece by piece: where the next one is, and the items of each.
import { NodeError } from '../engine/node-error.ts'
import type { NodeContext, Outputs } from '../engine/node-type.ts'
import type { OutgoingRequest } from '../engine/services.ts'
import { kindOf } from '../engine/values.ts'
import { guardUrl } from '../net/url-length.ts'
import { type Answer, guardStatus } from './http-answer.ts'
import { outgoing, type RequestInputs, sent } from './http-send.ts'
import { shown } from './limits.ts'
import { linkTo } from './link-header.ts'
import { follow, pathParts } from './values.ts'

export interface PagesInputs extends RequestInputs {
  mode: Mode
  cursor_path: string
  cursor_parameter: string
  page_parameter: string
  items_path: string
  max_pages: number
}

interface Page {
  readonly inputs: PagesInputs
  readonly url: URL
  readonly answer: Answer
  readonly content: unknown
  readonly items: readonly unknown[]
}

function bad(text: string): NodeError {
  return new NodeError(text, 'bad_page')
}

/** @throws NodeError `bad_url` where the URL would be too long, before anybody writes it */
function withParameter(url: URL, name: string, value: string): string {
  guardUrl(`${name}=${value}`)
  const next = new URL(url)
  next.searchParams.set(name, value)
  return next.href
}

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text)
}

function nextByCursor({ inputs, url, content }: Page): string | null {
  const cursor = follow(content, pathParts(inputs.cursor_path))
  if (cursor === undefined || cursor === null || cursor === '' || cursor === false) return null
  if (typeof cursor !== 'string' && typeof cursor !== 'number') {
    throw bad(`What is at "${shown(inputs.cursor_path)}" is ${kindOf(cursor)}, and no cursor. Check cursor_path.`)
  }
  const text = String(cursor)
  return isUrl(text) ? text : withParameter(url, inputs.cursor_parameter, text)
}

/** The number that a URL's parameter has; `start` where it has none. */
function numberIn(url: URL, name: string, start: number): number {
  const text = url.searchParams.get(name) ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : start
}

function nextByNumber(page: Page, name: string, start: number, step: number): string | null {
  if (page.items.length === 0) return null
  return withParameter(page.url, name, String(numberIn(page.url, name, start) + step))
}

/** Where the next page is, or null after the last one. */
const NEXT = {
  link: ({ url, answer }: Page) => {
    const target = linkTo(answer.response.headers.link ?? '', 'next')
    return target === null ? null : (URL.parse(target, url.href)?.href ?? null)
  },
  cursor: nextByCursor,
  page: (page: Page) => nextByNumber(page, page.inputs.page_parameter || 'page', 1, 1),
  offset: (page: Page) => nextByNumber(page, page.inputs.page_parameter || 'offset', 0, page.items.length),
}

export type Mode = keyof typeof NEXT

export const MODES = Object.keys(NEXT) as Mode[]

function itemsOf(content: unknown, path: string): readonly unknown[] {
  const items = follow(content, pathParts(path))
  if (Array.isArray(items)) return items
  const where = path === '' ? 'The answer' : `What the answer has at "${shown(path)}"`
  throw bad(`${where} is ${kindOf(items)}, and no list of items. Check items_path.`)
}

/**
 * The request for the next page. What was written for one server is not sent to another, not even to one that a redirect
 * of the first led to: what it names as its next page gets the headers and the body again.
 */
function requestFor(page: Page, first: OutgoingRequest, seen: Set<string>): OutgoingRequest | null {
  const next = NEXT[page.inputs.mode](page)
  if (next === null) return null
  guardUrl(next)
  const url = new URL(next)
  url.hash = ''
  if (url.origin !== new URL(first.url).origin) {
    const cure = 'Where a redirect leads to it, use its final URL; else ask for it in a request of its own.'
    throw bad(`The next page is on another server than the one in the URL. ${cure}`)
  }
  if (seen.has(url.href)) throw bad('The next page is one that was there before: the pages go round in a circle.')
  seen.add(url.href)
  return { ...first, url: url.href }
}

/** Yields the items page by page. A page is asked for when the items of the one before have been taken; `read` gives the JSON of an answer. */
export async function* pages(
  inputs: PagesInputs,
  context: NodeContext,
  read: (answer: Answer) => Promise<unknown>,
): AsyncGenerator<Outputs> {
  const first = await outgoing(inputs, context)
  let request: OutgoingRequest | null = first
  const seen = new Set<string>()
  for (let number = 1; request !== null; number++) {
    if (number > inputs.max_pages) {
      context.log('warning', `Stopped after ${inputs.max_pages} pages, the most that max_pages allows. There are more.`)
      return
    }
    const answer = await sent(request, inputs, context)
    await guardStatus(answer, context)
    const content = await read(answer)
    const items = itemsOf(content, inputs.items_path)
    for (const item of items) yield { item, page: number }
    // Numbers are counted on from the URL that was asked, links from the one that answered.
    const url = URL.parse(inputs.mode === 'link' ? answer.response.url : request.url)!
    if (number === 1) seen.add(url.href)
    request = requestFor({ inputs, url, answer, content, items }, first, seen)
  }
}
