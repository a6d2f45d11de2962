// Looks up host names that callers choose. getaddrinfo would use the few threads that the process has for such work. Two names with silent
// servers would then delay all look-ups. This module sends and receives DNS packets without a thread.
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { platform } from 'node:os'
import { listCandidateNames, parseHostsFile, parseResolvConf, ReloadingFile } from './hosts-and-resolv-conf.ts'

/**
 * Returns all addresses of a name, the preferred one first. Rejects with a `code`:
 * - `ENOTFOUND`: the name is not known
 * - `ENODATA`: the name has no address
 * - `ETIMEOUT`: no name server answers in time
 * - `ESERVFAIL`: the name servers answer with another error
 */
export type HostLookup = (name: string) => Promise<readonly string[]>

export interface DnsLookupOptions {
  /** Name servers as `address:port`. Absent: those of the system. */
  readonly servers?: readonly string[]
  readonly hosts_path?: string
  readonly resolv_conf_path?: string
  /** How long a look-up may take altogether, in milliseconds. A look-up that joins others has at least four fifths of this time. */
  readonly timeout_ms?: number
}

const HOSTS_PATH = platform() === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'
const RESOLV_CONF_PATH = '/etc/resolv.conf'
/** Half of the time that a connection may take in all. */
const LOOKUP_TIMEOUT_MS = 5000
/** How long one attempt at a name server may take, in milliseconds. `MAX_TRIES` is how often the last resolver asks. */
const NAME_SERVER_TIMEOUT_MS = 2000
const MAX_TRIES = 4

/**
 * The resolvers that look-ups share. All look-ups that begin within a fifth of the time limit share one round. Thousands of look-ups then
 * need a few sockets instead of one each. Source ports still change often, and each round reads the system's current name servers.
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
 * Returns the resolvers to ask in turn. Each name server has a resolver of its own, in the order of the system. A resolver with all servers
 * skips a server that was slow once, for all look-ups that share it. The next server may know fewer names. That resolver therefore comes
 * last, with the time that is left.
 */
function createResolvers(servers: readonly string[] | undefined): Resolver[] {
  const all = createResolver(servers, MAX_TRIES)
  const each = all.getServers()
  // The library returns link-local addresses without their zones, so these servers cannot be asked one by one.
  if (each.length < 2 || each.some((server) => /^\[?fe80:/i.test(server))) return [all]
  return [...each.map((server) => createResolver([server], 1)), all]
}

function createResolver(servers: readonly string[] | undefined, tries: number): Resolver {
  const resolver = new Resolver({ timeout: NAME_SERVER_TIMEOUT_MS, tries, maxTimeout: NAME_SERVER_TIMEOUT_MS })
  if (servers) resolver.setServers(servers)
  return resolver
}

/** The hosts file goes before the name servers, and IPv4 addresses before IPv6 addresses. */
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

/** Returns the addresses of the first name that has any. */
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

/** Asks the next resolver where a name server is silent, fails or refuses to answer. */
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

/** Returns the IPv4 and then the IPv6 addresses of exactly this name, or the error. Addresses that came before the time limit count. */
async function resolveBoth(resolver: Resolver, name: string): Promise<string[] | NodeJS.ErrnoException> {
  const both = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = both.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length > 0) return found
  return selectFailure(
    both.map((answer) => {
      const cause = answer.status === 'rejected' ? answer.reason : null
      return Object.assign(new Error(`The DNS look-up of ${name} failed`, { cause }), {
        code: toLookupErrorCode(cause),
      })
    }),
  )
}

/** Prefers a failure that may pass over a certain one, and a name without addresses over an unknown name. */
function selectFailure(failures: readonly NodeJS.ErrnoException[]): NodeJS.ErrnoException {
  const codes = ['ETIMEOUT', 'ESERVFAIL', 'ENODATA', 'ENOTFOUND']
  return failures.toSorted((one, other) => codes.indexOf(one.code!) - codes.indexOf(other.code!))[0]!
}

/** Maps an error to one of four codes. Other codes of the library also belong to connections, so they become `ESERVFAIL`. */
function toLookupErrorCode(cause: NodeJS.ErrnoException | null): string {
  const code = cause === null ? 'ENODATA' : cause.code
  if (code === 'ENOTFOUND' || code === 'ENODATA' || code === 'ETIMEOUT') return code
  if (code === 'ECANCELLED') return 'ETIMEOUT'
  return code === 'EBADNAME' ? 'ENOTFOUND' : 'ESERVFAIL'
}
