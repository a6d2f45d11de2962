// How many may be connected: all together, so that descriptors are left for files, and one caller, so that others get in as well.
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { resolveClientAddress } from '../../access/client-address.ts'
import { clientKey } from '../../access/rate-limiter.ts'
import type { Log } from '../../log.ts'
import type { IpRange } from '../../net/ip-addresses.ts'
import { heapShareBytes } from '../../payloads/fair-memory-account.ts'

export interface ConnectionLimits {
  /** Of all callers together. Null for no bound. Absent: as many as there may be open files, and as the heap has room for. */
  connections: number | null
  /** Proxies that speak for many: only the bound of all is theirs. */
  trusted_proxies: readonly IpRange[]
  /** Refused connections are told of at most so often, in milliseconds. */
  log_interval_ms: number
}

const LOG_INTERVAL_MS = 60_000

/** Closes connections at once that are too many, and says in the log how many they were. */
export function limitConnections(server: Server, log: Log, limits: Partial<ConnectionLimits>): void {
  const connections =
    limits.connections === undefined
      ? computeMaxConnections(readOpenFileLimit(), computeHeadMemory(heapShareBytes(1)))
      : limits.connections
  if (connections === null) return
  server.maxConnections = connections
  const countRefusal = createRefusalLogger(server, log, connections, limits.log_interval_ms ?? LOG_INTERVAL_MS)
  server.on('drop', countRefusal)
  const openByPeer = new Map<string, number>()
  server.on('connection', (socket) => {
    const share = connectionShareOf(socket, connections, limits.trusted_proxies ?? [])
    if (!share) return
    const { key, most } = share
    const now = (openByPeer.get(key) ?? 0) + 1
    openByPeer.set(key, now)
    socket.once('close', () => {
      const left = openByPeer.get(key)! - 1
      if (left > 0) openByPeer.set(key, left)
      else openByPeer.delete(key)
    })
    if (now <= most) return
    countRefusal()
    socket.destroy()
  })
}

/** Where a connection comes from: an address, or an IPv6 network. */
export function networkKeyOf({ remoteAddress = '' }: Socket): string {
  return (
    clientKey(createPeerFacts(remoteAddress), { trusted_proxies: [], rate_limit_trust_proxy: false }) ?? remoteAddress
  )
}

function createPeerFacts(address: string) {
  return { peer: address, own_connection: false, forwards: false, forwarded_for: null }
}

/** A quarter for each address, and for each IPv6 network; half for the processes of this machine, among which a proxy may be. Null: no bound. */
function connectionShareOf(
  { remoteAddress = '' }: Socket,
  connections: number,
  trusted_proxies: readonly IpRange[],
): { key: string; most: number } | null {
  const peer = createPeerFacts(remoteAddress)
  if (resolveClientAddress(peer, trusted_proxies).forwarded) return null
  const key = clientKey(peer, { trusted_proxies, rate_limit_trust_proxy: false })
  const parts = key === null ? 2 : 4
  return { key: key ?? 'loopback', most: Math.max(1, Math.floor(connections / parts)) }
}

/** Tells of the first one at once, and of those that follow together. */
function createRefusalLogger(server: Server, log: Log, connections: number, log_interval_ms: number): () => void {
  let refused = 0
  let timer: NodeJS.Timeout | null = null
  const logRefusals = () => {
    timer = null
    if (refused === 0) return
    log.warn({ connections, refused }, 'connections are refused: as many are open as may be, of all callers or of one')
    refused = 0
    timer = setTimeout(logRefusals, log_interval_ms).unref()
  }
  server.once('close', () => {
    if (timer) clearTimeout(timer)
  })
  return () => {
    refused++
    if (!timer) logRefusals()
  }
}

/** Descriptors that are kept for the database, files of assets and outgoing requests. */
const RESERVED_DESCRIPTORS = 256

/** The part of what is left of the heap that heads may take which have not come to their end. */
const HEADS_HEAP_PART = 0.5
/** What the service takes of the heap while nobody asks for anything, and what it then needs to accept connections. */
const SERVICE_HEAP_BYTES = 96 * 1_048_576
/** The part of a heap that is left at the least, whatever the service takes of it. */
const MIN_FREE_HEAP_PART = 1 / 8
/** What one of them takes at the most: of 16 KiB of the shortest names, Node keeps each as a text of its own. */
const MAX_HEAD_MEMORY_BYTES = 98_304

/** How much of so large a heap heads may take which have not come to their end. */
export function computeHeadMemory(heap_bytes: number): number {
  return Math.max(heap_bytes - SERVICE_HEAP_BYTES, heap_bytes * MIN_FREE_HEAP_PART) * HEADS_HEAP_PART
}

/**
 * How many connections fit into so many open files, and their heads into so many bytes: a database that cannot open its own file, or a process that ends
 * for want of memory, is worse than a caller who has to wait.
 */
export function computeMaxConnections(open_files: number | null, head_bytes: number): number {
  const within_files =
    open_files === null ? null : Math.max(Math.floor(open_files / 2), open_files - RESERVED_DESCRIPTORS)
  return Math.max(1, Math.min(within_files ?? Number.POSITIVE_INFINITY, Math.floor(head_bytes / MAX_HEAD_MEMORY_BYTES)))
}

/** How many files the process may have open; null where that is not known, or without bounds. */
function readOpenFileLimit(): number | null {
  try {
    return parseOpenFileLimit(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return null
  }
}

export function parseOpenFileLimit(limits: string): number | null {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits)?.[1]
  return soft === undefined ? null : Number(soft)
}
