// Bodies as nearly every client sends them: JSON in UTF-8, not compressed, of a length that is announced. They are read without the library, which
// does more than they need; every other body is left to it. Both come to the same verdicts.
import type { IncomingMessage } from 'node:http'

const PLAIN = /^application\/json(?: ?; ?charset=utf-8)?$/i

export function isPlain({ headers }: IncomingMessage): boolean {
  return (
    headers['content-length'] !== undefined &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    PLAIN.test(headers['content-type'] ?? '')
  )
}

/** Hands all of it to `take` once it is there, or says by `cut` that it ends before. Nothing of it stays with the request. */
export function readPlain(request: IncomingMessage, take: (bytes: Buffer) => void, cut: () => void): void {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.once('end', () => take(Buffer.concat(pieces.splice(0))))
  request.once('error', () => {
    pieces.length = 0
    cut()
  })
}
