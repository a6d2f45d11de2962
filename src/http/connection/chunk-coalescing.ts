// Bodies in pieces of a few bytes each, be they chunks or packets. Node hands over every one by itself, and to read and to keep a piece of one byte costs about
// the same as one of thousands: small ones are put together first.
import type { IncomingMessage, Server } from 'node:http'
import { isPlainJson } from '../body/uncompressed-json-body.ts'
import { countSmallChunks } from './read-throttling.ts'

/** Bytes. Larger pieces are handed on as they come, and small ones when they have so many together. */
const SMALL_CHUNK_BYTES = 1_024
/** How long small ones wait for others, in milliseconds. */
const WAIT_MS = 100
/** How many small pieces are put together at most. Then nothing more is read in this turn. */
const MAX_COALESCED_CHUNKS = 1_024
/** After so many it is looked how long they took. */
const CHUNKS_PER_REPORT = 64

/** Has small pieces of bodies put together, whoever reads them. To be called before anybody reads requests. */
export function coalesceChunks(server: Server): void {
  server.prependListener('request', (request: IncomingMessage) => {
    if (mayHaveManyChunks(request)) coalesceRequestChunks(request)
  })
}

/** Whether a body may come in very many pieces that somebody keeps. A plain one is put together by whoever reads it. */
function mayHaveManyChunks(request: IncomingMessage): boolean {
  const { headers } = request
  if (headers['transfer-encoding'] !== undefined) return true
  return Number(headers['content-length'] ?? 0) > SMALL_CHUNK_BYTES && !isPlainJson(request)
}

function coalesceRequestChunks(request: IncomingMessage): void {
  const push = request.push.bind(request)
  let chunks: Buffer[] = []
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    if (chunks.length === 0 || request.destroyed) return
    const all = Buffer.concat(chunks)
    chunks = []
    bytes = 0
    push(all)
  }
  request.push = (chunk: Buffer | null) => {
    if (chunk === null || chunk.length >= SMALL_CHUNK_BYTES) {
      flush()
      return push(chunk)
    }
    if (chunks.length === 0) timer = setTimeout(flush, WAIT_MS)
    chunks.push(chunk)
    const isEnough = bytes < SMALL_CHUNK_BYTES && bytes + chunk.length >= SMALL_CHUNK_BYTES
    bytes += chunk.length
    // Not before the end of this turn: more of them may be here already.
    if (isEnough) setImmediate(flush)
    if (chunks.length % CHUNKS_PER_REPORT === 0) countSmallChunks(request.socket)
    // False has Node read nothing more from the connection until something is handed on.
    return chunks.length < MAX_COALESCED_CHUNKS
  }
}
