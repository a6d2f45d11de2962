// Finds secrets in texts, in all their forms. A secret belongs to an owner or to the service.

import type { EagerSecretMatcher } from '../streams/eager-secret-replacer.ts'
import { replaceRanges, type SecretMatcher } from '../streams/secret-replacer.ts'
import type { HeldText } from './held-text.ts'
import type { PartialMatch } from './partial-match-bucket.ts'
import { PartialMatchIndex } from './partial-match-index.ts'
import { mergeRange, PrefixIndex, type TextRange } from './prefix-index.ts'
import { createSecretForms } from './secret-encodings.ts'
import type { SecretForm } from './secret-form.ts'

/** From this many secrets on, an owner's index is built at once: building it during a search would take long. */
const ARRANGED_FROM = 16

/** A secret, and how often each owner added it; null for the service. */
interface KnownSecret {
  readonly secret: string
  readonly words: readonly SecretForm[]
  readonly uses: Map<string | null, number>
}

/** A form of a secret, with its prefix. */
type FormWithPrefix = readonly [form: SecretForm, prefix: string]

export class SecretIndex {
  readonly #secrets = new Map<string, KnownSecret>()
  readonly #all = new PrefixIndex()
  /** The secrets of the service; built at the first search for an owner. */
  #service_index: PrefixIndex | null = null
  /** The secrets of each owner. An owner's index is built when a search needs it. */
  readonly #owned = new Map<string | null, Set<KnownSecret>>()
  readonly #owner_indexes = new Map<string, PrefixIndex>()
  /** By owner; built on demand. */
  readonly #partial_match_indexes = new Map<string | null, PartialMatchIndex>()
  #numeric_count = 0

  /** Whether a secret may occur as a number. */
  get hasNumericSecrets(): boolean {
    return this.#numeric_count > 0
  }

  /** `secret` has at least 8 characters. Repeated calls are counted. */
  add(secret: string, owner: string | null): void {
    const present = this.#secrets.get(secret)
    const uses = present?.uses.get(owner) ?? 0
    if (uses > 0) {
      present!.uses.set(owner, uses + 1)
      return
    }
    const words = present ? withPrefixes(present) : createSecretForms(secret)
    const known = present ?? this.#enter(secret, words)
    known.uses.set(owner, 1)
    const owned = this.#owned.get(owner) ?? new Set()
    this.#owned.set(owner, owned.add(known))
    for (const index of this.#indexesOf(owner)) for (const written of words) index.add(...written)
    if (owner === null || owned.size !== ARRANGED_FROM) return
    this.#ownerIndex(owner)
    this.#partialMatchIndexOf(owner)
  }

  /** The existing indexes of an owner. */
  #indexesOf(owner: string | null): (PrefixIndex | PartialMatchIndex)[] {
    const index = owner === null ? this.#service_index : this.#owner_indexes.get(owner)
    const partial_index = this.#partial_match_indexes.get(owner)
    return [...(index ? [index] : []), ...(partial_index ? [partial_index] : [])]
  }

