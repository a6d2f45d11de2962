// Limits the number of connections: of all callers together, so that descriptors are left for files, and of each caller, so that others can connect.
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { resolveClientAddress } from '../../access/client-address.ts'
import { clientKey } from '../../access/rate-limiter.ts'
import type { Log } from '../../log.ts'
import type { IpRange } from '../../net/ip-addresses.ts'
import { heapShareBytes } from '../../payloads/fair-memory-account.ts'

export interface ConnectionLimits {
  /** Of all callers together. Null: no limit. If absent, the limit on open files and the size of the heap decide. */
  connections: number | null
  /** Proxies that forward for many clients. Only the limit of all callers holds for them. */
  trusted_proxies: readonly IpRange[]
  /** Milliseconds between two log lines about refused connections. */
  log_interval_ms: number
}

const LOG_INTERVAL_MS = 60_000

/** Closes excess connections at once, and logs their number. */
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
      const remaining = openByPeer.get(key)! - 1
      if (remaining > 0) openByPeer.set(key, remaining)
      else openByPeer.delete(key)
    })
    if (now <= most) return
    countRefusal()
    socket.destroy()
  })
}

/** The address of the peer, or its IPv6 network. */
export function networkKeyOf({ remoteAddress = '' }: Socket): string {
  return (
    clientKey(createPeerFacts(remoteAddress), { trusted_proxies: [], rate_limit_trust_proxy: false }) ?? remoteAddress
  )
}

function createPeerFacts(address: string) {
  return { peer: address, own_connection: false, forwards: false, forwarded_for: null }
}

/**
 * An address or an IPv6 network may hold a quarter of the connections. The processes of this machine, among which a proxy may be, share a half. Null:
 * no limit of its own.
 */
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

/** Logs the first refusal at once, and later ones together. */
function createRefusalLogger(server: Server, log: Log, connections: number, log_interval_ms: number): () => void {
  let refused = 0
  let timer: NodeJS.Timeout | null = null
  const logRefusals = () => {
    timer = null
    if (refused === 0) return
    log.warn({ connections, refused }, 'connections refused: the limit of all callers or of one caller is reached')
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

/** Descriptors that are reserved for the database, files of assets and outgoing requests. */
const RESERVED_DESCRIPTORS = 256

/** The part of the free heap that incomplete request heads may take. */
const HEADS_HEAP_PART = 0.5
/** The heap that the idle service takes, with what it needs to accept connections. */
const SERVICE_HEAP_BYTES = 96 * 1_048_576
/** The part of a heap that counts as free at the least, whatever the service takes of it. */
const MIN_FREE_HEAP_PART = 1 / 8
/** The most that one head takes: Node keeps each of the shortest names in 16 KiB as a string of its own. */
const MAX_HEAD_MEMORY_BYTES = 98_304

/** Bytes of a heap of this size that incomplete request heads may take. */
export function computeHeadMemory(heap_bytes: number): number {
  return Math.max(heap_bytes - SERVICE_HEAP_BYTES, heap_bytes * MIN_FREE_HEAP_PART) * HEADS_HEAP_PART
}

/**
 * The number of connections whose files fit into `open_files` and whose heads fit into `head_bytes`. A caller who has to wait is better than a
 * database that cannot open its file, or a process that runs out of memory.
 */
export function computeMaxConnections(open_files: number | null, head_bytes: number): number {
  const within_files =
    open_files === null ? null : Math.max(Math.floor(open_files / 2), open_files - RESERVED_DESCRIPTORS)
  return Math.max(1, Math.min(within_files ?? Number.POSITIVE_INFINITY, Math.floor(head_bytes / MAX_HEAD_MEMORY_BYTES)))
}

/** The limit on open files of this process. Null where it is unknown or unlimited. */
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
