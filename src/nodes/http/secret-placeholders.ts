// Finds `{{secret:NAME}}` in requests, reads the secrets by name, and inserts them just before sending.

import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { validateUrlLength } from '../../net/outgoing/url-length.ts'
import { isSecretName } from '../../shared/secret-name.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { guardTextLength } from '../shared/value-limits.ts'

/** Also matches names that no secret can have, so that they cause an error and are not sent. */
const PLACEHOLDER = /\{\{ {0,4}secret: {0,4}([\w.-]{1,128}) {0,4}\}\}/g

/** In characters. No placeholder is longer. */
const LONGEST_PLACEHOLDER = 160
/** Characters of a text that are processed per step. */
const CHARACTERS_PER_STEP = 65_536

type SecretEncoder = (value: string) => string

export interface Placeholder {
  readonly name: string
  readonly start: number
  readonly end: number
}

/** Finds the first `most` placeholders of a text. */
export function* placeholderSteps(text: string, most = Number.POSITIVE_INFINITY): Steps<Placeholder[]> {
  const found: Placeholder[] = []
  for (let at = 0; at < text.length && found.length < most; at += CHARACTERS_PER_STEP) {
    const piece = text.slice(at, at + CHARACTERS_PER_STEP + LONGEST_PLACEHOLDER)
    for (const { 0: all, 1: name, index } of piece.matchAll(PLACEHOLDER)) {
      const start = at + index
      if (index >= CHARACTERS_PER_STEP || found.length === most) break
      if (start >= (found.at(-1)?.end ?? 0)) found.push({ name: name!, start, end: start + all.length })
    }
    yield
  }
  return found
}

/**
 * The secrets of one firing. They are inserted only into text that is written in the node itself: a value that comes along an edge may have
 * an untrusted author, and could name secrets that this author must not get.
 */
export class FiringSecrets {
  readonly #context: NodeContext
  readonly #values = new Map<string, string>()
  readonly #filledProperties = new Set<string>()

  constructor(context: NodeContext) {
    this.#context = context
  }

  /** The values that were inserted. */
  get values(): string[] {
    return [...this.#values.values()]
  }

  /** Whether a secret was inserted into a text of `property`. */
  isFilledIn(property: string): boolean {
    return this.#filledProperties.has(property)
  }

  /**
   * A text of `property` with its secrets in place, each encoded by `write`. @throws NodeError `unknown_secret`; `too_large` if the text
   * would be too long
   */
  async fill(property: string, text: string, write: SecretEncoder = (value) => value): Promise<string> {
    const found = await this.#context.inSlices(placeholderSteps(text))
    if (found.length === 0) return text
    if (this.#context.isConnected(property)) {
      this.#context.log('warning', `"${property}" comes along an edge, so {{secret:…}} in it is not replaced.`)
      return text
    }
    for (const name of new Set(found.map(({ name }) => name)))
      this.#values.set(name, this.#values.get(name) ?? (await this.#readSecret(name)))
    this.#filledProperties.add(property)
    return this.#context.inSlices(this.#fillSteps(text, found, write))
  }

  *#fillSteps(text: string, found: readonly Placeholder[], write: SecretEncoder): Steps<string> {
    const parts: string[] = []
    let [from, length] = [0, text.length]
    yield* forEachSteps(found, ({ name, start, end }) => {
      const written = write(this.#values.get(name)!)
      length += written.length - (end - start)
      guardTextLength(length)
      parts.push(text.slice(from, start), written)
      from = end
    })
    return parts.join('') + text.slice(from)
  }

  async #readSecret(name: string): Promise<string> {
    const value = await this.#context.services.secret(name)
    if (value !== null) return value
    const cure = isSecretName(name)
      ? `Set it with PUT /api/secrets/${name}, or on the server with SVC_SECRET_${name}, or correct the name.`
      : 'The name is invalid: it must have up to 128 letters, digits and _, and must not begin with a digit.'
    throw new NodeError(`There is no secret "${name}". ${cure}`, 'unknown_secret')
  }
}

/**
 * A secret at the start of a URL is inserted unchanged; elsewhere secrets are percent-encoded. @throws NodeError `bad_url` if a secret
 * would be part of the host name, which is looked up, shown and logged
 */
export async function fillUrlSecrets(secrets: FiringSecrets, url: string): Promise<string> {
  const text = url.trimStart()
  const end = text.startsWith('{{') ? text.indexOf('}}') + 2 : 0
  const start = await secrets.fill('url', text.slice(0, end))
  const rest = text.slice(end)
  const filled = await secrets.fill('url', rest, encodeURIComponent)
  const whole = start + filled
  validateUrlLength(whole)
  if (filled !== rest && changesHost(start, rest)) throw secretInHostError()
  // A secret may be a whole URL with its own host.
  if (start !== text.slice(0, end) && readHost(start) !== null && readHost(start) !== readHost(whole))
    throw secretInHostError()
  return whole
}

/** Sample values in the place of a secret. Not every text is valid in a host name. */
const SAMPLE_SECRETS = [
  ['a', 'b'],
  ['1', '2'],
] as const

/** Whether the host depends on the secrets in the rest of a URL. */
function changesHost(start: string, rest: string): boolean {
  const hostWith = (sample: string) => readHost(start + rest.replaceAll(PLACEHOLDER, sample))
  return SAMPLE_SECRETS.some(([one, other]) => hostWith(one) !== hostWith(other))
}

function readHost(url: string): string | null {
  return URL.parse(url)?.hostname ?? null
}

function secretInHostError(): NodeError {
  const cure = 'Put it into the path, the query, a header or the body.'
  return new NodeError(`A secret must not be part of a host name, which is looked up and logged. ${cure}`, 'bad_url')
}
