// Reads a paginated list: finds the next page, and yields the items of each page.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { OutgoingRequest } from '../../engine/node-api/services/outgoing-http.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { validateUrlLength } from '../../net/outgoing/url-length.ts'
import { abbreviate } from '../shared/value-limits.ts'
import { parsePathTexts, readAtPath } from '../shared/value-operations.ts'
import { findLink } from './link-header.ts'
import { buildRequest, type RequestInputs, sendWithRetries } from './request.ts'
import { guardSuccessStatus, type ReceivedResponse } from './response.ts'

export interface PaginationInputs extends RequestInputs {
  mode: PaginationMode
  cursor_path: string
  cursor_parameter: string
  page_parameter: string
  items_path: string
  max_pages: number
}

interface FetchedPage {
  readonly inputs: PaginationInputs
  readonly url: URL
  readonly answer: ReceivedResponse
  readonly content: unknown
  readonly items: readonly unknown[]
}

function badPageError(text: string): NodeError {
  return new NodeError(text, 'bad_page')
}

/** @throws NodeError `bad_url` if the URL would be too long. The check runs before the URL is built. */
function setParameter(url: URL, name: string, value: string): string {
  validateUrlLength(`${name}=${value}`)
  const next = new URL(url)
  next.searchParams.set(name, value)
  return next.href
}

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text)
}

function nextByCursor({ inputs, url, content }: FetchedPage): string | null {
  const cursor = readAtPath(content, parsePathTexts(inputs.cursor_path))
  if (cursor === undefined || cursor === null || cursor === '' || cursor === false) return null
  if (typeof cursor !== 'string' && typeof cursor !== 'number') {
    throw badPageError(
      `The value at "${abbreviate(inputs.cursor_path)}" is ${getValueKind(cursor)}, which is not a cursor. Check cursor_path.`,
    )
  }
  const text = String(cursor)
  return isUrl(text) ? text : setParameter(url, inputs.cursor_parameter, text)
}

/** The page number in a URL's parameter, or `start` if there is none. */
function readPageNumber(url: URL, name: string, start: number): number {
  const text = url.searchParams.get(name) ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : start
}

function nextByNumber(page: FetchedPage, name: string, start: number, step: number): string | null {
  if (page.items.length === 0) return null
  return setParameter(page.url, name, String(readPageNumber(page.url, name, start) + step))
}

/** Finds the URL of the next page, or null after the last page. */
const NEXT_PAGE_FINDERS = {
  link: ({ url, answer }: FetchedPage) => {
    const target = findLink(answer.response.headers.link ?? '', 'next')
    return target === null ? null : (URL.parse(target, url.href)?.href ?? null)
  },
  cursor: nextByCursor,
  page: (page: FetchedPage) => nextByNumber(page, page.inputs.page_parameter || 'page', 1, 1),
  offset: (page: FetchedPage) => nextByNumber(page, page.inputs.page_parameter || 'offset', 0, page.items.length),
}

export type PaginationMode = keyof typeof NEXT_PAGE_FINDERS

export const PAGINATION_MODES = Object.keys(NEXT_PAGE_FINDERS) as PaginationMode[]

function readPageItems(content: unknown, path: string): readonly unknown[] {
  const items = readAtPath(content, parsePathTexts(path))
  if (Array.isArray(items)) return items
  const where = path === '' ? 'The answer' : `The value at "${abbreviate(path)}" in the answer`
  throw badPageError(`${where} is ${getValueKind(items)}, not a list of items. Check items_path.`)
}

/**
 * The request for the next page. Headers and body are sent again only to the server of the first URL, not to another server, even if a
 * redirect led there.
 */
function buildNextRequest(page: FetchedPage, first: OutgoingRequest, seen: Set<string>): OutgoingRequest | null {
  const next = NEXT_PAGE_FINDERS[page.inputs.mode](page)
  if (next === null) return null
  validateUrlLength(next)
  const url = new URL(next)
  url.hash = ''
  if (url.origin !== new URL(first.url).origin) {
    const cure = 'If a redirect leads there, use the final URL; else request that page with another node.'
    throw badPageError(`The next page is on another server than the one in the URL. ${cure}`)
  }
  if (seen.has(url.href)) throw badPageError('The next page was already read, so the pages would repeat forever.')
  seen.add(url.href)
  return { ...first, url: url.href }
}

/**
 * Yields the items page by page. A page is requested once the items of the page before were taken. `read` parses the JSON of a response.
 */
export async function* fetchPages(
  inputs: PaginationInputs,
  context: NodeContext,
  read: (answer: ReceivedResponse) => Promise<unknown>,
): AsyncGenerator<OutputValues> {
  const first = await buildRequest(inputs, context)
  let request: OutgoingRequest | null = first
  const seen = new Set<string>()
  for (let number = 1; request !== null; number++) {
    if (number > inputs.max_pages) {
      context.log('warning', `Stopped after ${inputs.max_pages} pages, the most that max_pages allows. There are more.`)
      return
    }
    const answer = await sendWithRetries(request, inputs, context)
    await guardSuccessStatus(answer, context)
    const content = await read(answer)
    const items = readPageItems(content, inputs.items_path)
    for (const item of items) yield { item, page: number }
    // Numbers continue from the requested URL, links from the URL that responded.
    const url = URL.parse(inputs.mode === 'link' ? answer.response.url : request.url)!
    if (number === 1) seen.add(url.href)
    request = buildNextRequest({ inputs, url, answer, content, items }, first, seen)
  }
}
