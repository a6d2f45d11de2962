// References to assets, and to bundled files, in values, however deep they lie: structured ids, and texts that are, or hold, the address of one.
import { PACKAGES_PATH } from '../../assets/bundled-packages.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'

/** So many different references are looked up for one preflight. */
export const MOST_REFERENCES = 10_000
/** So many values are looked at before others may have their turn. */
const VALUES_AT_ONCE = 1_000
/** So many references inside of a text. */
const MATCHES_AT_ONCE = 100

const SCHEME = 'asset://'
const STORAGE = '/api/storage/'
/** How a reference may begin. */
export const REFERENCE_PREFIXES: readonly string[] = [SCHEME, STORAGE, PACKAGES_PATH]
/** Inside of a longer text. What stands before it must not make it a part of another address. */
const REFERENCE_IN_TEXT = /(?<![\w.:/~%-])(?:asset:\/\/|\/api\/(?:storage|assets\/packages)\/)[\w.~%/-]{1,2048}/g

/** What comes after the last value. */
const END = Symbol('end')

type Members = Readonly<Record<string | number, unknown>>

/** A list or a record whose members are looked at, and which of them is the next. */
type Container =
  | { readonly of: readonly unknown[]; readonly keys: null; at: number }
  | { readonly of: Members; readonly keys: readonly string[]; at: number }

/** Goes into a list or a record. */
function enterContainer(value: unknown, open: Container[]): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) open.push({ of: value, keys: null, at: 0 })
  // Of very many members the pairs take longer than the keys.
  else open.push({ of: value as Members, keys: Object.keys(value), at: 0 })
}

/** The references of one run, each once; true where a run cannot do without it. */
export class AssetReferences {
  readonly found = new Map<string, boolean>()
  /** Whether there were more than are looked up. */
  hasMore = false
  readonly #ownUrl: string
  readonly #turns: AbortableTimeSlices
  #seen = 0

  /** `ownUrl` is where this server is reached: its addresses mean the same with it and without. */
  constructor(ownUrl: string, turns: AbortableTimeSlices) {
    this.#turns = turns
    this.#ownUrl = ownUrl.replace(/\/+$/, '')
  }

  /** What is no address of an asset at all is kept as it is: nothing will be found there. */
  add(reference: string, blocking = true): void {
    const canonical = canonicalizeReference(reference.trim(), this.#ownUrl) ?? (reference || '(none)')
    const known = this.found.get(canonical)
    if (known === undefined && this.found.size >= MOST_REFERENCES) this.hasMore = true
    else this.found.set(canonical, known === true || blocking)
  }

  /** Finds all in a value. It is walked without recursion: it may be nested as deep as its writer liked. */
  async collect(value: unknown): Promise<void> {
    const open: Container[] = []
    for (let one = value; ; one = this.#next(open)) {
      if (++this.#seen % VALUES_AT_ONCE === 0 && this.#turns.over) await this.#turns.next()
      if (one === END) return
      if (typeof one !== 'string') enterContainer(one, open)
      else if (REFERENCE_PREFIXES.some((place) => one.includes(place))) await this.#text(one)
    }
  }

  /** The next member of the innermost container. Members are taken one at a time: a list may have millions, which take long to be copied. */
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

  /** A text that is nothing but a reference stands for its asset. One that mentions some may be meant as a text: it is no reason not to run. */
  async #text(text: string): Promise<void> {
    const whole = text.trim()
    if (!/\s/.test(whole) && canonicalizeReference(whole, this.#ownUrl) !== null) return this.add(whole)
    for (const [match] of text.matchAll(REFERENCE_IN_TEXT)) {
      this.add(trimPunctuation(match), false)
      if (++this.#seen % MATCHES_AT_ONCE === 0 && this.#turns.over) await this.#turns.next()
    }
  }
}

/** Full stops and dashes at the end are the sentence's. A regular expression would begin anew at each of those that stand inside. */
function trimPunctuation(match: string): string {
  let end = match.length
  while (end > 0 && (match[end - 1] === '.' || match[end - 1] === '-')) end--
  return match.slice(0, end)
}

/**
 * `asset://<id>`, `/api/storage/<key>` or `/api/assets/packages/<path>`, the key and the path decoded and without a query; null for
 * anything else.
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

/** The path of a bundled file among the packages. */
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
