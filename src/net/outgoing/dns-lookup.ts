// Looks up names that callers choose. getaddrinfo would do so on the few threads that the process has for such work, and two names
// whose servers are silent would keep everybody's look-ups waiting: here packets are sent and awaited without a thread.
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { platform } from 'node:os'
import { listCandidateNames, parseHostsFile, parseResolvConf, ReloadingFile } from './hosts-and-resolv-conf.ts'

/**
 * All addresses of a name, the preferred one first. Rejects with a `code`: `ENOTFOUND` for a name that is not known, `ENODATA` for one
 * without an address, `ETIMEOUT` where no name server answers in time, `ESERVFAIL` where they answer with something else.
 */
export type HostLookup = (name: string) => Promise<readonly string[]>

export interface DnsLookupOptions {
  /** Name servers as `address:port`; those of the system if absent. */
  readonly servers?: readonly string[]
  readonly hosts_path?: string
  readonly resolv_conf_path?: string
  /** How long a look-up may take altogether, in milliseconds: between four fifths of this and all of it. */
  readonly timeout_ms?: number
}

const HOSTS_PATH = platform() === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'
const RESOLV_CONF_PATH = '/etc/resolv.conf'
/** Half of what a connection may take in all. */
const LOOKUP_TIMEOUT_MS = 5000
/** How long a name server may take before it is asked again, or the next one is, in milliseconds, and how often the last resolver asks. */
const NAME_SERVER_TIMEOUT_MS = 2000
const MAX_TRIES = 4

/**
 * The resolvers for the look-ups that begin in a fifth of the time that they may take. Thousands of them at once take a few sockets so, and not
 * one each; the ports that packets come from change often, and the name servers are those that the system has at the time.
 */
class ResolverRound {
  readonly resolvers: readonly Resolver[]
  readonly #latest_start: number
  isOver = false

  constructor(servers: readonly string[] | undefined, limit_ms: number) {
    this.resolvers = createResolvers(servers)
    this.#latest_start = performance.now() + limit_ms / 5
    const end = () => {
      this.isOver = true
      for (const resolver of this.resolvers) resolver.cancel()
    }
    setTimeout(end, limit_ms).unref()
  }

  get isJoinable(): boolean {
    return performance.now() < this.#latest_start
  }
}

/**
 * To be asked in turn. Of several name servers each is asked alone, in the order of the system: a resolver that knows them all turns from one that kept a
 * name waiting, for all look-ups that share it, though the next one may know fewer names. It comes last, with what time is left.
 */
function createResolvers(servers: readonly string[] | undefined): Resolver[] {
  const all = createResolver(servers, MAX_TRIES)
  const each = all.getServers()
  // The library tells these without their zones.
  if (each.length < 2 || each.some((server) => /^\[?fe80:/i.test(server))) return [all]
  return [...each.map((server) => createResolver([server], 1)), all]
}

function createResolver(servers: readonly string[] | undefined, tries: number): Resolver {
  const resolver = new Resolver({ timeout: NAME_SERVER_TIMEOUT_MS, tries, maxTimeout: NAME_SERVER_TIMEOUT_MS })
  if (servers) resolver.setServers(servers)
  return resolver
}

/** The hosts file goes before the name servers. IPv4 addresses go before IPv6 ones. */
export function createDnsLookup(options: DnsLookupOptions = {}): HostLookup {
  const {
    servers,
    hosts_path = HOSTS_PATH,
    resolv_conf_path = RESOLV_CONF_PATH,
    timeout_ms = LOOKUP_TIMEOUT_MS,
  } = options
  const hosts = new ReloadingFile(hosts_path, parseHostsFile)
  const rules = new ReloadingFile(resolv_conf_path, parseResolvConf)
  let round: ResolverRound | null = null
  return async (name) => {
    if (isIP(name) !== 0) return [name]
    const known = (await hosts.read()).get(name.toLowerCase())
    if (known) return known.toSorted((one, other) => isIP(one) - isIP(other))
    const names = listCandidateNames(name, await rules.read())
    if (!round?.isJoinable) round = new ResolverRound(servers, timeout_ms)
    return await resolveFirst(names, round)
  }
}

/** The addresses of the first name that has some. */
async function resolveFirst(names: string[], round: ResolverRound): Promise<string[]> {
  const failures: NodeJS.ErrnoException[] = []
  for (const name of names) {
    const found = await resolveByFirstAnswering(round, name)
    if (Array.isArray(found)) return found
    failures.push(round.isOver ? Object.assign(found, { code: 'ETIMEOUT' }) : found)
    if (failures.at(-1)?.code === 'ETIMEOUT') break
  }
  throw selectFailure(failures)
}

/** Where a name server is silent, or fails or refuses to answer, the next one is asked. */
async function resolveByFirstAnswering(round: ResolverRound, name: string): Promise<string[] | NodeJS.ErrnoException> {
  const failures: NodeJS.ErrnoException[] = []
  for (const resolver of round.resolvers) {
    const found = await resolveBoth(resolver, name)
    if (Array.isArray(found) || isDefinitive(found) || round.isOver) return found
    failures.push(found)
  }
  return selectFailure(failures)
}

function isDefinitive({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

/** The IPv4 and then the IPv6 addresses of exactly this name, or why there are none. What came before the time was over counts. */
async function resolveBoth(resolver: Resolver, name: string): Promise<string[] | NodeJS.ErrnoException> {
  const both = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = both.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length > 0) return found
  return selectFailure(
    both.map((answer) => {
      const cause = answer.status === 'rejected' ? answer.reason : null
      return Object.assign(new Error(`The look-up of ${name} failed`, { cause }), { code: toLookupErrorCode(cause) })
    }),
  )
}

/** What may pass goes before what is certain, and a name that there is before one that there is not. */
function selectFailure(failures: readonly NodeJS.ErrnoException[]): NodeJS.ErrnoException {
  const codes = ['ETIMEOUT', 'ESERVFAIL', 'ENODATA', 'ENOTFOUND']
  return failures.toSorted((one, other) => codes.indexOf(one.code!) - codes.indexOf(other.code!))[0]!
}

/** One of four codes. Others of the library are also those of connections, of which nothing is said here. */
function toLookupErrorCode(cause: NodeJS.ErrnoException | null): string {
  const code = cause === null ? 'ENODATA' : cause.code
  if (code === 'ENOTFOUND' || code === 'ENODATA' || code === 'ETIMEOUT') return code
  if (code === 'ECANCELLED') return 'ETIMEOUT'
  return code === 'EBADNAME' ? 'ENOTFOUND' : 'ESERVFAIL'
}
