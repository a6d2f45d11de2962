// Finds secrets in texts: a quick look says which may be there, and those alone are looked for in all their forms. A secret belongs to an owner,
// or to the service as a whole.
import { Automaton } from './automaton.ts'
import { Beginnings } from './beginnings.ts'
import { secretForms } from './forms.ts'

/** A secret, and how often it was added for whom; null: for the service. */
interface Known {
  readonly id: number
  readonly secret: string
  readonly uses: Map<string | null, number>
}

/** How many characters of forms one automaton holds, unless a single secret has more: what it takes in memory is some 30 times as much. */
const CHARACTERS_AT_ONCE = 1_000_000
/** Automata of the last texts with secrets in them are kept, up to so many characters of forms together. */
const CHARACTERS_KEPT = 1_000_000

interface Kept {
  readonly automaton: Automaton
  readonly size: number
}

type Range = [from: number, to: number]

export class Finder {
  readonly #known = new Map<string, Known>()
  readonly #beginnings = new Beginnings<Known>()
  /** By the ids of the secrets; the one that was asked for last is the last. */
  readonly #kept = new Map<string, Kept>()
  #size = 0
  #lastId = 0
  #numeric = 0

  /** Whether a secret could be read in a number. */
  get numeric(): boolean {
    return this.#numeric > 0
  }

  /** `secret` has at least 8 characters. Each `add` counts. */
  add(secret: string, owner: string | null): void {
    const { uses } = this.#known.get(secret) ?? this.#enter(secret)
    uses.set(owner, (uses.get(owner) ?? 0) + 1)
  }

  #enter(secret: string): Known {
    const known: Known = { id: ++this.#lastId, secret, uses: new Map() }
    this.#known.set(secret, known)
    for (const form of secretForms(secret)) this.#beginnings.add(form, known)
    if (isNumeric(secret)) this.#numeric++
    return known
  }

  /** Takes back one `add`; with the last one the secret is none any more. */
  forget(secret: string, owner: string | null): void {
    const known = this.#known.get(secret)
    const left = (known?.uses.get(owner) ?? 0) - 1
    if (!known || left < 0) return
    if (left > 0) known.uses.set(owner, left)
    else known.uses.delete(owner)
    if (known.uses.size > 0) return
    this.#known.delete(secret)
    for (const form of secretForms(secret)) this.#beginnings.remove(form, known)
    if (isNumeric(secret)) this.#numeric--
  }

  /** False where the text holds no secret. */
  mayHold(text: string): boolean {
    return this.#beginnings.mayHold(text)
  }

  /**
   * The text with each secret, and secrets that touch or overlap as one, replaced by `mark`; the same text where there is none. `owner`: only
   * this one's secrets and the service's; null for those of all.
   */
  replace(text: string, mark: string, owner: string | null): string {
    if (!this.mayHold(text)) return text
    const secrets = this.#beginnings.in(text).filter(({ uses }) => owner === null || uses.has(owner) || uses.has(null))
    const found = [...batches(secrets)].map((batch) => this.#automaton(batch).ranges(text))
    return replaced(text, found.length === 1 ? found[0]! : merged(found.flat()), mark)
  }

  #automaton(batch: readonly Known[]): Automaton {
    const key = batch
      .map(({ id }) => id)
      .sort((a, b) => a - b)
      .join()
    const kept = this.#kept.get(key)
    if (kept) {
      this.#kept.delete(key)
      this.#kept.set(key, kept)
      return kept.automaton
    }
    const forms = batch.flatMap(({ secret }) => secretForms(secret))
    const size = forms.reduce((sum, form) => sum + form.length, 0)
    const automaton = new Automaton(forms)
    if (size <= CHARACTERS_KEPT) this.#keep(key, { automaton, size })
    return automaton
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept)
    this.#size += kept.size
    for (const [oldest, { size }] of this.#kept) {
      if (this.#size <= CHARACTERS_KEPT) return
      this.#kept.delete(oldest)
      this.#size -= size
    }
  }
}

function isNumeric(secret: string): boolean {
  return /^[\d.e+-]+$/i.test(secret)
}

/** Forms have up to so many times the characters of a secret, more where it is written in characters that are escaped. */
const FORMS = 12

function* batches(secrets: readonly Known[]): Iterable<Known[]> {
  let batch: Known[] = []
  let size = 0
  for (const known of secrets) {
    batch.push(known)
    size += known.secret.length * FORMS
    if (size < CHARACTERS_AT_ONCE) continue
    yield batch
    batch = []
    size = 0
  }
  if (batch.length > 0) yield batch
}

/** In order, and those that touch or overlap as one. */
function merged(ranges: readonly Range[]): Range[] {
  const all: Range[] = []
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = all.at(-1)
    if (last && last[1] >= from) last[1] = Math.max(last[1], to)
    else all.push([from, to])
  }
  return all
}

function replaced(text: string, ranges: readonly Range[], mark: string): string {
  if (ranges.length === 0) return text
  let built = ''
  let done = 0
  for (const [from, to] of ranges) {
    built += text.slice(done, from) + mark
    done = to
  }
  return built + text.slice(done)
}
