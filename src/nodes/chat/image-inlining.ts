// Turns the pictures of chat nodes into data: URLs, which every provider with vision accepts. The guarded client fetches web URLs here, so
// that a provider reaches nothing that the workflow must not reach.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed } from '../../engine/node-api/node-facts.ts'
import type { ModelMessage } from '../../engine/node-api/services/models.ts'
import { readFileReference } from '../asset-load-node.ts'
import { loadAsset } from '../shared/asset-loader.ts'

const MOST_IMAGES = 50
/** In bytes. */
const LARGEST_IMAGE = 20_000_000
const MOST_BYTES = 50_000_000
/** In pictures that are listed as needs: more than any preflight looks up. */
const MOST_LISTED = 10_001
const FETCH_MS = 30_000
const REDIRECTS = 5

/** First bytes of the picture formats that models accept, in hexadecimal digits. */
const SIGNATURES: readonly (readonly [type: string, begins: RegExp])[] = [
  ['image/png', /^89504e470d0a1a0a/],
  ['image/jpeg', /^ffd8ff/],
  ['image/gif', /^47494638(?:37|39)61/],
  ['image/webp', /^52494646.{8}57454250/],
]

type ImageOrTextPart = { type: string; image_url?: { url: string } & Record<string, unknown> }

/** The conversation with all pictures as data: URLs. Those of `images` follow the last message. @throws NodeError */
export async function inlineImages(
  messages: ModelMessage[],
  { images = [], prompt }: InputValues,
  context: NodeContext,
): Promise<ModelMessage[]> {
  const promptImages = images as readonly unknown[]
  const loader = new ImageLoader(context)
  const inlined: ModelMessage[] = []
  for (const message of messages) inlined.push(await inlineMessageImages(message, loader))
  if (promptImages.length === 0) return inlined
  const parts = []
  for (const image of promptImages)
    parts.push({ type: 'image_url' as const, image_url: { url: await loader.loadDataUrl(image) } })
  const text = prompt === '' ? [] : [{ type: 'text' as const, text: String(prompt) }]
  if (prompt !== '') inlined.pop()
  return [...inlined, { role: 'user', content: [...text, ...parts] }]
}

async function inlineMessageImages(message: ModelMessage, loader: ImageLoader): Promise<ModelMessage> {
  if (!hasImages(message)) return message
  const content: unknown[] = []
  for (const part of message.content as unknown as ImageOrTextPart[]) {
    const { image_url } = part
    content.push(
      image_url ? { ...part, image_url: { ...image_url, url: await loader.loadDataUrl(image_url.url) } } : part,
    )
  }
  return { ...message, content } as ModelMessage
}

export function hasImages({ content }: Pick<ModelMessage, 'content'>): boolean {
  return Array.isArray(content) && content.some(({ type }) => type === 'image_url')
}

/** The assets among the first of a node's own pictures. */
export function listImageNeeds({ data, isConnected }: NodeFacts): NodeNeed[] {
  if (isConnected('images') || !Array.isArray(data.images)) return []
  return data.images.slice(0, MOST_LISTED).flatMap((image: unknown): NodeNeed[] => {
    const reference = readFileReference(image)
    return reference !== null && isStoredReference(reference) ? [{ kind: 'asset', reference }] : []
  })
}

function isStoredReference(reference: string): boolean {
  return /^(?:asset:\/\/|\/api\/(?:storage|assets\/packages)\/)/.test(reference)
}

/** Loads the pictures of one call, which share limits. */
class ImageLoader {
  readonly #context: NodeContext
  #count = 0
  #bytes = 0

  constructor(context: NodeContext) {
    this.#context = context
  }

  async loadDataUrl(image: unknown): Promise<string> {
    if (++this.#count > MOST_IMAGES) throw new NodeError(`There are more than ${MOST_IMAGES} pictures.`, 'too_large')
    const bytes = await this.#load(image)
    if (bytes.length > LARGEST_IMAGE) throw tooLargeError(`Picture ${this.#count} has`, LARGEST_IMAGE)
    this.#bytes += bytes.length
    if (this.#bytes > MOST_BYTES) throw tooLargeError('All pictures together have', MOST_BYTES)
    const head = Buffer.from(bytes.subarray(0, 16)).toString('hex')
    const type = SIGNATURES.find(([, begins]) => begins.test(head))?.[0]
    if (!type) throw new NodeError(`Picture ${this.#count} is not a PNG, JPEG, GIF or WebP.`, 'bad_input')
    return `data:${type};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')}`
  }

  async #load(image: unknown): Promise<Uint8Array> {
    if (image instanceof Uint8Array) return image
    const reference = readFileReference(image)
    if (reference === null) throw this.#unreadableError()
    if (isStoredReference(reference)) return (await loadAsset(reference, LARGEST_IMAGE, this.#context)).bytes
    if (/^https?:/i.test(reference)) return await this.#fetch(reference)
    const [, base64] = /^data:[^,]{0,200};base64,([A-Za-z0-9+/=\s]*)$/.exec(reference) ?? []
    if (base64 === undefined) throw this.#unreadableError()
    return Buffer.from(base64, 'base64')
  }

  async #fetch(url: string): Promise<Uint8Array> {
    const { signal, services } = this.#context
    const held = (bytes: number) => this.#context.hold(bytes)
    const limits = { timeout_ms: FETCH_MS, max_bytes: LARGEST_IMAGE, max_redirects: REDIRECTS }
    const nothing = { headers: {}, body: null, secrets: [], secret_body: false }
    const { status, body } = await services.http.send({
      method: 'GET',
      url,
      ...nothing,
      ...limits,
      signal,
      onBytesHeld: held,
    })
    if (status === 200) return body
    throw new NodeError(
      `Picture ${this.#count} could not be fetched: its server responded with status ${status}.`,
      'bad_response',
    )
  }

  #unreadableError(): NodeError {
    const text = `Picture ${this.#count} is neither bytes, nor an http, data:, asset:// or /api/storage/ URL, nor an object with such a URL as its uri.`
    return new NodeError(text, 'bad_input')
  }
}

function tooLargeError(what: string, most: number): NodeError {
  return new NodeError(`${what} more than ${most.toLocaleString('en')} bytes.`, 'too_large')
}
