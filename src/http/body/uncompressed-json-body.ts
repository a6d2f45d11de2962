// Bodies as nearly every client sends them: JSON in UTF-8, not compressed, of a length that is announced. They are read without the library, which
// does more than they need; every other body is left to it. Both come to the same verdicts.
import type { IncomingMessage } from 'node:http'

const PLAIN_JSON_TYPE = /^application\/json(?: ?; ?charset=utf-8)?$/i

export function isPlainJson({ headers }: IncomingMessage): boolean {
  return (
    headers['content-length'] !== undefined &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    PLAIN_JSON_TYPE.test(headers['content-type'] ?? '')
  )
}

/**
 * Hands all of it to `take` once it is there, or says by `cut` that it ends before. Nothing of it stays with the request. It is put together while it
 * arrives: copying 16 MB in one turn of the event loop takes 15 to 50 ms. Whoever calls has room for what is announced.
 */
export function readPlainJson(request: IncomingMessage, onBody: (bytes: Buffer) => void, onCut: () => void): void {
  let bytes: Buffer | null = Buffer.allocUnsafe(Number(request.headers['content-length']))
  let length = 0
  request.on('data', (piece: Buffer) => {
    bytes?.set(piece, length)
    length += piece.length
  })
  request.once('end', () => {
    const whole = bytes!.subarray(0, length)
    bytes = null
    onBody(whole)
  })
  request.once('error', () => {
    bytes = null
    onCut()
  })
}
