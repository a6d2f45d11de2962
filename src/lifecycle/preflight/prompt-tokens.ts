// PromptTokenCounter counts the tokens of the prompts of a run in pieces, so that other work gets its turn. It counts each prompt once, up
// to a total limit, and keeps no prompt.

import { createHash } from 'node:crypto'
import { countModelTokens } from '../../models/billing/token-count.ts'
import type { Provider } from '../../models/provider.ts'
import type { OwnerTimeSlices } from '../../shared/time-slices.ts'

/** Characters of prompts that one preflight counts. The cost of further prompts is unknown. */
const MOST_COUNTED = 20_000_000
/** Characters of prompts that one preflight reads to find out whether they were counted. */
const MOST_READ = 10 * MOST_COUNTED
/** Characters of one piece. The sum over the pieces may differ from the whole by one token for each piece. */
const AT_ONCE = 100_000

export class PromptTokenCounter {
  readonly #turns: Pick<OwnerTimeSlices, 'over' | 'next'>
  /** By the digest of the prompt. */
  readonly #counts = new Map<Provider, Map<string, number>>()
  #counted = 0
  #read = 0

  constructor(turns: Pick<OwnerTimeSlices, 'over' | 'next'>) {
    this.#turns = turns
  }

  /** Whether no more prompts are read. */
  get isFull(): boolean {
    return this.#read > MOST_READ
  }

  /** Counts the tokens of texts with a newline between them. Returns null if they are too many. */
  async count(provider: Provider, texts: readonly string[]): Promise<number | null> {
    const counts = this.#counts.get(provider) ?? new Map<string, number>()
    this.#counts.set(provider, counts)
    const { digest, length } = await this.#identify(texts)
    if (digest === null) return null
    const known = counts.get(digest)
    if (known !== undefined) return known
    this.#counted += length
    if (this.#counted > MOST_COUNTED) return null
    let tokens = 0
    for (const piece of piecesOf(texts)) {
      if (this.#turns.over) await this.#turns.next()
      tokens += countModelTokens(provider, piece)
    }
    counts.set(digest, tokens)
    return tokens
  }

  /** The digest is null if no more prompts are read. */
  async #identify(texts: readonly string[]): Promise<{ digest: string | null; length: number }> {
    const hash = createHash('sha256')
    let length = 0
    for (const piece of piecesOf(texts)) {
      if (this.#turns.over) await this.#turns.next()
      length += piece.length
      this.#read += piece.length
      if (this.isFull) return { digest: null, length }
      hash.update(piece, 'utf16le')
    }
    return { digest: hash.digest('base64'), length }
  }
}

/** Cuts texts with a newline between them into pieces. The whole is never put together, because it may be long. */
function* piecesOf(texts: readonly string[]): Generator<string, void, undefined> {
  let piece = ''
  for (let index = 0; index < texts.length; index++) {
    for (const part of index === 0 ? [texts[0]!] : ['\n', texts[index]!]) {
      for (let at = 0; at < part.length; ) {
        const end = at + AT_ONCE - piece.length
        piece += part.slice(at, end)
        at = end
        if (piece.length < AT_ONCE) continue
        yield piece
        piece = ''
      }
    }
  }
  if (piece !== '') yield piece
}
