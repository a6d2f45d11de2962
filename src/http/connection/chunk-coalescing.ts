// Joins the pieces of bodies that come in a few bytes each, as chunks or packets. Node delivers each piece by itself, and a piece of one byte costs
// about as much as one of thousands.
import type { IncomingMessage, Server } from 'node:http'
import { isPlainJson } from '../body/uncompressed-json-body.ts'
import { countSmallChunks } from './read-throttling.ts'

/** Bytes. Larger pieces are delivered as they come; smaller ones once they have so many bytes together. */
const SMALL_CHUNK_BYTES = 1_024
/** How long small pieces wait for others, in milliseconds. */
const WAIT_MS = 100
/** Small pieces that are joined at most. After these nothing more is read in this turn. */
const MAX_COALESCED_CHUNKS = 1_024
/** After so many small pieces, the throttle of reads is told. */
const CHUNKS_PER_REPORT = 64

/** Joins small pieces of bodies for every reader. Call this before any listener reads requests. */
export function coalesceChunks(server: Server): void {
  server.prependListener('request', (request: IncomingMessage) => {
    if (mayHaveManyChunks(request)) coalesceRequestChunks(request)
  })
}

/** Whether a body may come in very many pieces that a reader keeps. The reader of plain JSON joins the pieces itself. */
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
    // Not before the end of this turn, in which more pieces may come.
    if (isEnough) setImmediate(flush)
    if (chunks.length % CHUNKS_PER_REPORT === 0) countSmallChunks(request.socket)
    // False makes Node stop reading from the connection until a piece is delivered.
    return chunks.length < MAX_COALESCED_CHUNKS
  }
}
