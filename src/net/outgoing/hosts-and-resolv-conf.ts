// Reads what the system's files say about names: the hosts file, and how resolv.conf completes short names (hosts(5), resolv.conf(5)).
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Addresses by name, the names in lower case. */
export type HostsTable = ReadonlyMap<string, readonly string[]>

export interface DnsSearchRules {
  /** Domains that are appended to a name, in this order. */
  readonly search: readonly string[]
  /** A name with fewer dots is tried with the domains first. */
  readonly ndots: number
}

const MAX_NDOTS = 15

/** The words of each line, without comments. */
function* splitLines(text: string): Generator<string[]> {
  for (const line of text.split('\n')) {
    const words = line
      .replace(/[#;].*/, '')
      .split(/\s+/)
      .filter(Boolean)
    if (words.length > 1) yield words
  }
}

export function parseHostsFile(text: string): HostsTable {
  const hosts = new Map<string, string[]>()
  for (const [address, ...names] of splitLines(text)) {
    if (isIP(address!) === 0) continue
    for (const name of new Set(names.map((each) => each.toLowerCase()))) {
      const known = hosts.get(name)
      if (known) known.push(address!)
      else hosts.set(name, [address!])
    }
  }
  return hosts
}

/** The last of several `search` and `domain` lines counts. */
export function parseResolvConf(text: string): DnsSearchRules {
  let search: string[] = []
  let ndots = 1
  for (const [keyword, ...words] of splitLines(text)) {
    if (keyword === 'search') search = words
    else if (keyword === 'domain') search = words.slice(0, 1)
    else if (keyword === 'options') {
      const given = words.findLast((word) => /^ndots:\d+$/.test(word))
      if (given) ndots = Math.min(Number(given.slice('ndots:'.length)), MAX_NDOTS)
    }
  }
  return { search: search.map((domain) => domain.toLowerCase().replace(/^\.|\.$/g, '')).filter(Boolean), ndots }
}

/** Returns the names to look up in turn, until one of them has an address. */
export function listCandidateNames(name: string, { search, ndots }: DnsSearchRules): string[] {
  const completed = search.map((domain) => `${name}.${domain}`)
  return name.split('.').length > ndots ? [name, ...completed] : [...completed, name]
}

/**
 * A small text file that other programs may change at any time. It is parsed again after each change, and counts as empty while it is
 * missing. Where the file cannot be read, such as for want of file descriptors, the former content stays and the next call tries again.
 */
export class ReloadingFile<T> {
  readonly #path: string
  readonly #parse: (text: string) => T
  #version = ''
  #parsed: T

  constructor(path: string, parse: (text: string) => T) {
    this.#path = path
    this.#parse = parse
    this.#parsed = parse('')
  }

  async read(): Promise<T> {
    const version = await stat(this.#path).then(
      ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
      () => '',
    )
    if (version === this.#version) return this.#parsed
    const text = version === '' ? '' : await readFile(this.#path, 'utf8').catch(() => null)
    if (text === null) return this.#parsed
    this.#version = version
    this.#parsed = this.#parse(text)
    return this.#parsed
  }
}
