// Finds secrets in texts, in all their forms. A secret belongs to an owner, or to the service as a whole.
import type { Opening } from './alike-words.ts'
import { Beginnings, join, type Range } from './beginnings.ts'
import { secretWords } from './forms.ts'
import type { HeldText } from './held.ts'
import { Openings } from './openings.ts'
import type { TailSecrets } from './secret-tail.ts'
import { replaced, type Secrets } from './secrets.ts'
import type { Word } from './word.ts'

/** Who has so many secrets is arranged for as they come: to arrange all of them at once would take long, in the middle of a look. */
const MANY = 16

/** A secret, and how often it was added for whom; null: for the service. */
interface Known {
  readonly secret: string
  readonly words: readonly Word[]
  readonly uses: Map<string | null, number>
}

/** A form of a secret, with its beginning. */
type Written = readonly [word: Word, beginning: string]

export class Finder {
  readonly #known = new Map<string, Known>()
  readonly #all = new Beginnings()
  /** Those of the service, from the first look for an owner on. */
  #service: Beginnings | null = null
  /** Whose secrets are which; those of an owner are arranged for looking when somebody looks for them alone. */
  readonly #owned = new Map<string | null, Set<Known>>()
  readonly #arranged = new Map<string, Beginnings>()
  /** By owner, as far as somebody asked for them. */
  readonly #openings = new Map<string | null, Openings>()
  #numeric = 0

  /** Whether a secret could be read in a number. */
  get numeric(): boolean {
    return this.#numeric > 0
  }

  /** `secret` has at least 8 characters. Each `add` counts. */
  add(secret: string, owner: string | null): void {
    const present = this.#known.get(secret)
    const uses = present?.uses.get(owner) ?? 0
    if (uses > 0) {
      present!.uses.set(owner, uses + 1)
      return
    }
    const words = present ? withBeginnings(present) : secretWords(secret)
    const known = present ?? this.#enter(secret, words)
    known.uses.set(owner, 1)
    const owned = this.#owned.get(owner) ?? new Set()
    this.#owned.set(owner, owned.add(known))
    for (const place of this.#placesOf(owner)) for (const written of words) place.add(...written)
    if (owner === null || owned.size !== MANY) return
    this.#of(owner)
    this.#openingsOf(owner)
  }

  /** Where words of an owner are arranged. */
  #placesOf(owner: string | null): (Beginnings | Openings)[] {
    const arranged = owner === null ? this.#service : this.#arranged.get(owner)
    const openings = this.#openings.get(owner)
    return [...(arranged ? [arranged] : []), ...(openings ? [openings] : [])]
  }

