// Collects references to assets and bundled files from values at any depth: structured ids, and texts that are, or contain, the URL of a
// file.
import { PACKAGES_PATH } from '../../assets/bundled-packages.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'

/** Number of different references that one preflight looks up. */
export const MOST_REFERENCES = 10_000
/** Number of values that are scanned before other work may get its turn. */
const VALUES_AT_ONCE = 1_000
/** Number of references in a text that are handled before other work may get its turn. */
const MATCHES_AT_ONCE = 100

const SCHEME = 'asset://'
const STORAGE = '/api/storage/'
/** The prefixes of references. */
export const REFERENCE_PREFIXES: readonly string[] = [SCHEME, STORAGE, PACKAGES_PATH]
/** Matches a reference in a longer text, unless the text before it makes it a part of another URL. */
const REFERENCE_IN_TEXT = /(?<![\w.:/~%-])(?:asset:\/\/|\/api\/(?:storage|assets\/packages)\/)[\w.~%/-]{1,2048}/g

/** Marks the end of the walk. */
const END = Symbol('end')

type Members = Readonly<Record<string | number, unknown>>

/** A list or a record that is being walked, and the index of its next member. */
type Container =
  | { readonly of: readonly unknown[]; readonly keys: null; at: number }
  | { readonly of: Members; readonly keys: readonly string[]; at: number }

/** Opens a list or a record. */
function enterContainer(value: unknown, open: Container[]): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) open.push({ of: value, keys: null, at: 0 })
  // For very many members, listing pairs takes longer than listing keys.
  else open.push({ of: value as Members, keys: Object.keys(value), at: 0 })
}

/** The references of one run, each once. The value is true if the run cannot do without the file. */
export class AssetReferences {
  readonly found = new Map<string, boolean>()
  /** Whether there were more references than are looked up. */
  hasMore = false
  readonly #ownUrl: string
  readonly #turns: AbortableTimeSlices
  #seen = 0

  /** `ownUrl` is the URL of this server: references may begin with it or not. */
  constructor(ownUrl: string, turns: AbortableTimeSlices) {
    this.#turns = turns
    this.#ownUrl = ownUrl.replace(/\/+$/, '')
  }

  /** A text that is no reference is kept unchanged, and the lookup will report it as missing. */
  add(reference: string, blocking = true): void {
    const canonical = canonicalizeReference(reference.trim(), this.#ownUrl) ?? (reference || '(none)')
    const known = this.found.get(canonical)
    if (known === undefined && this.found.size >= MOST_REFERENCES) this.hasMore = true
    else this.found.set(canonical, known === true || blocking)
  }

  /** Collects all references in a value. The walk uses no recursion, because a value may be nested to any depth. */
  async collect(value: unknown): Promise<void> {
    const open: Container[] = []
    for (let one = value; ; one = this.#next(open)) {
      if (++this.#seen % VALUES_AT_ONCE === 0 && this.#turns.over) await this.#turns.next()
      if (one === END) return
      if (typeof one !== 'string') enterContainer(one, open)
      else if (REFERENCE_PREFIXES.some((place) => one.includes(place))) await this.#text(one)
    }
  }

  /** Returns the next member of the innermost container. It copies no list, because copying a list of millions of members takes long. */
  #next(open: Container[]): unknown {
    const innermost = open.at(-1)
    if (!innermost) return END
    const count = innermost.keys === null ? innermost.of.length : innermost.keys.length
    if (innermost.at < count) return this.#member(innermost, innermost.at++)
    open.pop()
    return null
  }

  #member({ of, keys }: Container, at: number): unknown {
    if (keys === null) return of[at]
    const key = keys[at]!
    const member = of[key]
    if (key !== 'asset_id' || typeof member !== 'string') return member
    if (member !== '') this.add(member.startsWith(SCHEME) ? member : `${SCHEME}${member}`)
    return null
  }

  /**
   * A text that is only a reference stands for its asset. A text that mentions references may be meant as text, so these do not block the
   * run.
   */
  async #text(text: string): Promise<void> {
    const whole = text.trim()
    if (!/\s/.test(whole) && canonicalizeReference(whole, this.#ownUrl) !== null) return this.add(whole)
    for (const [match] of text.matchAll(REFERENCE_IN_TEXT)) {
      this.add(trimPunctuation(match), false)
      if (++this.#seen % MATCHES_AT_ONCE === 0 && this.#turns.over) await this.#turns.next()
    }
  }
}

/**
 * Removes full stops and dashes at the end, which belong to the sentence. A regular expression would restart at each of them inside the
 * text.
 */
function trimPunctuation(match: string): string {
  let end = match.length
  while (end > 0 && (match[end - 1] === '.' || match[end - 1] === '-')) end--
  return match.slice(0, end)
}

/**
 * Returns `asset://<id>`, `/api/storage/<key>` or `/api/assets/packages/<path>`, with the key or path decoded and without a query; null for
 * any other text.
 */
export function canonicalizeReference(text: string, ownUrl: string): string | null {
  if (text.startsWith(SCHEME)) return text.length > SCHEME.length ? text : null
  const path = ownUrl !== '' && text.startsWith(`${ownUrl}/`) ? text.slice(ownUrl.length) : text
  const place = [STORAGE, PACKAGES_PATH].find((one) => path.startsWith(one))
  if (place === undefined) return null
  const key = decodePath(path.slice(place.length).replace(/[?#].*$/s, ''))
  return key === '' ? null : `${place}${key}`
}

export function assetIdOf(canonical: string): string | null {
  return canonical.startsWith(SCHEME) ? canonical.slice(SCHEME.length) : null
}

export function storageKeyOf(canonical: string): string | null {
  return canonical.startsWith(STORAGE) ? canonical.slice(STORAGE.length) : null
}

/** Returns the path of a bundled file in the packages. */
export function bundledPathOf(canonical: string): string | null {
  return canonical.startsWith(PACKAGES_PATH) ? canonical.slice(PACKAGES_PATH.length) : null
}

function decodePath(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