  #enter(secret: string, words: readonly FormWithPrefix[]): KnownSecret {
    const known: KnownSecret = { secret, words: words.map(([form]) => form), uses: new Map() }
    this.#secrets.set(secret, known)
    for (const written of words) this.#all.add(...written)
    if (isNumeric(secret)) this.#numeric_count++
    return known
  }

  /** The number of searched forms of a secret. */
  countForms(secret: string): number {
    return this.#secrets.get(secret)?.words.length ?? 0
  }

  /** Undoes one `add`; the last one removes the secret. */
  remove(secret: string, owner: string | null): void {
    const known = this.#secrets.get(secret)
    const left = (known?.uses.get(owner) ?? 0) - 1
    if (!known || left < 0) return
    if (left > 0) {
      known.uses.set(owner, left)
      return
    }
    known.uses.delete(owner)
    const words = withPrefixes(known)
    this.#disown(known, words, owner)
    if (known.uses.size > 0) return
    this.#secrets.delete(secret)
    for (const written of words) this.#all.remove(...written)
    if (isNumeric(secret)) this.#numeric_count--
  }

  #disown(known: KnownSecret, words: readonly FormWithPrefix[], owner: string | null): void {
    const owned = this.#owned.get(owner)!
    owned.delete(known)
    for (const index of this.#indexesOf(owner)) for (const written of words) index.remove(...written)
    if (owned.size > 0) return
    this.#owned.delete(owner)
    this.#partial_match_indexes.delete(owner)
    if (owner !== null) this.#owner_indexes.delete(owner)
  }

  /**
   * False if the text holds no secret for `owner`, as in `replace`. Secrets of other owners are not compared: the time
   * of a search would reveal their prefixes.
   */
  mayHold(text: string, owner: string | null): boolean {
    if (owner === null) return this.#all.mayHold(text)
    return this.#serviceIndex().mayHold(text) || this.#ownerIndex(owner)?.mayHold(text) === true
  }

  /**
   * Replaces each secret by `mark`; secrets that touch or overlap get one mark. Returns the same text if it has none.
   * `owner` limits this to the secrets of the owner and the service; null searches the secrets of all.
   */
  replace(text: string, mark: string, owner: string | null): string {
    return this.mayHold(text, owner) ? replaceRanges(text, this.#findRanges(text, owner), mark) : text
  }

  /**
   * A matcher for one text in pieces; `owner` is as in `replace`. `waiting` says which secrets may hold the text back.
   * With `own`, secrets of the service are found only when complete.
   */
  createMatcher(owner: string | null, waiting: 'all' | 'own' = 'all'): SecretMatcher {
    return {
      findFirst: (text) => this.#firstIn(text, owner),
      longestAt: (text, at) => this.#longestAt(text, at, owner),
      hasPartialMatch: (text, at, isLast) =>
        this.#ownersToWaitFor(owner, waiting).some(
          (one) => this.#partialMatchIndexOf(one)?.hasPartialMatch(text, at, isLast) === true,
        ),
    }
  }

  /** A matcher for streamed texts of others; `owner` is as in `replace`. */
  createEagerMatcher(owner: string | null): EagerSecretMatcher {
    return {
      mayBegin: (text, at) => this.#mayBegin(text, at, owner),
      longestAt: (text, at) => this.#longestAt(text, at, owner),
      findPartialMatch: (text, at, isLast) => this.#findPartialMatch(text, at, isLast, owner),
      countShared: (text, at) =>
        Math.max(0, ...this.#partialMatchIndexesFor(owner).map((partial_index) => partial_index.countShared(text, at))),
    }
  }

  #longestAt(text: HeldText, at: number, owner: string | null): number {
    if (owner === null) return this.#all.longestAt(text, at)
    return Math.max(this.#ownerIndex(owner)?.longestAt(text, at) ?? 0, this.#serviceIndex().longestAt(text, at))
  }

  #firstIn(text: string, owner: string | null): number {
    if (owner === null) return this.#all.findFirst(text)
    return Math.min(this.#ownerIndex(owner)?.findFirst(text) ?? text.length, this.#serviceIndex().findFirst(text))
  }

  #mayBegin(text: string, at: number, owner: string | null): boolean {
    if (owner === null) return this.#all.mayBegin(text, at)
    return this.#serviceIndex().mayBegin(text, at) || this.#ownerIndex(owner)?.mayBegin(text, at) === true
  }

  #ownersToWaitFor(owner: string | null, waiting: 'all' | 'own'): (string | null)[] {
    if (waiting === 'own' && owner !== null) return [owner]
    return this.#ownersFor(owner).filter((one) => waiting === 'all' || one !== null)
  }

  #findPartialMatch(text: HeldText, at: number, isLast: boolean, owner: string | null): PartialMatch {
    let match: PartialMatch = 'none'
    for (const partial_index of this.#partialMatchIndexesFor(owner)) {
      const found = partial_index.findPartialMatch(text, at, isLast)
      if (found === 'secret') return found
      if (found === 'guessable') match = found
    }
    return match
  }

  #ownersFor(owner: string | null): (string | null)[] {
    return owner === null ? [...this.#owned.keys()] : [owner, null]
  }

  #partialMatchIndexesFor(owner: string | null): PartialMatchIndex[] {
    return this.#ownersFor(owner).flatMap((one) => this.#partialMatchIndexOf(one) ?? [])
  }

  #findRanges(text: string, owner: string | null): readonly TextRange[] {
    if (owner === null) return this.#all.findRanges(text)
    const [own, ours] = [this.#ownerIndex(owner)?.findRanges(text) ?? [], this.#serviceIndex().findRanges(text)]
    return own.length === 0 ? ours : mergeRanges([...own, ...ours])
  }

  #partialMatchIndexOf(owner: string | null): PartialMatchIndex | undefined {
    const present = this.#partial_match_indexes.get(owner)
    const owned = this.#owned.get(owner)
    if (present || !owned) return present
    const partial_index = new PartialMatchIndex(owner !== null)
    for (const known of owned) addForms(partial_index, known)
    this.#partial_match_indexes.set(owner, partial_index)
    return partial_index
  }

  #ownerIndex(owner: string): PrefixIndex | undefined {
    const owned = this.#owned.get(owner)
    if (!owned) return undefined
    const present = this.#owner_indexes.get(owner)
    if (present) return present
    const index = createPrefixIndex(owned)
    this.#owner_indexes.set(owner, index)
    return index
  }

  #serviceIndex(): PrefixIndex {
    this.#service_index ??= createPrefixIndex(this.#owned.get(null) ?? [])
    return this.#service_index
  }
}

function createPrefixIndex(owned: Iterable<KnownSecret>): PrefixIndex {
  const index = new PrefixIndex()
  for (const known of owned) addForms(index, known)
  return index
}

function addForms(index: PrefixIndex | PartialMatchIndex, known: KnownSecret): void {
  for (const [form, prefix] of withPrefixes(known)) index.add(form, prefix)
}

/** Prefixes are computed again from the secret: stored prefixes would take much more memory than the forms. */
function withPrefixes({ secret, words }: KnownSecret): FormWithPrefix[] {
  return createSecretForms(secret).map(([, prefix], at) => [words[at]!, prefix])
}

function isNumeric(secret: string): boolean {
  return /^[\d.e+-]+$/i.test(secret.trim())
}

/** Sorted; ranges that touch or overlap are merged. */
function mergeRanges(ranges: readonly TextRange[]): TextRange[] {
  const all: TextRange[] = []
  for (const range of ranges.toSorted(([a], [b]) => a - b)) mergeRange(all, range)
  return all
}