  #enter(secret: string, words: readonly Written[]): Known {
    const known: Known = { secret, words: words.map(([word]) => word), uses: new Map() }
    this.#known.set(secret, known)
    for (const written of words) this.#all.add(...written)
    if (isNumeric(secret)) this.#numeric++
    return known
  }

  /** In how many forms a secret is looked for. */
  formsOf(secret: string): number {
    return this.#known.get(secret)?.words.length ?? 0
  }

  /** Takes back one `add`; with the last one the secret is none any more. */
  forget(secret: string, owner: string | null): void {
    const known = this.#known.get(secret)
    const left = (known?.uses.get(owner) ?? 0) - 1
    if (!known || left < 0) return
    if (left > 0) {
      known.uses.set(owner, left)
      return
    }
    known.uses.delete(owner)
    const words = withBeginnings(known)
    this.#disown(known, words, owner)
    if (known.uses.size > 0) return
    this.#known.delete(secret)
    for (const written of words) this.#all.remove(...written)
    if (isNumeric(secret)) this.#numeric--
  }

  #disown(known: Known, words: readonly Written[], owner: string | null): void {
    const owned = this.#owned.get(owner)!
    owned.delete(known)
    for (const place of this.#placesOf(owner)) for (const written of words) place.remove(...written)
    if (owned.size > 0) return
    this.#owned.delete(owner)
    this.#openings.delete(owner)
    if (owner !== null) this.#arranged.delete(owner)
  }

  /**
   * False where the text holds no secret, whose is as for `replace`. What others have is not looked at for an owner: who sees how long a look takes
   * would know what their secrets begin with.
   */
  mayHold(text: string, owner: string | null): boolean {
    if (owner === null) return this.#all.mayHold(text)
    return this.#ofService().mayHold(text) || this.#of(owner)?.mayHold(text) === true
  }

  /**
   * The text with each secret, and secrets that touch or overlap as one, replaced by `mark`; the same text where there is none. `owner`: only
   * this one's secrets and the service's; null for those of all.
   */
  replace(text: string, mark: string, owner: string | null): string {
    return this.mayHold(text, owner) ? replaced(text, this.#ranges(text, owner), mark) : text
  }

  /**
   * Whose the secrets are, as for `replace`, for one text that is looked at part by part. `waiting`: for which secrets the text waits; `own`: those of
   * the service are found where all of one is there, and nothing else depends on them.
   */
  secretsOf(owner: string | null, waiting: 'all' | 'own' = 'all'): Secrets {
    return {
      firstIn: (text) => this.#firstIn(text, owner),
      longestAt: (text, at) => this.#longestAt(text, at, owner),
      opensAt: (text, at, isLast) =>
        this.#waitingFor(owner, waiting).some((one) => this.#openingsOf(one)?.opensAt(text, at, isLast) === true),
    }
  }

  /** Whose the secrets are, as for `replace`, for the texts of others that come in pieces. */
  tailSecretsOf(owner: string | null): TailSecrets {
    return {
      mayBegin: (text, at) => this.#mayBegin(text, at, owner),
      longestAt: (text, at) => this.#longestAt(text, at, owner),
      openingAt: (text, at, isLast) => this.#openingAt(text, at, isLast, owner),
      sharedAt: (text, at) => Math.max(0, ...this.#openingsFor(owner).map((openings) => openings.sharedAt(text, at))),
    }
  }

  #longestAt(text: HeldText, at: number, owner: string | null): number {
    if (owner === null) return this.#all.longestAt(text, at)
    return Math.max(this.#of(owner)?.longestAt(text, at) ?? 0, this.#ofService().longestAt(text, at))
  }

  #firstIn(text: string, owner: string | null): number {
    if (owner === null) return this.#all.firstIn(text)
    return Math.min(this.#of(owner)?.firstIn(text) ?? text.length, this.#ofService().firstIn(text))
  }

  #mayBegin(text: string, at: number, owner: string | null): boolean {
    if (owner === null) return this.#all.mayBegin(text, at)
    return this.#ofService().mayBegin(text, at) || this.#of(owner)?.mayBegin(text, at) === true
  }

  #waitingFor(owner: string | null, waiting: 'all' | 'own'): (string | null)[] {
    if (waiting === 'own' && owner !== null) return [owner]
    return this.#ownersFor(owner).filter((one) => waiting === 'all' || one !== null)
  }

  #openingAt(text: HeldText, at: number, isLast: boolean, owner: string | null): Opening {
    let opening: Opening = 'none'
    for (const openings of this.#openingsFor(owner)) {
      const found = openings.openingAt(text, at, isLast)
      if (found === 'secret') return found
      if (found === 'guessable') opening = found
    }
    return opening
  }

  #ownersFor(owner: string | null): (string | null)[] {
    return owner === null ? [...this.#owned.keys()] : [owner, null]
  }

  #openingsFor(owner: string | null): Openings[] {
    return this.#ownersFor(owner).flatMap((one) => this.#openingsOf(one) ?? [])
  }

  #ranges(text: string, owner: string | null): readonly Range[] {
    if (owner === null) return this.#all.ranges(text)
    const [own, ours] = [this.#of(owner)?.ranges(text) ?? [], this.#ofService().ranges(text)]
    return own.length === 0 ? ours : merged([...own, ...ours])
  }

  #openingsOf(owner: string | null): Openings | undefined {
    const present = this.#openings.get(owner)
    const owned = this.#owned.get(owner)
    if (present || !owned) return present
    const openings = new Openings(owner !== null)
    for (const known of owned) arrange(openings, known)
    this.#openings.set(owner, openings)
    return openings
  }

  #of(owner: string): Beginnings | undefined {
    const owned = this.#owned.get(owner)
    if (!owned) return undefined
    const present = this.#arranged.get(owner)
    if (present) return present
    const arranged = arrangedOf(owned)
    this.#arranged.set(owner, arranged)
    return arranged
  }

  #ofService(): Beginnings {
    this.#service ??= arrangedOf(this.#owned.get(null) ?? [])
    return this.#service
  }
}

function arrangedOf(owned: Iterable<Known>): Beginnings {
  const arranged = new Beginnings()
  for (const known of owned) arrange(arranged, known)
  return arranged
}

function arrange(arranged: Beginnings | Openings, known: Known): void {
  for (const [word, beginning] of withBeginnings(known)) arranged.add(word, beginning)
}

/** They are made again from the secret: kept, they would take much more room than the words, and each word would have to be written as a whole. */
function withBeginnings({ secret, words }: Known): Written[] {
  return secretWords(secret).map(([, beginning], at) => [words[at]!, beginning])
}

function isNumeric(secret: string): boolean {
  return /^[\d.e+-]+$/i.test(secret.trim())
}

/** In order, and those that touch or overlap as one. */
function merged(ranges: readonly Range[]): Range[] {
  const all: Range[] = []
  for (const range of ranges.toSorted(([a], [b]) => a - b)) join(all, range)
  return all
}
