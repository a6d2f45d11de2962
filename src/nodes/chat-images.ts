// Pictures that chat nodes send: whatever refers to one becomes its bytes as a data: URL, which every provider that takes pictures takes.
// An address on the web is fetched here, with the guarded client: so a provider reaches nothing that the workflow may not reach.
import { NodeError } from '../engine/node-error.ts'
import type { Inputs, NodeContext, NodeFacts, NodeNeed } from '../engine/node-type.ts'
import type { ModelMessage } from '../engine/services.ts'
import { referenceOf } from './asset.ts'
import { loaded } from './holding.ts'

const MOST_IMAGES = 50
/** In bytes. */
const LARGEST_IMAGE = 20_000_000
const MOST_BYTES = 50_000_000
const FETCH_MS = 30_000
const REDIRECTS = 5

/** How pictures begin that models take, in hexadecimal digits. */
const SIGNATURES: readonly (readonly [type: string, begins: RegExp])[] = [
  ['image/png', /^89504e470d0a1a0a/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^47494638(?:37|39)61/],
  ['image/webp', /^52494646.{8}57454250/],
]

type Part = { type: string; image_url?: { url: string } & Record<string, unknown> }

/** The conversation with all of its pictures as data: URLs, those of `images` behind its last words. @throws NodeError */
export async function illustrated(
  messages: ModelMessage[],
  { images = [], prompt }: Inputs,
  context: NodeContext,
): Promise<ModelMessage[]> {
  const given = images as readonly unknown[]
  const loading = new Loading(context)
  const told: ModelMessage[] = []
  for (const message of messages) told.push(await withPictures(message, loading))
  if (given.length === 0) return told
  const parts = []
  for (const image of given) parts.push({ type: 'image_url' as const, image_url: { url: await loading.url(image) } })
  const text = prompt === '' ? [] : [{ type: 'text' as const, text: String(prompt) }]
  if (prompt !== '') told.pop()
  return [...told, { role: 'user', content: [...text, ...parts] }]
}

async function withPictures(message: ModelMessage, loading: Loading): Promise<ModelMessage> {
  if (!hasPictures(message)) return message
  const content: unknown[] = []
  for (const part of message.content as unknown as Part[]) {
    const { image_url } = part
    content.push(image_url ? { ...part, image_url: { ...image_url, url: await loading.url(image_url.url) } } : part)
  }
  return { ...message, content } as ModelMessage
}

export function hasPictures({ content }: Pick<ModelMessage, 'content'>): boolean {
  return Array.isArray(content) && content.some(({ type }) => type === 'image_url')
}

/** The assets among a node's own pictures. */
export function imageNeeds({ data, isConnected }: NodeFacts): NodeNeed[] {
  if (isConnected('images') || !Array.isArray(data.images)) return []
  return data.images.flatMap((image: unknown): NodeNeed[] => {
    const reference = referenceOf(image)
    return reference !== null && isStored(reference) ? [{ kind: 'asset', reference }] : []
  })
}

function isStored(reference: string): boolean {
  return /^(?:asset:\/\/|\/api\/(?:storage|assets\/packages)\/)/.test(reference)
}

/** The pictures of one call, which are bounded together. */
class Loading {
  readonly #context: NodeContext
  #count = 0
  #bytes = 0

  constructor(context: NodeContext) {
    this.#context = context
  }

  async url(image: unknown): Promise<string> {
    if (++this.#count > MOST_IMAGES) throw new NodeError(`There are more than ${MOST_IMAGES} pictures.`, 'too_large')
    const bytes = await this.#load(image)
    if (bytes.length > LARGEST_IMAGE) throw tooLarge(`Picture ${this.#count} has`, LARGEST_IMAGE)
    this.#bytes += bytes.length
    if (this.#bytes > MOST_BYTES) throw tooLarge('All pictures together have', MOST_BYTES)
    const head = Buffer.from(bytes.subarray(0, 16)).toString('hex')
    const type = SIGNATURES.find(([, begins]) => begins.test(head))?.[0]
    if (!type) throw new NodeError(`Picture ${this.#count} is no PNG, JPEG, GIF or WebP.`, 'bad_input')
    return `data:${type};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')}`
  }

  async #load(image: unknown): Promise<Uint8Array> {
    if (image instanceof Uint8Array) return image
    const reference = referenceOf(image)
    if (reference === null) throw this.#unreadable()
    if (isStored(reference)) return (await loaded(reference, LARGEST_IMAGE, this.#context)).bytes
    if (/^https?:/i.test(reference)) return await this.#fetch(reference)
    const [, base64] = /^data:[^,]{0,200};base64,([A-Za-z0-9+/=\s]*)$/.exec(reference) ?? []
    if (base64 === undefined) throw this.#unreadable()
    return Buffer.from(base64, 'base64')
  }

  async #fetch(url: string): Promise<Uint8Array> {
    const { signal, services } = this.#context
    const held = (bytes: number) => this.#context.hold(bytes)
    const limits = { timeout_ms: FETCH_MS, max_bytes: LARGEST_IMAGE, max_redirects: REDIRECTS }
    const nothing = { headers: {}, body: null, secrets: [], secret_body: false }
    const { status, body } = await services.http.send({ method: 'GET', url, ...nothing, ...limits, signal, held })
    if (status === 200) return body
    throw new NodeError(`Picture ${this.#count} could not be fetched: its server answers ${status}.`, 'bad_response')
  }

  #unreadable(): NodeError {
    const text = `Picture ${this.#count} is neither bytes, nor an http, data:, asset:// or /api/storage/ address, nor an object with one as its uri.`
    return new NodeError(text, 'bad_input')
  }
}

function tooLarge(what: string, most: number): NodeError {
  return new NodeError(`${what} more than ${most.toLocaleString('en')} bytes.`, 'too_large')
}
