// Finds secrets in texts, in all their forms. A secret belongs to an owner, or to the service as a whole.

import type { EagerSecretMatcher } from '../streams/eager-secret-replacer.ts'
import { replaceRanges, type SecretMatcher } from '../streams/secret-replacer.ts'
import type { HeldText } from './held-text.ts'
import type { PartialMatch } from './partial-match-bucket.ts'
import { PartialMatchIndex } from './partial-match-index.ts'
import { mergeRange, PrefixIndex, type TextRange } from './prefix-index.ts'
import { createSecretForms } from './secret-encodings.ts'
import type { SecretForm } from './secret-form.ts'

/** Who has so many secrets is arranged for as they come: to arrange all of them at once would take long, in the middle of a look. */
const ARRANGED_FROM = 16

/** A secret, and how often it was added for whom; null: for the service. */
interface KnownSecret {
  readonly secret: string
  readonly words: readonly SecretForm[]
  readonly uses: Map<string | null, number>
}

/** A form of a secret, with its beginning. */
type FormWithPrefix = readonly [word: SecretForm, beginning: string]

export class SecretIndex {
  readonly #secrets = new Map<string, KnownSecret>()
  readonly #all = new PrefixIndex()
  /** Those of the service, from the first look for an owner on. */
  #service_index: PrefixIndex | null = null
  /** Whose secrets are which; those of an owner are arranged for looking when somebody looks for them alone. */
  readonly #owned = new Map<string | null, Set<KnownSecret>>()
  readonly #owner_indexes = new Map<string, PrefixIndex>()
  /** By owner, as far as somebody asked for them. */
  readonly #partial_match_indexes = new Map<string | null, PartialMatchIndex>()
  #numeric_count = 0

  /** Whether a secret could be read in a number. */
  get hasNumericSecrets(): boolean {
    return this.#numeric_count > 0
  }

  /** `secret` has at least 8 characters. Each `add` counts. */
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
    for (const place of this.#indexesOf(owner)) for (const written of words) place.add(...written)
    if (owner === null || owned.size !== ARRANGED_FROM) return
    this.#ownerIndex(owner)
    this.#partialMatchIndexOf(owner)
  }

  /** Where words of an owner are arranged. */
  #indexesOf(owner: string | null): (PrefixIndex | PartialMatchIndex)[] {
    const arranged = owner === null ? this.#service_index : this.#owner_indexes.get(owner)
    const openings = this.#partial_match_indexes.get(owner)
    return [...(arranged ? [arranged] : []), ...(openings ? [openings] : [])]
  }

  #enter(secret: string, words: readonly FormWithPrefix[]): KnownSecret {
    const known: KnownSecret = { secret, words: words.map(([word]) => word), uses: new Map() }
    this.#secrets.set(secret, known)
    for (const written of words) this.#all.add(...written)
    if (isNumeric(secret)) this.#numeric_count++
    return known
  }

  /** In how many forms a secret is looked for. */
  countForms(secret: string): number {
    return this.#secrets.get(secret)?.words.length ?? 0
  }

  /** Takes back one `add`; with the last one the secret is none any more. */
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
    for (const place of this.#indexesOf(owner)) for (const written of words) place.remove(...written)
    if (owned.size > 0) return
    this.#owned.delete(owner)
    this.#partial_match_indexes.delete(owner)
    if (owner !== null) this.#owner_indexes.delete(owner)
  }

  /**
   * False where the text holds no secret, whose is as for `replace`. What others have is not looked at for an owner: who sees how long a look takes
   * would know what their secrets begin with.
   */
  mayHold(text: string, owner: string | null): boolean {
    if (owner === null) return this.#all.mayHold(text)
    return this.#serviceIndex().mayHold(text) || this.#ownerIndex(owner)?.mayHold(text) === true
  }

  /**
   * The text with each secret, and secrets that touch or overlap as one, replaced by `mark`; the same text where there is none. `owner`: only
   * this one's secrets and the service's; null for those of all.
   */
  replace(text: string, mark: string, owner: string | null): string {
    return this.mayHold(text, owner) ? replaceRanges(text, this.#findRanges(text, owner), mark) : text
  }

  /**
   * Whose the secrets are, as for `replace`, for one text that is looked at part by part. `waiting`: for which secrets the text waits; `own`: those of
   * the service are found where all of one is there, and nothing else depends on them.
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

  /** Whose the secrets are, as for `replace`, for the texts of others that come in pieces. */
  createEagerMatcher(owner: string | null): EagerSecretMatcher {
    return {
      mayBegin: (text, at) => this.#mayBegin(text, at, owner),
      longestAt: (text, at) => this.#longestAt(text, at, owner),
      findPartialMatch: (text, at, isLast) => this.#findPartialMatch(text, at, isLast, owner),
      countShared: (text, at) =>
        Math.max(0, ...this.#partialMatchIndexesFor(owner).map((openings) => openings.countShared(text, at))),
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
    let opening: PartialMatch = 'none'
    for (const openings of this.#partialMatchIndexesFor(owner)) {
      const found = openings.findPartialMatch(text, at, isLast)
      if (found === 'secret') return found
      if (found === 'guessable') opening = found
    }
    return opening
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
    const openings = new PartialMatchIndex(owner !== null)
    for (const known of owned) addForms(openings, known)
    this.#partial_match_indexes.set(owner, openings)
    return openings
  }

  #ownerIndex(owner: string): PrefixIndex | undefined {
    const owned = this.#owned.get(owner)
    if (!owned) return undefined
    const present = this.#owner_indexes.get(owner)
    if (present) return present
    const arranged = createPrefixIndex(owned)
    this.#owner_indexes.set(owner, arranged)
    return arranged
  }

  #serviceIndex(): PrefixIndex {
    this.#service_index ??= createPrefixIndex(this.#owned.get(null) ?? [])
    return this.#service_index
  }
}

function createPrefixIndex(owned: Iterable<KnownSecret>): PrefixIndex {
  const arranged = new PrefixIndex()
  for (const known of owned) addForms(arranged, known)
  return arranged
}

function addForms(arranged: PrefixIndex | PartialMatchIndex, known: KnownSecret): void {
  for (const [word, beginning] of withPrefixes(known)) arranged.add(word, beginning)
}

/** They are made again from the secret: kept, they would take much more room than the words, and each word would have to be written as a whole. */
function withPrefixes({ secret, words }: KnownSecret): FormWithPrefix[] {
  return createSecretForms(secret).map(([, beginning], at) => [words[at]!, beginning])
}

function isNumeric(secret: string): boolean {
  return /^[\d.e+-]+$/i.test(secret.trim())
}

/** In order, and those that touch or overlap as one. */
function mergeRanges(ranges: readonly TextRange[]): TextRange[] {
  const all: TextRange[] = []
  for (const range of ranges.toSorted(([a], [b]) => a - b)) mergeRange(all, range)
  return all
}
